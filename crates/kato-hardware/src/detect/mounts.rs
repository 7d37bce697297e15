//! What is mounted where, by Linux's list of mounts.

use std::path::{Path, PathBuf};

use kato_probe::process::mountinfo::path_of_field;

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) point: PathBuf,
    pub(crate) file_system: String,
    pub(crate) source: PathBuf,
    pub(crate) is_read_only: bool,
}

/// Returns the mounts in their order. Names on Linux are bytes, so the text need not be UTF-8.
pub(crate) fn mounts(mountinfo: &[u8]) -> impl Iterator<Item = Mount> {
    mountinfo
        .split(|byte| *byte == b'\n')
        .filter_map(Mount::parse)
}

/// Returns the mount with the longest path above the directory, the last of several on the same
/// path; `None` for a text that has none.
pub(crate) fn mount_of(mountinfo: &[u8], directory: &Path) -> Option<Mount> {
    mounts(mountinfo)
        .filter(|mount| directory.starts_with(&mount.point))
        // Of equals the last one is returned: it was mounted over the others and hides them.
        .max_by_key(|mount| mount.point.components().count())
}

impl Mount {
    /// Parses a line of `/proc/self/mountinfo`, whose columns are in `proc_pid_mountinfo(5)`.
    fn parse(line: &[u8]) -> Option<Self> {
        // Optional columns stand before the lone dash, so what is behind it is counted from there.
        let dash = line.windows(3).position(|bytes| bytes == b" - ")?;
        let mut left = line[..dash].split(|byte| *byte == b' ').skip(4);
        let (point, options) = (left.next()?, left.next()?);
        let mut right = line[dash + 3..].split(|byte| *byte == b' ');
        let (file_system, source, of_all) = (right.next()?, right.next()?, right.next()?);
        let is_read_only = |options: &[u8]| {
            options
                .split(|byte| *byte == b',')
                .any(|option| option == b"ro")
        };
        Some(Self {
            point: path_of_field(point),
            file_system: String::from_utf8_lossy(file_system).into_owned(),
            source: path_of_field(source),
            // Either the mount or the whole file system behind it.
            is_read_only: is_read_only(options) || is_read_only(of_all),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const MOUNTS: &[u8] = b"\
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 0:26 / /mnt/my\\040data rw - tmpfs tmpfs rw,size=1024k\n\
        31 22 0:27 / /mnt rw - nfs4 server:/export ro\n\
        32 22 0:28 / /mnt/my\\040data ro - xfs /dev/sdb1 rw\n";

    #[test]
    fn the_longest_and_last_mount_holds_the_directory() {
        let found = |path: &str| mount_of(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(found("/home").file_system, "ext4");
        assert_eq!(found("/mnt/other").source, Path::new("server:/export"));
        assert!(found("/mnt/other").is_read_only);
        let last = found("/mnt/my data/kb");
        assert_eq!((&*last.file_system, last.is_read_only), ("xfs", true));
        assert_eq!(mount_of(b"", Path::new("/")), None);
        assert_eq!(mount_of(b"nonsense\n - x\n", Path::new("/")), None);
    }

    #[test]
    fn a_name_of_any_bytes_hides_no_mount() {
        let text = [
            b"33 22 0:29 / /media/Donn\xe9es rw - ext4 /dev/sd\xff rw\n",
            MOUNTS,
        ]
        .concat();
        assert_eq!(mounts(&text).count(), 5);
        let path = Path::new(OsStr::from_bytes(b"/media/Donn\xe9es/kb"));
        assert_eq!(mount_of(&text, path).unwrap().file_system, "ext4");
        assert_eq!(
            mount_of(&text, Path::new("/mnt/x")).unwrap().file_system,
            "nfs4"
        );
    }
}
