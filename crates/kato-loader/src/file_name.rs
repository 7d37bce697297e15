//! Names of files in ids and identities: text, exact for names of any bytes.

use std::path::{Component, Path, PathBuf};

/// Begins a name that is written byte by byte.
///
/// No other name begins with it: one that would is written byte by byte, too.
const ESCAPED: &str = "bytes:";

/// Returns the path as given, in the form that names it in ids and identities on every system:
/// separators `/`, no leading `./`.
///
/// Names on Unix are bytes. Those that are UTF-8 stay as they are. Others are `bytes:`, and then
/// the path with every byte that is not part of a character, and every `%`, as `%` and two hex
/// digits. So no two paths have one name, and [`path_of`] leads back.
pub(crate) fn name_of(path: &Path) -> String {
    let mut name = Vec::new();
    for (place, part) in path
        .components()
        .filter(|part| *part != Component::CurDir)
        .enumerate()
    {
        if place > 0 {
            name.push(b'/');
        }
        // The root is empty: the separator behind it stands for it.
        if part != Component::RootDir {
            name.extend_from_slice(&bytes_of(part));
        }
    }
    match str::from_utf8(&name) {
        Ok("") if path.has_root() => "/".to_owned(),
        Ok("") => ".".to_owned(),
        Ok(text) if !text.starts_with(ESCAPED) => text.to_owned(),
        _ => escape(&name),
    }
}

/// Returns the path that has a name.
pub(crate) fn path_of(name: &str) -> PathBuf {
    match name.strip_prefix(ESCAPED) {
        Some(escaped) => path_from(unescape(escaped)),
        None => PathBuf::from(name),
    }
}

/// Writes a name byte by byte.
fn escape(name: &[u8]) -> String {
    let mut text = ESCAPED.to_owned();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '%' => text.push_str("%25"),
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Reads what [`escape`] has written behind its mark; what it did not write stays as it is.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let byte = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    bytes
}

/// Returns the bytes of a part of a path.
#[cfg(unix)]
fn bytes_of(part: Component<'_>) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    part.as_os_str().as_bytes().to_vec()
}

/// Returns the text of a part of a path, as far as it is text.
#[cfg(not(unix))]
fn bytes_of(part: Component<'_>) -> Vec<u8> {
    part.as_os_str().to_string_lossy().into_owned().into_bytes()
}

/// Returns the path of some bytes.
#[cfg(unix)]
fn path_from(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

/// Returns the path of some bytes, as far as they are text.
#[cfg(not(unix))]
fn path_from(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_characters_stay_as_they_are() {
        let cases = [
            ("./a/b.txt", "a/b.txt"),
            ("a//b/./c", "a/b/c"),
            ("/a%FF.txt", "/a%FF.txt"),
            ("straße/%25", "straße/%25"),
            ("../up", "../up"),
            (".", "."),
            ("", "."),
            ("/", "/"),
        ];
        for (path, name) in cases {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }

    #[test]
    fn a_name_like_the_mark_is_told_from_it() {
        assert_eq!(name_of(Path::new("bytes:%")), "bytes:bytes:%25");
        assert_eq!(path_of("bytes:bytes:%25"), Path::new("bytes:%"));
        assert_eq!(name_of(Path::new("a/bytes:x")), "a/bytes:x");
    }

    #[test]
    fn what_was_never_escaped_is_read_as_it_stands() {
        for text in ["%", "%2", "%zz", "a%", "%é", "%+1"] {
            let path = path_of(&format!("{ESCAPED}{text}"));
            assert!(path.to_str().is_some(), "{text}");
        }
        assert_eq!(path_of("bytes:a%zz%"), Path::new("a%zz%"));
    }

    #[cfg(unix)]
    #[test]
    fn names_of_any_bytes_lead_back_and_none_meets_another() {
        use std::collections::HashMap;
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let pieces: [&[u8]; 8] = [
            b"\xff",
            b"%FF",
            b"bytes:",
            b"/",
            b"\xc3",
            b"\xa9",
            b"%",
            "é".as_bytes(),
        ];
        let mut names = HashMap::new();
        for number in 0..8usize.pow(4) {
            let bytes: Vec<u8> = (0..4)
                .flat_map(|place| pieces[number / 8usize.pow(place) % 8])
                .copied()
                .collect();
            let path = Path::new(OsStr::from_bytes(&bytes));
            let name = name_of(path);
            assert_eq!(path_of(&name), path, "{name}");
            let before = names.insert(name.clone(), path.to_owned());
            assert!(before.is_none_or(|before| before == path), "{name}");
        }
        assert_eq!(
            name_of(Path::new(OsStr::from_bytes(b"/corpus/caf\xe9 5%.txt"))),
            "bytes:/corpus/caf%E9 5%25.txt"
        );
    }
}
