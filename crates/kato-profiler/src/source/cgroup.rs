//! Limits and use of the process's control groups, version 1 and 2.

use std::path::{Path, PathBuf};

use kato_cgroup::{Cgroups, Group, parse_cpu_max, parse_limit};

use super::parse::{Files, field, pressure};
use crate::snapshot::PressureSnapshot;

/// The control groups that the process is in; none where there are none.
#[derive(Debug, Default)]
pub(crate) struct Cgroup(Option<Cgroups>);

/// No limit, as version 1 says it: the largest multiple of the page size, whatever that is.
const UNLIMITED: u64 = 1 << 60;

impl Cgroup {
    /// Looks them up; `root` is where the system's files begin.
    pub(crate) fn find(root: &Path) -> Self {
        Self(Cgroups::of_process(root))
    }

    fn unified(&self) -> Option<&Group> {
        self.0.as_ref()?.unified()
    }

    /// Version 1's.
    fn memory_group(&self) -> Option<&Path> {
        Some(self.0.as_ref()?.memory()?.dir())
    }

    /// Version 1's.
    fn cpu_group(&self) -> Option<&Path> {
        Some(self.0.as_ref()?.cpu()?.dir())
    }

    /// Bytes in use, without page cache that can be dropped, and the lowest limit of the group and those above it.
    pub(crate) fn memory(&self, files: &mut Files) -> (Option<u64>, Option<u64>) {
        if let Some(group) = self.memory_group() {
            let usage = files.number(&group.join("memory.usage_in_bytes"));
            let stat = files.read(&group.join("memory.stat"));
            let inactive = stat.and_then(|stat| field(stat, "total_inactive_file "));
            let limit = stat.and_then(|stat| field(stat, "hierarchical_memory_limit "));
            return (
                usage.map(|usage| usage.saturating_sub(inactive.unwrap_or(0))),
                limit.filter(|limit| *limit < UNLIMITED),
            );
        }
        let Some(group) = self.unified().map(Group::dir) else {
            return (None, None);
        };
        let usage = files.number(&group.join("memory.current"));
        let inactive = files
            .read(&group.join("memory.stat"))
            .and_then(|stat| field(stat, "inactive_file "));
        let limit = self.lowest(|dir| parse_limit(files.read(&dir.join("memory.max"))?));
        (
            usage.map(|usage| usage.saturating_sub(inactive.unwrap_or(0))),
            limit,
        )
    }

    /// Cores that the quota allows.
    pub(crate) fn quota_cores(&self, files: &mut Files) -> Option<f64> {
        if let Some(group) = self.cpu_group() {
            let quota = files.number(&group.join("cpu.cfs_quota_us"))?;
            let period = files.number(&group.join("cpu.cfs_period_us"))?;
            return (period > 0).then(|| quota as f64 / period as f64);
        }
        self.lowest(|dir| parse_cpu_max(files.read(&dir.join("cpu.max"))?))
    }

    /// Seconds for which the quota held the group back.
    pub(crate) fn throttled_seconds(&self, files: &mut Files) -> Option<f64> {
        if let Some(group) = self.cpu_group() {
            let nanos = field(files.read(&group.join("cpu.stat"))?, "throttled_time ")?;
            return Some(nanos as f64 * 1e-9);
        }
        let stat = files.read(&self.unified()?.dir().join("cpu.stat"))?;
        Some(field(stat, "throttled_usec ")? as f64 * 1e-6)
    }

    /// Pressure within the group; version 2 only.
    pub(crate) fn pressure(&self, files: &mut Files) -> Option<PressureSnapshot> {
        let group = self.unified()?.dir();
        pressure_of(files, |kind| group.join(format!("{kind}.pressure")))
    }

    /// The lowest of what the unified group and those above it say.
    fn lowest<T: PartialOrd>(&self, value: impl FnMut(&Path) -> Option<T>) -> Option<T> {
        let values = self.unified()?.lineage().filter_map(value);
        values.reduce(|lowest, next| if next < lowest { next } else { lowest })
    }
}

/// Reads the three pressure files; `None` if there is none of them.
pub(crate) fn pressure_of(
    files: &mut Files,
    path: impl Fn(&str) -> PathBuf,
) -> Option<PressureSnapshot> {
    let mut read = |kind| files.read(&path(kind)).map_or((None, None), pressure);
    let (cpu_some, _) = read("cpu");
    let (io_some, io_full) = read("io");
    let (memory_some, memory_full) = read("memory");
    let found = PressureSnapshot {
        cpu_some,
        io_some,
        io_full,
        memory_some,
        memory_full,
    };
    (found != PressureSnapshot::default()).then_some(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn version_2_takes_the_lowest_limit_on_the_way_up() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/a/b/cgroup.controllers", "cpu memory"),
            ("sys/fs/cgroup/a/cgroup.controllers", "cpu memory"),
            ("sys/fs/cgroup/a/b/memory.current", "5000\n"),
            (
                "sys/fs/cgroup/a/b/memory.stat",
                "anon 1\ninactive_file 1000\n",
            ),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "9000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
            (
                "sys/fs/cgroup/a/b/cpu.stat",
                "usage_usec 7\nthrottled_usec 2500000\n",
            ),
            (
                "sys/fs/cgroup/a/b/memory.pressure",
                "some avg10=0 total=1000000\n",
            ),
        ]);
        let files = &mut Files::default();
        let group = Cgroup::find(root.path());
        assert_eq!(group.memory(files), (Some(4000), Some(9000)));
        assert_eq!(group.quota_cores(files), Some(1.5));
        assert_eq!(group.throttled_seconds(files), Some(2.5));
        let pressure = group.pressure(files).unwrap();
        assert_eq!((pressure.memory_some, pressure.io_some), (Some(1.0), None));
    }

    #[test]
    fn version_1_knows_its_limit_and_quota() {
        let root = tree(&[
            ("proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/x\n0::/\n"),
            (
                "proc/self/mountinfo",
                "35 31 0:31 / /cg/memory rw - cgroup cgroup rw,memory\n\
                 32 31 0:29 /x /cg/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("cg/memory/x/memory.usage_in_bytes", "700\n"),
            (
                "cg/memory/x/memory.stat",
                "hierarchical_memory_limit 1000\ntotal_inactive_file 200\n",
            ),
            ("cg/cpu/cpu.cfs_quota_us", "50000\n"),
            ("cg/cpu/cpu.cfs_period_us", "100000\n"),
            (
                "cg/cpu/cpu.stat",
                "nr_periods 1\nthrottled_time 3000000000\n",
            ),
        ]);
        let files = &mut Files::default();
        let group = Cgroup::find(root.path());
        assert_eq!(group.memory(files), (Some(500), Some(1000)));
        assert_eq!(group.quota_cores(files), Some(0.5));
        assert_eq!(group.throttled_seconds(files), Some(3.0));
        assert_eq!(group.pressure(files), None);
    }

    #[test]
    fn without_groups_nothing_is_known() {
        let root = tree(&[("proc/self/cgroup", "")]);
        let files = &mut Files::default();
        let group = Cgroup::find(root.path());
        assert_eq!(group.memory(files), (None, None));
        assert_eq!(group.quota_cores(files), None);
        assert_eq!(group.throttled_seconds(files), None);
        assert_eq!(group.pressure(files), None);
    }
}
