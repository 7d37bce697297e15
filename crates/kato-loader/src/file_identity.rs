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
            return Some(format!("size of `{}`: was {was}, is {is}", self.name));
        }
        let (was, is) = (&self.fingerprint, &now.fingerprint);
        let what = match (was, is) {
            _ if was == is => return None,
            (None, _) => "was unknown, as of a file that cannot be read, and is known now",
            (_, None) => "is unknown now, as of a file that cannot be read",
            _ => return Some(format!("content of `{}` changed", self.name)),
        };
        Some(format!("content of `{}`: {what}", self.name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_that_was_not_known_has_not_changed() {
        let file = |fingerprint: Option<&str>| FileIdentity {
            name: "a.txt".to_owned(),
            size: Some(3),
            fingerprint: fingerprint.map(str::to_owned),
        };
        let (unread, read, other) = (file(None), file(Some("f00")), file(Some("ba7")));
        assert_eq!(unread.diff(&unread), None);
        let told = |was: &FileIdentity, is| was.diff(is).unwrap();
        assert!(told(&unread, &read).starts_with("content of `a.txt`: was unknown"));
        assert!(told(&read, &unread).starts_with("content of `a.txt`: is unknown now"));
        assert_eq!(told(&read, &other), "content of `a.txt` changed");
    }
}
