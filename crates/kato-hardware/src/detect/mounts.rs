//! The mount that holds a directory, by Linux's list of mounts.

use std::path::{Path, PathBuf};

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) point: PathBuf,
    pub(crate) file_system: String,
    pub(crate) source: String,
    pub(crate) is_read_only: bool,
}

/// Returns the mount with the longest path above the directory, the last of several on the same
/// path; `None` for a text that has none.
pub(crate) fn mount_of(mountinfo: &str, directory: &Path) -> Option<Mount> {
    mountinfo
        .lines()
        .filter_map(parse)
        .filter(|mount| directory.starts_with(&mount.point))
        // Of equals the last one is returned: it was mounted over the others and hides them.
        .max_by_key(|mount| mount.point.components().count())
}

/// Parses a line of `/proc/self/mountinfo`, whose columns are in `proc_pid_mountinfo(5)`.
fn parse(line: &str) -> Option<Mount> {
    // Optional columns stand before the lone dash, so what is behind it is counted from there.
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(4);
    let (point, options) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (file_system, source, of_all) = (right.next()?, right.next()?, right.next()?);
    let is_read_only = |options: &str| options.split(',').any(|option| option == "ro");
    Some(Mount {
        point: PathBuf::from(unescape(point)),
        file_system: file_system.to_owned(),
        source: unescape(source),
        // Either the mount or the whole file system behind it.
        is_read_only: is_read_only(options) || is_read_only(of_all),
    })
}

/// Returns a path with blanks and the like restored, which the kernel writes as a backslash and
/// three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        // `from_str_radix` takes a sign as well, which is no digit.
        let digits = digits.filter(|digits| !digits.starts_with('+'));
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 0:26 / /mnt/my\\040data rw - tmpfs tmpfs rw,size=1024k\n\
        31 22 0:27 / /mnt rw - nfs4 server:/export ro\n\
        32 22 0:28 / /mnt/my\\040data ro - xfs /dev/sdb1 rw\n";

    #[test]
    fn three_octal_digits_are_an_escape_and_nothing_else() {
        assert_eq!(unescape(r"/my\040data\134"), r"/my data\");
        assert_eq!(unescape(r"/a\+12\04"), r"/a\+12\04");
        assert_eq!(unescape(r"/a\777"), r"/a\777");
    }

    #[test]
    fn the_longest_and_last_mount_holds_the_directory() {
        let found = |path: &str| mount_of(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(found("/home").file_system, "ext4");
        assert_eq!(found("/mnt/other").source, "server:/export");
        assert!(found("/mnt/other").is_read_only);
        let last = found("/mnt/my data/kb");
        assert_eq!((&*last.file_system, last.is_read_only), ("xfs", true));
        assert_eq!(mount_of("", Path::new("/")), None);
        assert_eq!(mount_of("nonsense\n - x\n", Path::new("/")), None);
    }
}
