//! The control groups of a process: what they use, and the limits that hold.

mod mount;

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
    pub fn of_process(root: impl AsRef<Path>) -> Option<Self> {
        Self::read(root).ok().flatten()
    }

    /// Returns the control groups of this process, or `None` where there are none.
    ///
    /// `root` is the directory that stands for `/`.
    ///
    /// # Errors
    ///
    /// When the system has control groups and does not let this process read where they are.
    pub fn read(root: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let root = root.as_ref();
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
        is_it.then(|| super::mountinfo::path(path))
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
/// assert_eq!(kato_probe::process::count_cpus("0-3,8"), Some(5));
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
mod tests;
