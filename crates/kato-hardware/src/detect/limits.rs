//! Limits below what the hardware has: those of control groups and of the process.

use std::fs;
use std::path::Path;

use kato_probe::process::Cgroups;
use serde::{Deserialize, Serialize};

use crate::figure::Finding;

/// Limits below what the hardware has. `Known(None)` is "no limit".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SystemLimits {
    /// Version of the control groups: `v1`, `v2`, or `v1 and v2`; `None` outside any.
    pub cgroup_version: Finding<Option<String>>,
    /// Memory of the control group, in bytes, the smallest on the way up.
    pub memory_bytes: Finding<Option<u64>>,
    /// Processor time of the control group, in processors.
    pub cpu_quota: Finding<Option<f64>>,
    /// Processors that the control group may run on.
    pub cpuset_cores: Finding<Option<u64>>,
    /// Files that the process may have open (its soft limit).
    pub open_files: Finding<Option<u64>>,
    /// Largest file that the process may write, in bytes (its soft limit).
    pub file_bytes: Finding<Option<u64>>,
    /// Address space of the process, in bytes (its soft limit).
    pub address_space_bytes: Finding<Option<u64>>,
}

impl SystemLimits {
    /// Reads the limits; `root` is the directory in which the system's files begin.
    pub(crate) fn read(root: &Path) -> Self {
        if !root.join("proc/self").exists() {
            return Self::unknown("limits are read from /proc, which only Linux has");
        }
        let groups = Cgroups::read(root)
            .map_err(|error| format!("the control groups of this process cannot be read: {error}"));
        let groups = groups.as_ref().map(Option::as_ref);
        let own = fs::read_to_string(root.join("proc/self/limits"));
        let own = |name| match &own {
            Ok(text) => parse_limit(text, name),
            Err(error) => Finding::unknown(format!("/proc/self/limits cannot be read: {error}")),
        };
        Self {
            cgroup_version: of_groups(groups, |groups| Some(groups.version().to_owned())),
            memory_bytes: of_groups(groups, Cgroups::memory_limit),
            cpu_quota: of_groups(groups, Cgroups::cpu_quota),
            cpuset_cores: of_groups(groups, Cgroups::cpuset),
            open_files: own("Max open files"),
            file_bytes: own("Max file size"),
            address_space_bytes: own("Max address space"),
        }
    }

    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            cgroup_version: Finding::unknown(reason),
            memory_bytes: Finding::unknown(reason),
            cpu_quota: Finding::unknown(reason),
            cpuset_cores: Finding::unknown(reason),
            open_files: Finding::unknown(reason),
            file_bytes: Finding::unknown(reason),
            address_space_bytes: Finding::unknown(reason),
        }
    }
}

/// Returns what the control groups say, if there are any; that they cannot be read is not taken for
/// no limit.
fn of_groups<T>(
    groups: Result<Option<&Cgroups>, &String>,
    limit: impl Fn(&Cgroups) -> Option<T>,
) -> Finding<Option<T>> {
    match groups {
        Ok(groups) => Finding::Known(groups.and_then(limit)),
        Err(reason) => Finding::unknown(reason.clone()),
    }
}

/// Parses the soft limit of a line of `/proc/self/limits`, the first column behind the name.
fn parse_limit(text: &str, name: &str) -> Finding<Option<u64>> {
    let soft = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    match soft.map(|soft| (soft, soft.parse().ok())) {
        Some(("unlimited", _)) => Finding::Known(None),
        Some((_, Some(number))) => Finding::Known(Some(number)),
        _ => Finding::unknown(format!("/proc/self/limits has no \"{name}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits_are_the_first_column() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max file size             unlimited            unlimited            bytes     \n\
                    Max open files            1024                 524288               files     \n";
        assert_eq!(
            parse_limit(text, "Max open files"),
            Finding::Known(Some(1024))
        );
        assert_eq!(parse_limit(text, "Max file size"), Finding::Known(None));
        assert!(parse_limit(text, "Max address space").reason().is_some());
    }

    #[test]
    fn groups_that_cannot_be_read_are_not_taken_for_no_limit() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        assert_eq!(
            SystemLimits::read(root.path()).memory_bytes,
            Finding::Known(None)
        );
        std::fs::write(root.path().join("proc/self/cgroup"), "0::/\n").unwrap();
        assert!(
            SystemLimits::read(root.path())
                .memory_bytes
                .reason()
                .is_some()
        );
    }

    #[test]
    fn a_system_without_proc_has_unknown_limits() {
        let root = tempfile::tempdir().unwrap();
        assert!(
            SystemLimits::read(root.path())
                .memory_bytes
                .reason()
                .is_some()
        );
    }
}
