//! What one file of a corpus is known by: name, size and fingerprint.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Files up to this size are hashed whole.
const WHOLE_FILE_BYTES: u64 = 1 << 20;
/// Size of a sample of a larger file, in bytes.
const SAMPLE_BYTES: u64 = 16 << 10;
/// Number of samples of a larger file.
const N_SAMPLES: u64 = 64;

/// One file of a [`CorpusIdentity`](crate::CorpusIdentity).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileIdentity {
    /// The path as it was given to the builder, or as found below a directory so given, with `/` between its
    /// parts and without those that are `.`; the name of what is no file.
    ///
    /// A path that is not UTF-8 is `bytes:`, and then itself with each byte that belongs to no
    /// character, and each `%`, as `%` and two hex digits: `bytes:caf%E9.txt`.
    pub name: String,
    /// Bytes; absent for streams, and where a server does not say.
    pub size: Option<u64>,
    /// BLAKE3, in hex, of the content or of samples of it; what the server vouches for of a remote
    /// file; what a source of one's own says of itself. Absent for streams, for files that cannot be
    /// read, and where there is nothing of the kind.
    pub fingerprint: Option<String>,
}

impl FileIdentity {
    /// Returns what has changed of a file; the size is named in preference, as a change of it
    /// changes the fingerprint, too.
    pub(crate) fn diff(&self, now: &Self) -> Option<String> {
        let shown =
            |size: Option<u64>| size.map_or("unknown".to_owned(), |size| format!("{size} bytes"));
        if self.size != now.size {
            let (was, is) = (shown(self.size), shown(now.size));
            Some(format!("size of `{}`: was {was}, is {is}", self.name))
        } else if self.fingerprint != now.fingerprint {
            Some(format!("content of `{}` changed", self.name))
        } else {
            None
        }
    }
}

/// Returns the BLAKE3 of a file, in hex: of the whole file, or of its size and evenly spaced
/// samples.
pub(crate) fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    if size <= WHOLE_FILE_BYTES {
        hasher.update_reader(&mut file)?;
    } else {
        hasher.update(&size.to_le_bytes());
        let mut block = Vec::new();
        for sample in 0..N_SAMPLES {
            // The first sample begins the file and the last one ends it. The product may exceed 64
            // bits for huge files.
            let last = u128::from(size - SAMPLE_BYTES);
            let at =
                u64::try_from(last * u128::from(sample) / u128::from(N_SAMPLES - 1)).unwrap_or(0);
            file.seek(SeekFrom::Start(at))?;
            block.clear();
            (&mut file).take(SAMPLE_BYTES).read_to_end(&mut block)?;
            hasher.update(&block);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
