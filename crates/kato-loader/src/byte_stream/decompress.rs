//! Decompresses a stream, and refuses one that is not what it should be.

use std::io::{self, Cursor, Read};

use super::decoders::decoder;
use crate::bad_record::Fault;
use crate::looks;
use crate::options::Compression;

/// Bytes that tell how a stream is compressed, and the window that zstd needs.
const MAGIC_BYTES: usize = 18;

/// How the bytes of a file are to be decompressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decompression {
    /// The kind; none where the first bytes decide.
    pub(crate) kind: Option<Compression>,
    /// The largest window that a decoder may hold, in bytes.
    pub(crate) max_window_bytes: u64,
}

/// Returns the decompressed bytes of a stream, and how they were compressed.
pub(super) fn decompress(
    mut stream: Box<dyn Read + Send>,
    how: Decompression,
) -> Result<(Box<dyn Read + Send>, Compression), Fault> {
    // Uncompressed bytes go straight to the caller, who looks at them as well.
    if how.kind == Some(Compression::None) {
        return Ok((stream, Compression::None));
    }
    let head = peek(&mut stream, MAGIC_BYTES).map_err(Fault::unreadable)?;
    let found = looks::compression_of(&head);
    let kind = match (how.kind, found) {
        (None, found) => found.unwrap_or(Compression::None),
        // A decoder may accept an archive of no bytes at all; in a corpus it is a file that was cut
        // off.
        (Some(_), None) if head.is_empty() => {
            return Err(Fault::corrupt(io::Error::from(
                io::ErrorKind::UnexpectedEof,
            )));
        }
        (Some(kind), found) if found != Some(kind) => {
            return Err(Fault::looks_like(
                kind.name(),
                looks::look(&head, false, ""),
            ));
        }
        (Some(kind), _) => kind,
    };
    let decoded: Box<dyn Read + Send> = match kind {
        Compression::None => Box::new(Cursor::new(head).chain(stream)),
        kind => decoder(kind, head, stream, how.max_window_bytes)?,
    };
    Ok((decoded, kind))
}

/// Reads the first bytes of a stream, as many as there are up to a number.
fn peek(stream: &mut dyn Read, n_bytes: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(n_bytes);
    stream.take(n_bytes as u64).read_to_end(&mut head)?;
    Ok(head)
}
