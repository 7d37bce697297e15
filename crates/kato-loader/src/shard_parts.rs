//! How large the parts of files are where shards share a small corpus.

use crate::input_file::InputFile;
use crate::options::CorpusOptions;

/// Parts for each shard where a corpus is cut smaller: so many differ little in their records.
const PARTS_PER_SHARD: u64 = 8;

/// Returns the bytes of text of a part: less than usual where there would be fewer parts than shards, and
/// the files can be cut. A function of the files' sizes and the options alone.
pub(crate) fn part_bytes(files: &[InputFile], selection: &CorpusOptions) -> u64 {
    let usual = selection.extent_bytes;
    let Some(shard) = selection.shard.filter(|shard| shard.count() > 1) else {
        return usual;
    };
    let (mut n_parts, mut bytes) = (0_u64, 0_u64);
    for file in files {
        match file.size.filter(|_| file.can_be_cut(selection)) {
            Some(size) => {
                n_parts = n_parts.saturating_add(size.div_ceil(usual));
                bytes = bytes.saturating_add(size);
            }
            None => n_parts = n_parts.saturating_add(1),
        }
    }
    match n_parts < shard.count() {
        true => (bytes / shard.count().saturating_mul(PARTS_PER_SHARD)).clamp(1, usual),
        false => usual,
    }
}
