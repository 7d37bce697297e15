//! Identity of a text file, by which a cache knows what it was made from.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::error::EmbeddingsError;

/// Files up to this size are hashed whole.
const WHOLE_FILE_BYTES: usize = 1 << 20;
/// Bytes of a sample of a larger file. All samples together are [`WHOLE_FILE_BYTES`].
const SAMPLE_BYTES: usize = 16 << 10;
const N_SAMPLES: usize = 64;

/// Size, time of the last modification, and a hash of a file, or of 64 evenly spaced samples of a
/// large one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceIdentity {
    pub(crate) bytes: u64,
    /// Since 1970, in nanoseconds, two's complement; 0 where the system keeps no such time.
    pub(crate) modified_ns: i128,
    pub(crate) fingerprint: [u8; 32],
}

impl SourceIdentity {
    /// Returns the identity of a mapped file.
    pub(crate) fn of(metadata: &Metadata, file: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        if file.len() <= WHOLE_FILE_BYTES {
            hasher.update(file);
        } else {
            let last = (file.len() - SAMPLE_BYTES) as u128;
            for sample in 0..N_SAMPLES {
                // The first sample is at the beginning and the last one at the end, where files
                // grow or are cut off. In 128 bits, as the product may exceed 64.
                let at = last * sample as u128 / (N_SAMPLES - 1) as u128;
                // At most `last`, so that the cast loses nothing and the sample is within the file.
                let at = at as usize;
                hasher.update(&file[at..at + SAMPLE_BYTES]);
            }
        }
        Self {
            bytes: file.len() as u64,
            modified_ns: modified_ns(metadata),
            fingerprint: hasher.finalize().into(),
        }
    }

    /// Fails if the file at `path` has another size or modification time than it had.
    pub(crate) fn check_unchanged(&self, path: &Path) -> Result<(), EmbeddingsError> {
        let now = std::fs::metadata(path).map_err(EmbeddingsError::read(path))?;
        if now.len() == self.bytes && modified_ns(&now) == self.modified_ns {
            return Ok(());
        }
        Err(EmbeddingsError::SourceChanged {
            path: path.to_owned(),
        })
    }
}

/// Returns the time of the last modification in nanoseconds since 1970, negative before it.
fn modified_ns(metadata: &Metadata) -> i128 {
    let Ok(modified) = metadata.modified() else {
        return 0;
    };
    // Nanoseconds of any time that a `SystemTime` can hold fit 94 bits.
    let signed = |nanos: u128| i128::try_from(nanos).unwrap_or(i128::MAX);
    match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after.as_nanos()),
        Err(_) => UNIX_EPOCH
            .duration_since(modified)
            .map_or(0, |before| -signed(before.as_nanos())),
    }
}
