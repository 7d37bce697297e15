//! Encodings of answers that were not asked for: what a server compresses all the same is
//! decompressed on the way.

use std::io::{self, Write as _};

use bytes::{Buf as _, Bytes};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use futures_util::StreamExt as _;
use futures_util::stream;
use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderName, TRANSFER_ENCODING};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation as _};

use super::Body;
use crate::FetchError;

/// Compressed bytes that are given to Deflate at a time: a byte of it becomes about a thousand at
/// most.
const DEFLATE_STEP: usize = 256;
/// Bytes that Zstandard gives at a time.
const ZSTD_STEP: usize = 128 << 10;
/// Largest window of Zstandard in HTTP, as a power of two (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
/// Encodings that cannot be read, as opposed to names that are none.
const UNSUPPORTED: [&str; 5] = ["br", "compress", "x-compress", "dcb", "dcz"];

/// Encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Deflate,
    Zstd,
}

impl Encoding {
    /// Returns the encoding of an answer for a file that is called `name`, if it has one; an error
    /// with its name if that cannot be read.
    pub(crate) fn of(headers: &HeaderMap, name: &str) -> Result<Option<Self>, String> {
        // Chunks are taken apart already. No client has to know another encoding of the transfer.
        if let Some(coding) = listed(headers, TRANSFER_ENCODING).find(|coding| is_coding(coding)) {
            return Err(coding);
        }
        let codings: Vec<String> = listed(headers, CONTENT_ENCODING)
            .filter(|coding| is_coding(coding))
            .collect();
        let encoding = match codings.as_slice() {
            [] => return Ok(None),
            [coding] => match coding.as_str() {
                "gzip" | "x-gzip" => Self::Gzip,
                "deflate" => Self::Deflate,
                "zstd" => Self::Zstd,
                _ => return Err(coding.clone()),
            },
            _ => return Err(codings.join(", ")),
        };
        // Many servers call the compression of a compressed file its encoding. The bytes of
        // `a.csv.gz` are those that begin as gzip does.
        let name = name.to_ascii_lowercase();
        let is_own = match encoding {
            Self::Gzip => [".gz", ".gzip", ".tgz"]
                .iter()
                .any(|end| name.ends_with(end)),
            Self::Zstd => [".zst", ".zstd"].iter().any(|end| name.ends_with(end)),
            Self::Deflate => false,
        };
        Ok((!is_own).then_some(encoding))
    }

    /// Returns whether a body says by itself where it ends.
    pub(crate) const fn has_end(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }
}

/// Returns the items of a header that is a list, in lower case.
fn listed(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = String> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|item| item.trim().to_ascii_lowercase())
}

/// Returns whether a body comes in chunks, which say where it ends.
pub(super) fn is_chunked(headers: &HeaderMap) -> bool {
    listed(headers, TRANSFER_ENCODING).last().as_deref() == Some("chunked")
}

/// Returns whether a name is one of an encoding; servers also put character sets there, and the ways
/// in which files were uploaded.
fn is_coding(name: &str) -> bool {
    ["gzip", "x-gzip", "deflate", "zstd"].contains(&name) || UNSUPPORTED.contains(&name)
}

/// Returns the decoded bytes of a body. It fails where they are damaged or end too early.
pub(crate) fn decoded(encoding: Encoding, body: Body, shown: String) -> Body {
    let state = State {
        body,
        encoding,
        decoder: None,
        input: Bytes::new(),
        shown,
    };
    stream::try_unfold(state, |mut state| async move {
        let piece = state.next().await?;
        Ok(piece.map(|piece| (piece, state)))
    })
    .boxed()
}

/// Body that is being decoded.
struct State {
    body: Body,
    encoding: Encoding,
    /// Created with the first bytes, which tell the two kinds of Deflate apart.
    decoder: Option<Decoder>,
    /// Bytes that came and were not decoded yet.
    input: Bytes,
    shown: String,
}

impl State {
    /// Returns the next piece that is not empty; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        loop {
            while self.input.is_empty() {
                match self.body.next().await {
                    Some(piece) => self.input = piece?,
                    None => return self.rest(),
                }
            }
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                none => {
                    let decoder = Decoder::new(self.encoding, self.input[0]);
                    none.insert(decoder.map_err(|error| damaged(&self.shown, &error))?)
                }
            };
            let decoded = decoder
                .step(&mut self.input)
                .map_err(|error| damaged(&self.shown, &error))?;
            if !decoded.is_empty() {
                return Ok(Some(decoded.into()));
            }
        }
    }

    /// Returns what the decoder still holds, once; fails if the encoded bytes end too early. A body
    /// of none at all is that of an empty file.
    fn rest(&mut self) -> Result<Option<Bytes>, FetchError> {
        let Some(mut decoder) = self.decoder.take() else {
            return Ok(None);
        };
        let rest = decoder
            .finish()
            .map_err(|error| damaged(&self.shown, &error))?;
        Ok((!rest.is_empty()).then(|| rest.into()))
    }
}

/// Returns the error for encoded bytes that cannot be decoded.
fn damaged(shown: &str, error: &io::Error) -> FetchError {
    FetchError::WrongAnswer {
        url: shown.to_owned(),
        reason: format!("an encoded body that cannot be decoded ({error})"),
        attempts: 1,
    }
}

/// Decoder of one of the encodings.
enum Decoder {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Deflate(DeflateDecoder<Vec<u8>>),
    /// With whether the last frame is complete.
    Zstd(ZstdDecoder<'static>, bool),
}

impl Decoder {
    /// Creates a decoder for a body that begins with `first`.
    fn new(encoding: Encoding, first: u8) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Gzip => Self::Gzip(MultiGzDecoder::new(Vec::new())),
            // HTTP means zlib by it (RFC 9110, 8.4.1.2); some servers leave its header out. A block
            // of raw Deflate does not begin with this method and window.
            Encoding::Deflate if first & 0x0f == 8 && first >> 4 <= 7 => {
                Self::Zlib(ZlibDecoder::new(Vec::new()))
            }
            Encoding::Deflate => Self::Deflate(DeflateDecoder::new(Vec::new())),
            Encoding::Zstd => {
                let mut decoder = ZstdDecoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
                Self::Zstd(decoder, true)
            }
        })
    }

    /// Decodes a part of `input`, and takes it off.
    fn step(&mut self, input: &mut Bytes) -> io::Result<Vec<u8>> {
        if let Self::Zstd(decoder, is_complete) = self {
            let mut output = vec![0; ZSTD_STEP];
            let status = decoder.run_on_buffers(input, &mut output)?;
            input.advance(status.bytes_read);
            *is_complete = status.remaining == 0;
            output.truncate(status.bytes_written);
            return Ok(output);
        }
        let part = input.split_to(input.len().min(DEFLATE_STEP));
        match self {
            Self::Gzip(decoder) => {
                decoder.write_all(&part)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zlib(decoder) => {
                decoder.write_all(&part)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Deflate(decoder) => {
                decoder.write_all(&part)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zstd(..) => Ok(Vec::new()),
        }
    }

    /// Returns what is left, and fails if the encoded bytes are not complete, as far as the encoding
    /// tells.
    fn finish(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zlib(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Deflate(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zstd(_, true) => Ok(Vec::new()),
            Self::Zstd(_, false) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn of(value: &'static str, name: &str) -> Result<Option<Encoding>, String> {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(value))]);
        Encoding::of(&headers, name)
    }

    #[test]
    fn encodings_are_told_from_what_else_stands_there() {
        for (value, expected) in [
            ("gzip", Ok(Some(Encoding::Gzip))),
            ("X-GZIP", Ok(Some(Encoding::Gzip))),
            ("identity", Ok(None)),
            ("", Ok(None)),
            ("utf-8", Ok(None)),
            ("aws-chunked", Ok(None)),
            ("aws-chunked,gzip", Ok(Some(Encoding::Gzip))),
            ("deflate", Ok(Some(Encoding::Deflate))),
            ("zstd", Ok(Some(Encoding::Zstd))),
            ("br", Err("br".to_owned())),
            ("gzip, gzip", Err("gzip, gzip".to_owned())),
        ] {
            assert_eq!(of(value, "a.jsonl"), expected, "{value}");
        }
        assert_eq!(of("gzip", "a.jsonl.GZ"), Ok(None));
        assert_eq!(of("zstd", "a.jsonl.zst"), Ok(None));
        assert_eq!(of("gzip", "a.jsonl.zst"), Ok(Some(Encoding::Gzip)));
    }

    /// Decodes bytes that come in pieces of `size`.
    fn decode(encoding: Encoding, bytes: &[u8], size: usize) -> Result<Vec<u8>, FetchError> {
        let pieces: Vec<_> = bytes
            .chunks(size)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        let mut body = decoded(encoding, stream::iter(pieces).boxed(), "x".to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut all = Vec::new();
            while let Some(piece) = body.next().await {
                let piece = piece?;
                assert!(piece.len() <= 1 << 20, "a step is bounded");
                all.extend_from_slice(&piece);
            }
            Ok(all)
        })
    }

    #[test]
    fn every_encoding_is_decoded_and_every_cut_is_seen() {
        use flate2::Compression;
        let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut twice = gzip.finish().unwrap();
        twice.extend_from_within(..);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(&text).unwrap();
        for (encoding, bytes, times) in [
            (Encoding::Gzip, twice, 2),
            (Encoding::Deflate, zlib.finish().unwrap(), 1),
            (Encoding::Deflate, raw.finish().unwrap(), 1),
            (Encoding::Zstd, zstd::encode_all(&text[..], 1).unwrap(), 1),
        ] {
            for size in [1, 1000, bytes.len()] {
                let found = decode(encoding, &bytes, size).unwrap();
                assert!(found == text.repeat(times), "{encoding:?} {size}");
            }
            if encoding.has_end() {
                let cut = decode(encoding, &bytes[..bytes.len() - 3], 1000);
                assert!(matches!(cut, Err(FetchError::WrongAnswer { .. })));
            }
            assert_eq!(decode(encoding, b"", 1).unwrap(), b"");
        }
        assert!(decode(Encoding::Gzip, b"{\"text\": 1}", 5).is_err());
    }

    #[test]
    fn a_few_bytes_that_stand_for_many_come_in_steps() {
        let zeros = vec![0; 8 << 20];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&zeros).unwrap();
        for (encoding, bytes) in [
            (Encoding::Gzip, gzip.finish().unwrap()),
            (Encoding::Zstd, zstd::encode_all(&zeros[..], 1).unwrap()),
        ] {
            let found = decode(encoding, &bytes, bytes.len()).unwrap();
            assert_eq!(found.len(), zeros.len(), "{encoding:?}");
        }
    }
}
