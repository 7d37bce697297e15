//! Reads columns under checksums by what `docs/file-format.md` says of them.
//!
//! It uses nothing of `kato-columns`, so that a reader in a test finds where the document and the writer part.
//! Whatever does not hold is a panic.
//!
//! ```
//! assert_eq!(kato_column_reader::crc32(b"123456789"), 0xCBF4_3926);
//! assert_eq!(kato_column_reader::numbers(&[1, 0, 2, 1], 2), [1, 258]);
//! ```

#![expect(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a helper of tests: what does not hold ends the test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The columns of a directory, read in the order of their checksums.
#[derive(Debug)]
pub struct ColumnReader {
    dir: PathBuf,
    /// What the header says.
    pub header: Value,
    checksums: std::vec::IntoIter<u64>,
}

impl ColumnReader {
    /// Opens a directory, compares the checksums of its header and of its checksums, and that it is called by its
    /// content.
    #[must_use]
    pub fn open(dir: &Path, header: &str, version: u64) -> Self {
        let text = fs::read_to_string(dir.join(header)).unwrap();
        let (body, trailer) = text.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(trailer, format!("crc32 {:08x}", crc32(body.as_bytes())));
        let header: Value = serde_json::from_str(body).unwrap();
        assert_eq!(header["format_version"], version);
        let name = dir.file_name().unwrap();
        assert_eq!(header["content"].as_str(), name.to_str());
        let checksums = fs::read(dir.join("CHECKSUMS")).unwrap();
        assert_eq!(header["checksums_crc32"], crc32(&checksums));
        Self {
            dir: dir.to_owned(),
            header,
            checksums: numbers(&checksums, 4).into_iter(),
        }
    }

    /// Reads the next column, which has `len` bytes by the header, and compares the checksums of its blocks.
    pub fn column(&mut self, name: &str, len: &Value) -> Vec<u8> {
        let bytes = fs::read(self.dir.join(name)).unwrap();
        assert_eq!(len.as_u64(), Some(bytes.len() as u64));
        for block in bytes.chunks(4096) {
            assert_eq!(self.checksums.next(), Some(u64::from(crc32(block))));
        }
        bytes
    }

    /// Compares that all checksums were of a column.
    pub fn end(mut self) {
        assert_eq!(self.checksums.next(), None);
    }
}

/// Returns numbers of `width` bytes each, the lowest byte first.
#[must_use]
pub fn numbers(bytes: &[u8], width: usize) -> Vec<u64> {
    let number = |bytes: &[u8]| {
        let bytes = bytes.iter().rev();
        bytes.fold(0, |n, &byte| n << 8 | u64::from(byte))
    };
    bytes.chunks(width).map(number).collect()
}

/// Returns the CRC-32 of zlib.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
    !bytes
        .iter()
        .fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
