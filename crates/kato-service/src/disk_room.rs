//! The room that a disk has left, and the part of it that a copy must leave to learning.

use std::path::{Path, PathBuf};

use crate::ServiceError;

/// Bytes of what is written between two looks at the room that is left.
pub(crate) const LOOK_EVERY: u64 = 32 << 20;

/// Least and most of the part that is left, where no other one was set.
const LEAST_RESERVE: u64 = 64 << 20;
const MOST_RESERVE: u64 = 4 << 30;

/// The room of the disk that a directory is on.
#[derive(Debug)]
pub(crate) struct DiskRoom {
    dir: PathBuf,
    /// Bytes of the whole copy, about.
    needed: u64,
    /// Bytes that must stay free.
    reserve: u64,
}

impl DiskRoom {
    /// Refuses to write so many bytes into a directory where less than the reserve would be left.
    ///
    /// Without a reserve it is as much as is to be written, so that what is copied can grow to its
    /// double: 64 MiB at least and 4 GiB at most.
    pub(crate) fn check(
        dir: &Path,
        needed: u64,
        reserve: Option<u64>,
    ) -> Result<Self, ServiceError> {
        let room = Self {
            dir: dir.to_owned(),
            needed,
            reserve: reserve.unwrap_or_else(|| needed.clamp(LEAST_RESERVE, MOST_RESERVE)),
        };
        room.check_for(needed)?;
        Ok(room)
    }

    /// Refuses to go on where less than the reserve is left: others write to the disk as well.
    pub(crate) fn check_again(&self) -> Result<(), ServiceError> {
        self.check_for(0)
    }

    fn check_for(&self, more: u64) -> Result<(), ServiceError> {
        // Where the system does not tell, writing does.
        let Some(free) = free_bytes(&self.dir) else {
            return Ok(());
        };
        if more.saturating_add(self.reserve) <= free {
            return Ok(());
        }
        Err(ServiceError::NoRoom {
            path: self.dir.clone(),
            needed: self.needed,
            free,
            reserve: self.reserve,
        })
    }
}

/// Returns the bytes that may still be written to the disk of a directory.
#[cfg(unix)]
fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
const fn free_bytes(_dir: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_leaves_its_reserve() {
        let dir = tempfile::tempdir().unwrap();
        let check = |needed, reserve| DiskRoom::check(dir.path(), needed, reserve);
        let room = check(1000, Some(0)).unwrap();
        room.check_again().unwrap();
        assert_eq!(check(1000, None).unwrap().reserve, LEAST_RESERVE);
        for (needed, reserve) in [(1 << 60, None), (0, Some(1 << 60))] {
            let refused = check(needed, reserve).unwrap_err();
            let is_told =
                matches!(&refused, ServiceError::NoRoom { needed: n, .. } if *n == needed);
            assert!(is_told, "{refused}");
        }
    }
}
