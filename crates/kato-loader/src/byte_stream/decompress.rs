//! Decompresses a stream, and refuses one that is not what it should be.

use std::io::{self, BufReader, Cursor, Read};

use super::CHUNK_BYTES;
use super::gzip::GzipMembers;
use crate::bad_record::{BadReason, Fault};
use crate::looks;
use crate::options::Compression;

/// Bytes that tell how a stream is compressed, and the window of zstd.
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
    let whole = Cursor::new(head).chain(stream);
    let buffered = |whole| BufReader::with_capacity(CHUNK_BYTES, whole);
    let decoded: Box<dyn Read + Send> = match kind {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(GzipMembers::new(buffered(whole))),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(whole))),
        Compression::Xz => {
            // Its limit counts what surrounds the window as well, which is less than a tenth.
            let kibibytes = (how.max_window_bytes / 1024).saturating_mul(11) / 10;
            let kibibytes = u32::try_from(kibibytes).unwrap_or(u32::MAX);
            Box::new(lzma_rust2::XzReader::new_mem_limit(
                buffered(whole),
                true,
                kibibytes,
            ))
        }
        Compression::Zstd => {
            let (head, _) = whole.get_ref();
            let needed = zstd_window(head.get_ref()).unwrap_or(0);
            if needed > how.max_window_bytes {
                return Err(Fault::for_file(BadReason::WindowTooLarge {
                    needed_bytes: Some(needed),
                    limit_bytes: how.max_window_bytes,
                }));
            }
            let mut decoder =
                zstd::Decoder::with_buffer(buffered(whole)).map_err(Fault::corrupt)?;
            let log = how.max_window_bytes.max(1).ilog2().clamp(10, 31);
            decoder.window_log_max(log).map_err(Fault::corrupt)?;
            Box::new(decoder)
        }
    };
    Ok((decoded, kind))
}

/// Returns whether a decoder failed because its window is too large, of a frame or block behind the
/// first.
pub(super) fn is_window_too_large(error: &io::Error) -> bool {
    let message = error.to_string();
    message.contains("too much memory") || message.contains("mem_limit_kb")
}

/// Reads the first bytes of a stream, as many as there are up to a number.
fn peek(stream: &mut dyn Read, n_bytes: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(n_bytes);
    stream.take(n_bytes as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Returns the window that the first frame of a zstd stream asks for, in bytes (RFC 8878, section
/// 3.1.1.1); nothing where it says none.
fn zstd_window(head: &[u8]) -> Option<u64> {
    let (magic, header) = head.split_at_checked(4)?;
    if magic != b"\x28\xB5\x2F\xFD" {
        return None;
    }
    let descriptor = *header.first()?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = *header.get(1)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The window is the content then. Its size stands behind the id of a dictionary.
    let id_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let (n_bytes, base) = [(1, 0), (2, 256), (4, 0), (8, 0)][usize::from(descriptor >> 6)];
    let size = header.get(1 + id_bytes..1 + id_bytes + n_bytes)?;
    let mut bytes = [0; 8];
    bytes[..n_bytes].copy_from_slice(size);
    u64::from_le_bytes(bytes).checked_add(base)
}
