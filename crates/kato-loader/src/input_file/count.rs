//! Counts the records of a file without decoding them.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::{InputFile, Source};
use crate::bad_record::Fault;
use crate::options::{Compression, CorpusOptions, Format, TextUnit};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 18;

impl InputFile {
    /// Returns the number of records where the file states it, or where the ends of its lines do, which takes at
    /// most so many bytes of those that may be read.
    pub(crate) fn count_records(
        &self,
        selection: &CorpusOptions,
        may_read: &mut u64,
    ) -> Result<Option<u64>, Fault> {
        if self.is_numbered() {
            return self.n_records(selection).map(Some);
        }
        let is_one = self.format == Format::Text
            && selection.text_unit == TextUnit::File
            && self.has_compression(Compression::None)
            && self.is_readable_again();
        if is_one {
            return Ok(Some(1));
        }
        match (&self.source, self.size) {
            (Source::File(path), Some(size))
                if size <= *may_read && self.has_cuttable_lines(selection) =>
            {
                *may_read -= size;
                count_lines(path).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Returns the number of lines of a file.
fn count_lines(path: &Path) -> Result<u64, Fault> {
    let mut file = File::open(path).map_err(Fault::unreadable)?;
    let mut piece = vec![0; PIECE_BYTES];
    // An end that no line break marks is a line, too.
    let (mut lines, mut last) = (0, b'\n');
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(lines + u64::from(last != b'\n')),
            Ok(read) => {
                let read = &piece[..read];
                lines += memchr::memchr_iter(b'\n', read).count() as u64;
                last = read.last().copied().unwrap_or(last);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::unreadable(error)),
        }
    }
}
