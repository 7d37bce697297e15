#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`Cgroups::of_process`]. [`count_cpus`] reads lists of processors, which other files
//! of the kernel hold too.

mod mount;
pub mod mountinfo;

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use self::mount::Mount;

/// The control groups of a process.
///
/// A controller belongs to one hierarchy at a time, so on a system with both versions a figure is
/// found in one of them only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroups {
    /// The group in version 2's unified hierarchy.
    unified: Option<Group>,
    /// The groups of version 1, one hierarchy for each controller.
    memory: Option<Group>,
    cpu: Option<Group>,
    cpuset: Option<Group>,
}

/// A group, with the place where its hierarchy is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    mount: PathBuf,
    dir: PathBuf,
}

impl Group {
    /// Returns the directories of the group and of those above it, up to the mount: a limit of each
    /// holds for all below it.
    fn ancestors(&self) -> impl Iterator<Item = &Path> {
        self.dir
            .ancestors()
            .take_while(|dir| dir.starts_with(&self.mount))
    }

    /// Returns the smallest limit of the group and those above it; files that are missing or hold
    /// no limit are left out.
    fn min_limit<T: PartialOrd>(
        &self,
        file: &str,
        parse: impl Fn(&Path, &str) -> Option<T>,
    ) -> Option<T> {
        self.ancestors()
            .filter_map(|dir| parse(dir, &fs::read_to_string(dir.join(file)).ok()?))
            // `min` wants a total order, which processors as `f64` do not have.
            .reduce(|least, next| if next < least { next } else { least })
    }
}

impl Cgroups {
    /// Returns the control groups of this process, or `None` where there are none, or where they
    /// cannot be read.
    ///
    /// `root` is the directory that stands for `/`.
    #[must_use]
    pub fn of_process(root: &Path) -> Option<Self> {
        Self::read(root).ok().flatten()
    }

    /// Returns the control groups of this process, or `None` where there are none.
    ///
    /// `root` is the directory that stands for `/`.
    ///
    /// # Errors
    ///
    /// When the system has control groups and does not let this process read where they are.
    pub fn read(root: &Path) -> io::Result<Option<Self>> {
        // Bytes and not text: what others have mounted, and where, may have any name.
        let memberships = match fs::read(root.join("proc/self/cgroup")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            memberships => memberships?,
        };
        let mounts = fs::read(root.join("proc/self/mountinfo"))?;
        let mounts = mount::visible(&mounts);
        let find = |controller| find(root, &memberships, &mounts, controller);
        let groups = Self {
            unified: find(None),
            memory: find(Some("memory")),
            cpu: find(Some("cpu")),
            cpuset: find(Some("cpuset")),
        };
        let any = [&groups.unified, &groups.memory, &groups.cpu, &groups.cpuset];
        Ok(any.iter().any(|group| group.is_some()).then_some(groups))
    }

    /// Returns the directory of the group in version 2's unified hierarchy.
    #[must_use]
    pub fn unified(&self) -> Option<&Path> {
        Some(&self.unified.as_ref()?.dir)
    }

    /// Returns the memory in use, in bytes, without page cache that can be dropped; `None` where
    /// that is not counted.
    #[must_use]
    pub fn memory_used(&self) -> Option<u64> {
        // As `docker stats` does, inactive file pages are left out: the kernel takes them back
        // before it lets an allocation fail. Version 1 counts a group without its children unless
        // the name begins with `total_`; version 2 always counts both, as the usage does.
        let v1 = (
            self.memory.as_ref(),
            "memory.usage_in_bytes",
            "total_inactive_file",
        );
        let v2 = (self.unified.as_ref(), "memory.current", "inactive_file");
        let (group, used, droppable) = if v1.0.is_some() { v1 } else { v2 };
        let read = |file| fs::read_to_string(group?.dir.join(file)).ok();
        let used: u64 = read(used)?.trim().parse().ok()?;
        let droppable = read("memory.stat").and_then(|stat| counter(&stat, droppable));
        // The two files are read one after the other, and the counts move in between.
        Some(used.saturating_sub(droppable.unwrap_or(0)))
    }

    /// Returns the memory that the groups may use, in bytes; `None` without a limit.
    #[must_use]
    pub fn memory_limit(&self) -> Option<u64> {
        let v2 = self.unified.as_ref();
        let v2 = v2.and_then(|group| group.min_limit("memory.max", |_, text| parse_limit(text)));
        let v1 = self.memory.as_ref();
        // In a container, groups above its own are not mounted: their limit shows only in
        // `memory.stat`.
        let own = v1.and_then(|group| {
            group.min_limit("memory.limit_in_bytes", |_, text| parse_limit(text))
        });
        let above = v1.and_then(|group| {
            let stat = fs::read_to_string(group.dir.join("memory.stat")).ok()?;
            limit(counter(&stat, "hierarchical_memory_limit")?)
        });
        least(least(own, above), v2)
    }

    /// Returns the processor time that the groups may use, in processors; `None` without a quota.
    #[must_use]
    pub fn cpu_quota(&self) -> Option<f64> {
        let v2 = self.unified.as_ref();
        let v2 = v2.and_then(|group| group.min_limit("cpu.max", |_, text| parse_cpu_max(text)));
        let v1 = self.cpu.as_ref().and_then(|group| {
            group.min_limit("cpu.cfs_quota_us", |dir, quota| {
                // Each group has a period of its own, so the quotas are compared as shares and not
                // as times.
                let period = fs::read_to_string(dir.join("cpu.cfs_period_us")).ok()?;
                quota_in_cores(quota.trim(), period.trim())
            })
        });
        least(v1, v2)
    }

    /// Returns the number of processors that the groups may run on; `None` where that is not
    /// listed.
    #[must_use]
    pub fn cpuset(&self) -> Option<u64> {
        let v2 = self.unified.as_ref();
        let v2 = v2
            .and_then(|group| group.min_limit("cpuset.cpus.effective", |_, text| count_cpus(text)));
        let v1 = self.cpuset.as_ref();
        let v1 = v1.and_then(|group| group.min_limit("cpuset.cpus", |_, text| count_cpus(text)));
        least(v1, v2)
    }

    /// Returns for how long a quota has held the group back, in seconds; `None` where that is not
    /// counted.
    #[must_use]
    pub fn throttled_seconds(&self) -> Option<f64> {
        parse_throttled(&fs::read_to_string(self.cpu_stat()?).ok()?)
    }

    /// Returns the file that counts for how long the group was held back, or `None` where there is
    /// none.
    fn cpu_stat(&self) -> Option<PathBuf> {
        // Version 1 first: in a unified hierarchy `cpu.stat` exists without the controller too, and
        // then counts no throttling.
        let groups = [self.cpu.as_ref(), self.unified.as_ref()];
        let mut files = groups.into_iter().flatten();
        files.find_map(|group| {
            let file = group.dir.join("cpu.stat");
            file.is_file().then_some(file)
        })
    }

    /// Returns `v1`, `v2`, or `v1 and v2` where controllers are spread over both.
    #[must_use]
    pub fn version(&self) -> &'static str {
        let v1 = [&self.memory, &self.cpu, &self.cpuset];
        let v1 = v1.iter().any(|group| group.is_some());
        // Systems with version 1 mount a unified hierarchy beside it that may have no controller.
        let unified = self.unified.as_ref();
        let controllers = unified
            .and_then(|group| fs::read_to_string(group.mount.join("cgroup.controllers")).ok())
            .is_some_and(|controllers| !controllers.trim().is_empty());
        match (v1, controllers) {
            (true, true) => "v1 and v2",
            (true, false) => "v1",
            (false, _) => "v2",
        }
    }

    /// Returns the group paths in a text like `/proc/self/cgroup`, by which a container can be
    /// recognised.
    ///
    /// Container runtimes name their groups after themselves and their containers.
    pub fn paths(memberships: &str) -> impl Iterator<Item = &str> {
        memberships
            .lines()
            .filter_map(|line| line.splitn(3, ':').nth(2))
    }
}

/// Returns the smaller of two limits, of which either may be absent.
fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Finds the group of a controller in version 1, or of the unified hierarchy without one.
///
/// `memberships` has the form of `/proc/self/cgroup`.
fn find(
    root: &Path,
    memberships: &[u8],
    mounts: &[Mount],
    controller: Option<&str>,
) -> Option<Group> {
    // Lines are `ID:CONTROLLERS:PATH` (cgroups(7)). The path comes last and may hold colons.
    let path = memberships.split(|byte| *byte == b'\n').find_map(|line| {
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match controller {
            None => id == b"0" && controllers.is_empty(),
            // Controllers may share a hierarchy, as in `cpu,cpuacct`.
            Some(controller) => controllers
                .split(|byte| *byte == b',')
                .any(|name| name == controller.as_bytes()),
        };
        is_it.then(|| mountinfo::path(path))
    })?;
    let mut mounts: Vec<&Mount> = mounts
        .iter()
        .filter(|mount| mount.is_of(controller))
        .collect();
    // A hierarchy may be mounted in several places, each of which shows what is below its own
    // root. That which shows the group and most of those above it is asked first.
    mounts.sort_by_key(|mount| mount.root.components().count());
    // Joining an absolute path would put it in the place of `root`.
    let place = |mount: &Mount| match mount.point.strip_prefix("/") {
        Ok(point) => root.join(point),
        Err(_) => root.join(&mount.point),
    };
    let shown = mounts.iter().find_map(|mount| {
        let below = path.strip_prefix(&mount.root).ok()?;
        // A path out of a namespace leads up, and no mount shows what is there.
        let leads_up = below.components().any(|part| part == Component::ParentDir);
        let dir = place(mount).join(below);
        (!leads_up && dir.is_dir()).then(|| Group {
            mount: place(mount),
            dir,
        })
    });
    // Inside a container the path may lead out of all that is mounted: what there is then is the
    // container's own group, and stands at the top of a mount.
    shown.or_else(|| {
        let mount = place(mounts.first()?);
        Some(Group {
            dir: mount.clone(),
            mount,
        })
    })
}

/// Parses a number of bytes, or returns `None` for `max`.
fn parse_limit(text: &str) -> Option<u64> {
    limit(text.trim().parse().ok()?)
}

/// Returns `None` for what version 1 writes in place of no limit, the largest number of whole
/// pages.
fn limit(bytes: u64) -> Option<u64> {
    // How large that is depends on the size of a page; no machine has 2⁶⁰ bytes.
    (bytes < 1 << 60).then_some(bytes)
}

/// Parses version 2's `QUOTA PERIOD`, in microseconds.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    quota_in_cores(quota, period)
}

/// Returns a quota in processors; `max` (version 2) and -1 (version 1) are no quota.
fn quota_in_cores(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Returns the number behind a name that begins a line.
fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|line| line.0 == name)?.1.trim().parse().ok()
}

/// Returns the time for which the group was held back, in seconds.
fn parse_throttled(counters: &str) -> Option<f64> {
    // Version 2 counts microseconds, version 1 nanoseconds. An `f64` counts nanoseconds exactly for
    // a hundred days.
    let in_units_of = |name, unit| Some(counter(counters, name)? as f64 * unit);
    in_units_of("throttled_usec", 1e-6).or_else(|| in_units_of("throttled_time", 1e-9))
}

/// Returns the number of processors in a list such as `0-3,8`, or `None` where it names none.
///
/// ```
/// assert_eq!(kato_cgroup::count_cpus("0-3,8"), Some(5));
/// ```
#[must_use]
pub fn count_cpus(list: &str) -> Option<u64> {
    let count: Option<u64> = list
        .trim()
        .split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            // Checked, as the list may hold anything: a range that runs backwards, or up to
            // `u64::MAX`.
            last.checked_sub(first)?.checked_add(1)
        })
        .try_fold(0u64, |sum, count| sum.checked_add(count?));
    count.filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files as Linux shows it.
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
    fn mounts_and_groups_may_have_blanks_in_their_names() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/my group/job\n"),
            (
                "proc/self/mountinfo",
                "30 24 0:26 /my\\040group /mnt/c\\040g rw - cgroup2 cgroup2 rw\n",
            ),
            ("mnt/c g/job/memory.max", "4096\n"),
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), Some(4096));
    }

    #[test]
    fn version_2_takes_the_smallest_limit_on_the_way_up() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/user.slice/job\n"),
            (
                "proc/self/mountinfo",
                "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "4294967296\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user.slice/job/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n"),
            (
                "sys/fs/cgroup/user.slice/job/cpu.stat",
                "throttled_usec 0\n",
            ),
            (
                "sys/fs/cgroup/user.slice/job/cpuset.cpus.effective",
                "0-3,8\n",
            ),
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), Some(4 << 30));
        assert_eq!(groups.cpu_quota(), Some(1.5));
        assert_eq!(groups.cpuset(), Some(5));
        assert_eq!(groups.version(), "v2");
        assert!(groups.cpu_stat().unwrap().ends_with("job/cpu.stat"));
    }

    #[test]
    fn version_1_has_a_hierarchy_a_controller() {
        let root = tree(&[
            (
                "proc/self/cgroup",
                "4:memory:/docker/abc\n3:cpuset:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
            ),
            (
                "proc/self/mountinfo",
                "31 1 0:1 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                 32 1 0:2 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n\
                 33 1 0:3 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n\
                 34 1 0:4 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpuset/cpuset.cpus", "1\n"),
            ("sys/fs/cgroup/unified/cgroup.controllers", "\n"),
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), Some(512 << 20));
        assert_eq!(groups.cpu_quota(), Some(0.5));
        assert_eq!(groups.cpuset(), Some(1));
        assert_eq!(groups.version(), "v1");
    }

    #[test]
    fn no_limit_is_none() {
        let root = tree(&[
            ("proc/self/cgroup", "4:memory:/\n2:cpu:/\n"),
            (
                "proc/self/mountinfo",
                "31 1 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 32 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
            ),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), None);
        assert_eq!(groups.cpu_quota(), None);
        assert!(Cgroups::of_process(&root.path().join("nowhere")).is_none());
    }

    #[test]
    fn lists_of_processors_are_counted() {
        let cases = [
            ("0-3,8\n", Some(5)),
            ("7", Some(1)),
            ("0", Some(1)),
            ("", None),
            ("3-1", None),
            ("0-18446744073709551615", None),
            ("a", None),
        ];
        for (list, count) in cases {
            assert_eq!(count_cpus(list), count, "{list}");
        }
    }

    #[test]
    fn both_versions_count_throttling() {
        let v2 = "usage_usec 10\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1500000\n";
        let v1 = "nr_periods 4\nnr_throttled 2\nthrottled_time 1500000000\n";
        assert_eq!(parse_throttled(v2), Some(1.5));
        assert_eq!(parse_throttled(v1), Some(1.5));
        assert_eq!(parse_throttled("usage_usec 10\n"), None);
    }

    #[test]
    fn version_2_tells_what_is_used_and_held_back() {
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
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(
            (groups.memory_used(), groups.memory_limit()),
            (Some(4000), Some(9000))
        );
        assert_eq!(groups.cpu_quota(), Some(1.5));
        assert_eq!(groups.throttled_seconds(), Some(2.5));
        assert!(groups.unified().unwrap().ends_with("a/b"));
    }

    #[test]
    fn version_1_tells_what_is_used_and_the_limit_above_the_mount() {
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
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(
            (groups.memory_used(), groups.memory_limit()),
            (Some(500), Some(1000))
        );
        assert_eq!(groups.cpu_quota(), Some(0.5));
        assert_eq!(groups.throttled_seconds(), Some(3.0));
        assert_eq!(groups.unified(), None);
    }

    #[test]
    fn without_groups_nothing_is_known() {
        let root = tree(&[("proc/self/cgroup", ""), ("proc/self/mountinfo", "")]);
        assert_eq!(Cgroups::read(root.path()).unwrap(), None);
        let root = tree(&[]);
        assert_eq!(Cgroups::read(root.path()).unwrap(), None);
    }

    #[test]
    fn groups_that_cannot_be_read_are_not_taken_for_none() {
        let root = tree(&[("proc/self/cgroup", "0::/\n")]);
        assert!(Cgroups::read(root.path()).is_err());
        assert_eq!(Cgroups::of_process(root.path()), None);
    }

    /// What others have mounted may have any name, and so may a group on Unix.
    #[cfg(unix)]
    #[test]
    fn names_of_any_bytes_hide_no_limit() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let root = tree(&[]);
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let write = |path: &[u8], text: &[u8]| {
            let path = root.path().join(OsStr::from_bytes(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(b"proc/self/cgroup", b"0::/caf\xe9/job\n");
        write(
            b"proc/self/mountinfo",
            b"30 24 0:26 / /cg\xff rw - cgroup2 cgroup2 rw\n\
              99 24 0:44 / /media/Donn\xe9es rw - ext4 /dev/sdb1 rw\n",
        );
        write(b"cg\xff/caf\xe9/job/memory.max", b"4096\n");
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), Some(4096));
    }

    /// Mounts of one hierarchy, each with what it shows: the limit of the process is 1000.
    #[test]
    fn of_several_mounts_the_one_that_shows_the_group_is_taken() {
        let whole = "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
        let other = "28 24 0:26 /other/pod /rootfs/cg ro - cgroup2 cgroup2 rw\n";
        let own = "29 24 0:26 /pod/app /own ro - cgroup2 cgroup2 rw\n";
        let alike = "27 24 0:26 /po /alike ro - cgroup2 cgroup2 rw\n";
        let hidden = "31 24 0:26 / /hidden rw - cgroup2 cgroup2 rw\n\
                      32 24 0:99 / /hidden rw - tmpfs tmpfs rw\n";
        let orders: [&[&str]; 6] = [
            &[other, whole],
            &[whole, other],
            &[own, other, whole],
            &[alike, hidden, own, other, whole],
            &[hidden, whole, own],
            &[alike, other, hidden, own],
        ];
        for order in orders {
            let root = tree(&[
                ("proc/self/cgroup", "0::/pod/app\n"),
                ("proc/self/mountinfo", &order.concat()),
                ("rootfs/cg/memory.max", "77\n"),
                ("cg/pod/app/memory.max", "max\n"),
                ("cg/pod/memory.max", "1000\n"),
                ("own/memory.max", "1000\n"),
                ("alike/d/app/memory.max", "5\n"),
                ("hidden/pod/app/memory.max", "6\n"),
            ]);
            let groups = Cgroups::of_process(root.path()).unwrap();
            assert_eq!(groups.memory_limit(), Some(1000), "{order:?}");
        }
    }

    #[test]
    fn a_path_out_of_the_namespace_stays_within_the_mount() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/../up\n"),
            (
                "proc/self/mountinfo",
                "30 24 0:26 / /cg/here rw - cgroup2 cgroup2 rw\n",
            ),
            ("cg/here/memory.max", "2000\n"),
            ("cg/up/memory.max", "3\n"),
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), Some(2000));
    }
}
