//! Stands in for the decoders in builds without the feature `compression`.

use std::io::{self, Read};

use crate::bad_record::Fault;
use crate::options::Compression;

/// Refuses a stream that turns out to be compressed; files that are known to be were refused when they were
/// listed.
pub(super) fn decoder(
    kind: Compression,
    _head: Vec<u8>,
    _stream: Box<dyn Read + Send>,
    _max_window_bytes: u64,
) -> Result<Box<dyn Read + Send>, Fault> {
    let name = kind.name();
    Err(Fault::corrupt(format!(
        "{name} is not read by a build without the feature `compression`"
    )))
}

/// Returns that no window was too large: there is no decoder.
pub(super) const fn is_window_too_large(_: &io::Error) -> bool {
    false
}
