//! How shards share a corpus: by parts of its files, by smaller ones, or record by record.

use crate::input_file::InputFile;
use crate::options::{CorpusOptions, Format};

/// Parts for each shard where a corpus is cut smaller: so many differ little in their records.
const PARTS_PER_SHARD: u64 = 8;

/// How shards share a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each takes parts of about so many bytes.
    Parts(u64),
    /// Each reads everything and takes every n-th record: nothing else divides what cannot be cut.
    Records,
}

/// Returns how shards share a corpus: a function of the files' sizes and the options alone.
pub(crate) fn sharing(files: &[InputFile], selection: &CorpusOptions) -> Sharing {
    let usual = selection.extent_bytes;
    let Some(shard) = selection.shard.filter(|shard| shard.count() > 1) else {
        return Sharing::Parts(usual);
    };
    let (mut n_parts, mut bytes) = (0_u64, 0_u64);
    for file in files {
        // The rows of Parquet are cut as well, in row groups or pages.
        let is_cut = file.can_be_cut(selection) || file.format() == Format::Parquet;
        let size = file.size.filter(|_| is_cut);
        n_parts = n_parts.saturating_add(size.map_or(1, |size| size.div_ceil(usual)));
        bytes = bytes.saturating_add(size.unwrap_or(0));
    }
    let can_cut = files.iter().all(|file| file.can_be_cut(selection));
    match n_parts < shard.count() {
        true if can_cut => {
            let part = bytes / shard.count().saturating_mul(PARTS_PER_SHARD);
            Sharing::Parts(part.clamp(1, usual))
        }
        true => Sharing::Records,
        false => Sharing::Parts(usual),
    }
}
