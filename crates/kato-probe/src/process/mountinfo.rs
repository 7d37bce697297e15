//! The form in which Linux writes paths into its lists of mounts, for all who read these.

use std::path::PathBuf;

/// Returns the path that a field of `/proc/self/mountinfo` stands for: blanks, line ends and the like
/// are written in it as a backslash and three octal digits (proc(5)), and it need not be text.
///
/// ```
/// use kato_probe::process::mountinfo::path_of_field;
/// use std::path::Path;
///
/// assert_eq!(path_of_field(br"/mnt/my\040data"), Path::new("/mnt/my data"));
/// ```
#[must_use]
pub fn path_of_field(field: &[u8]) -> PathBuf {
    path(&unescape(field))
}

/// Returns the bytes that a field stands for.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    behind @ ..,
                ],
            ) => {
                bytes.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = behind;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// Returns the path of some bytes.
#[cfg(unix)]
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Returns the path of some bytes, as far as they are text.
#[cfg(not(unix))]
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_octal_digits_are_an_escape_and_nothing_else() {
        let cases: [(&[u8], &[u8]); 8] = [
            (br"/my\040group\134040/a\x", br"/my group\040/a\x"),
            (br"/a\043b\377", b"/a#b\xff"),
            (br"/a\400\", br"/a\400\"),
            (br"\04", br"\04"),
            (b"", b""),
            (br"/my\040data\134", br"/my data\"),
            (br"/a\+12\04", br"/a\+12\04"),
            (br"/a\777", br"/a\777"),
        ];
        for (field, bytes) in cases {
            assert_eq!(unescape(field), bytes);
        }
    }
}
