//! Mounted hierarchies of control groups, out of Linux's list of mounts.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::process::mountinfo::path_of_field;

/// A line of `/proc/self/mountinfo`.
#[derive(Debug)]
pub(crate) struct Mount {
    /// The group that stands at the top of what is mounted.
    pub(crate) root: PathBuf,
    /// Where it is mounted.
    pub(crate) point: PathBuf,
    kind: Vec<u8>,
    options: Vec<u8>,
}

impl Mount {
    /// Parses a line.
    fn parse(line: &[u8]) -> Option<Self> {
        // The number of fields in front of ` - ` varies, so what stands behind it is counted from
        // there: type, source, options. In front of it, root and mount point are the fourth and
        // fifth field (proc(5)). Blanks in fields are escaped.
        let dash = line.windows(3).position(|bytes| bytes == b" - ")?;
        let (left, right) = (&line[..dash], &line[dash + 3..]);
        let mut left = left.split(|byte| *byte == b' ').skip(3);
        let mut right = right.split(|byte| *byte == b' ');
        Some(Self {
            root: path_of_field(left.next()?),
            point: path_of_field(left.next()?),
            kind: right.next()?.to_vec(),
            options: right.nth(1).unwrap_or_default().to_vec(),
        })
    }

    /// Returns whether the hierarchy has a controller of version 1, or is the unified one.
    pub(crate) fn is_of(&self, controller: Option<&str>) -> bool {
        match controller {
            None => self.kind == b"cgroup2",
            Some(controller) => {
                let mut options = self.options.split(|byte| *byte == b',');
                self.kind == b"cgroup" && options.any(|name| name == controller.as_bytes())
            }
        }
    }
}

/// Returns the mounts in a text like `/proc/self/mountinfo`, but for those over whose place another
/// was mounted later.
pub(crate) fn visible(mountinfo: &[u8]) -> Vec<Mount> {
    let lines = mountinfo.split(|byte| *byte == b'\n');
    let mut taken = HashSet::new();
    let mut mounts: Vec<Mount> = lines
        .rev()
        .filter_map(Mount::parse)
        .filter(|mount| taken.insert(mount.point.clone()))
        .filter(|mount| mount.kind.starts_with(b"cgroup"))
        .collect();
    mounts.reverse();
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_mount_is_passed_over() {
        let text = b"nonsense\n - x\n\n30 24 0:26 / /cg rw - cgroup2\n\xff\n";
        let mounts = visible(text);
        assert_eq!(mounts.len(), 1);
        assert!(mounts[0].is_of(None) && !mounts[0].is_of(Some("cpu")));
    }
}
