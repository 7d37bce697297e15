//! The decoders of compressed streams, each with a limit on its memory.

use std::io::{self, BufReader, Cursor, Read};

use super::CHUNK_BYTES;
use super::gzip::GzipMembers;
use crate::bad_record::{BadReason, Fault};
use crate::options::Compression;

/// Decodes a stream of one kind, of which the first bytes have been read.
pub(super) fn decoder(
    kind: Compression,
    head: Vec<u8>,
    stream: Box<dyn Read + Send>,
    max_window_bytes: u64,
) -> Result<Box<dyn Read + Send>, Fault> {
    let zstd_window = zstd_window(&head);
    let whole = BufReader::with_capacity(CHUNK_BYTES, Cursor::new(head).chain(stream));
    Ok(match kind {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(GzipMembers::new(whole)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(whole)),
        Compression::Xz => {
            // Its limit counts what surrounds the window as well, which is less than a tenth.
            let kibibytes = (max_window_bytes / 1024).saturating_mul(11) / 10;
            let kibibytes = u32::try_from(kibibytes).unwrap_or(u32::MAX);
            Box::new(lzma_rust2::XzReader::new_mem_limit(whole, true, kibibytes))
        }
        Compression::Zstd => {
            let needed = zstd_window.unwrap_or(0);
            if needed > max_window_bytes {
                return Err(Fault::for_file(BadReason::WindowTooLarge {
                    needed_bytes: Some(needed),
                    limit_bytes: max_window_bytes,
                }));
            }
            let mut decoder = zstd::Decoder::with_buffer(whole).map_err(Fault::corrupt)?;
            let log = max_window_bytes.max(1).ilog2().clamp(10, 31);
            decoder.window_log_max(log).map_err(Fault::corrupt)?;
            Box::new(decoder)
        }
    })
}

/// Returns whether a decoder failed because its window is too large, of a frame or block behind the
/// first.
pub(super) fn is_window_too_large(error: &io::Error) -> bool {
    let message = error.to_string();
    message.contains("too much memory") || message.contains("mem_limit_kb")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The window that a frame's header asks for, less one byte of it at a time: none.
    fn window(descriptor: u8, rest: &[u8]) -> Option<u64> {
        let mut header = vec![0x28, 0xB5, 0x2F, 0xFD, descriptor];
        header.extend(rest);
        let found = zstd_window(&header);
        for len in 0..header.len() {
            assert_eq!(zstd_window(&header[..len]), None);
        }
        // What stands behind the header has no part in it.
        header.extend([0xFF; 9]);
        assert_eq!(zstd_window(&header), found);
        header[0] ^= 1;
        assert_eq!(zstd_window(&header), None);
        found
    }

    #[test]
    fn every_header_of_zstd_says_its_window() {
        for byte in 0..=u8::MAX {
            let (exponent, eighths) = (u32::from(byte / 8), u64::from(byte % 8));
            let expected = 2_u64.pow(7 + exponent) * (8 + eighths);
            assert_eq!(window(0, &[byte]), Some(expected));
        }
        // One segment: the window is the content, of which the size has 1, 2, 4 or 8 bytes.
        for (size, n_bytes) in [1, 2, 4, 8].into_iter().enumerate() {
            for (id, n_id) in [0, 1, 2, 4].into_iter().enumerate() {
                let descriptor = (size << 6 | 0x20 | id) as u8;
                let mut rest = vec![0xFF; n_id];
                rest.extend((1..).take(n_bytes));
                let stored = (1..=n_bytes as u64).map(|n| n * 256_u64.pow(n as u32 - 1));
                // Two bytes hold what is more than 256.
                let more = if n_bytes == 2 { 256 } else { 0 };
                assert_eq!(window(descriptor, &rest), Some(stored.sum::<u64>() + more));
            }
        }
    }
}
