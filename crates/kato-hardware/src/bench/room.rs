//! The size that a file may have, by free room and limits, so that a measurement never fills a
//! disk.

use std::path::Path;

use rustix::fs::statvfs;

use crate::detect::limits::SystemLimits;

/// Part of the free room that a measurement takes: one in so many.
const SHARE: u64 = 4;
/// Least bytes of a measurement; with less it says nothing.
pub(crate) const MIN_FILE_BYTES: u64 = 16 << 20;

/// Returns the bytes that may be written into the directory, in whole MiB.
///
/// They are at most those wanted, a quarter of what is free, and what the process may write into
/// one file.
///
/// # Errors
///
/// The reason, when that is less than [`MIN_FILE_BYTES`] or cannot be found out.
pub(crate) fn in_directory(directory: &Path, wanted: u64) -> Result<u64, String> {
    let place = directory.display();
    let stat = statvfs(directory).map_err(|error| {
        format!("{place} cannot be looked at ({error}): name another with `directory`")
    })?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    // A write beyond this limit ends the process by a signal.
    let limits = SystemLimits::read(Path::new("/"));
    let limit = limits.file_bytes.known().copied().flatten();
    choose(free, limit, wanted).map_err(|reason| format!("{place}: {reason}"))
}

/// Chooses a size by free room and limit.
fn choose(free: u64, limit: Option<u64>, wanted: u64) -> Result<u64, String> {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    if free / SHARE < MIN_FILE_BYTES {
        return Err(format!(
            "only {:.1} MiB are free: free {:.0} MiB, or name another directory with `directory`",
            mib(free),
            mib(SHARE * MIN_FILE_BYTES)
        ));
    }
    if let Some(limit) = limit.filter(|limit| *limit < MIN_FILE_BYTES) {
        return Err(format!(
            "the process may write files of {:.1} MiB only: raise the limit (`ulimit -f`) to {:.0} MiB",
            mib(limit),
            mib(MIN_FILE_BYTES)
        ));
    }
    let most = wanted.min(free / SHARE).min(limit.unwrap_or(u64::MAX));
    Ok(most.max(MIN_FILE_BYTES) >> 20 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_a_quarter_of_what_is_free_and_keeps_to_limits() {
        const GB: u64 = 1 << 30;
        assert_eq!(choose(100 * GB, None, GB), Ok(GB));
        assert_eq!(choose(GB, None, GB), Ok(GB / 4));
        assert_eq!(choose(100 * GB, Some(50_000_000), GB), Ok(47 << 20));
        assert!(
            choose(50 << 20, None, GB)
                .unwrap_err()
                .contains("only 50.0 MiB are free")
        );
        assert!(
            choose(GB, Some(1 << 20), GB)
                .unwrap_err()
                .contains("ulimit")
        );
    }
}
