//! Linux: reads procfs and the control groups, with one reused buffer and no scan over all
//! processes.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kato_probe::process::{Cgroups, count_cpus};

use super::ResourceSource;
use super::parse::{Files, core, device, field, stat_fields};
use super::pressure::pressure_of;
use crate::snapshot::{
    CpuSnapshot, DiskSnapshot, MemorySnapshot, NetworkSnapshot, ProcessSnapshot, ResourceSnapshot,
    ThreadSnapshot,
};

/// Threads and descendants beyond these numbers are not read, so that a reading stays cheap.
const MAX_TASKS: usize = 128;
const MAX_CHILDREN: usize = 64;

/// A source that reads `/proc` and the control groups of the process.
#[derive(Debug)]
pub struct LinuxSource {
    proc: PathBuf,
    files: Files,
    groups: Option<Cgroups>,
    /// Major and minor number of the watched path's device.
    device: Option<(u64, u64)>,
    ticks_per_second: f64,
    page_size: u64,
    /// Tasks of the process, and its descendants; kept between readings to reuse their memory.
    tasks: Vec<u32>,
    children: Vec<u32>,
    /// Whether the kernel lists children; one may be built without.
    lists_children: bool,
}

impl LinuxSource {
    /// Creates a source for this process; `watched` is a path on the disk of interest.
    #[must_use]
    pub fn new(watched: Option<&Path>) -> Self {
        Self::with_root(Path::new("/"), watched)
    }

    /// Creates a source that finds `/proc` and the control groups below `root`.
    fn with_root(root: &Path, watched: Option<&Path>) -> Self {
        let proc = root.join("proc");
        let device = watched.and_then(|path| std::fs::metadata(path).ok());
        Self {
            groups: Cgroups::of_process(root),
            proc,
            // The path may not exist yet, or lie on a file system without a device of its own; then
            // there are no figures of the device.
            files: Files::default(),
            device: device.map(|metadata| {
                let device = metadata.dev();
                (
                    u64::from(rustix::fs::major(device)),
                    u64::from(rustix::fs::minor(device)),
                )
            }),
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
            page_size: rustix::param::page_size() as u64,
            tasks: Vec::new(),
            children: Vec::new(),
            lists_children: false,
        }
    }

    /// Lists the tasks of the process and the descendants; returns false if there are more tasks
    /// than are read.
    fn list_tasks(&mut self) -> bool {
        self.tasks.clear();
        self.children.clear();
        self.lists_children = false;
        let Ok(entries) = std::fs::read_dir(self.proc.join("self/task")) else {
            return false;
        };
        let mut entries = entries.flatten();
        for entry in entries.by_ref().take(MAX_TASKS) {
            if let Some(tid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            {
                self.tasks.push(tid);
            }
        }
        // The kernel lists children by the thread that started them. The list is cloned because
        // reading borrows the whole source.
        for tid in self.tasks.clone() {
            // A thread that has ended meanwhile has no list, so one that has is enough.
            self.lists_children |= self.add_children(&format!("self/task/{tid}/children"));
        }
        // Descendants of descendants: those that the main thread of each has started. The list
        // grows while it is read.
        let mut at = 0;
        while let Some(pid) = self.children.get(at).copied() {
            self.add_children(&format!("{pid}/task/{pid}/children"));
            at += 1;
        }
        entries.next().is_none()
    }

    /// Appends the processes of a `children` file, as far as there is room; returns whether there is
    /// such a file.
    fn add_children(&mut self, file: &str) -> bool {
        let Some(text) = self.files.read(&self.proc.join(file)) else {
            return false;
        };
        let room = MAX_CHILDREN - self.children.len().min(MAX_CHILDREN);
        let pids = text.split_ascii_whitespace().map(str::parse::<u32>);
        self.children.extend(pids.map_while(Result::ok).take(room));
        true
    }

    /// Returns the memory figures; what descendants hold is summed up.
    fn memory(&mut self, own_rss: Option<u64>) -> MemorySnapshot {
        let page_size = self.page_size;
        let mut children = 0;
        for pid in &self.children {
            let statm = self.files.read(&self.proc.join(format!("{pid}/statm")));
            // The second figure of `statm` is the resident set, in pages. A process that has ended
            // counts nothing.
            let pages = statm.and_then(|text| text.split_ascii_whitespace().nth(1)?.parse().ok());
            children += pages.unwrap_or(0) * page_size;
        }
        let info = self.files.read(&self.proc.join("meminfo"));
        // The kernel writes `kB` and means KiB.
        let kib = |key| Some(field(info?, key)? * 1024);
        let (system_total, system_available) = (kib("MemTotal:"), kib("MemAvailable:"));
        let groups = self.groups.as_ref();
        MemorySnapshot {
            process_rss: own_rss,
            tree_rss: own_rss
                .filter(|_| self.lists_children)
                .map(|own| own + children),
            system_used: system_total
                .zip(system_available)
                .map(|(total, available)| total.saturating_sub(available)),
            system_available,
            system_total,
            cgroup_used: groups.and_then(Cgroups::memory_used),
            cgroup_limit: groups.and_then(Cgroups::memory_limit),
        }
    }

    /// Returns the processor figures.
    fn cpu(&mut self, affinity: Option<u64>) -> CpuSnapshot {
        let ticks_per_second = self.ticks_per_second;
        let mut children = 0.0;
        for pid in &self.children {
            let stat = self.files.read(&self.proc.join(format!("{pid}/stat")));
            let ticks = stat.and_then(|stat| {
                // Fields 14 and 15 of proc(5), user and kernel time. The first field here is the
                // third there.
                let mut fields = stat_fields(stat)?.skip(11);
                let (user, kernel): (f64, f64) =
                    (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
                Some(user + kernel)
            });
            children += ticks.unwrap_or(0.0) / ticks_per_second;
        }
        let stat = self.files.read(&self.proc.join("stat")).unwrap_or_default();
        let cores: Vec<_> = stat
            // The line `cpu` without a number is the sum of the others.
            .lines()
            .filter(|line| {
                line.strip_prefix("cpu")
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })
            .filter_map(|line| core(line, ticks_per_second))
            .collect();
        // In nanoseconds, where `stat` counts in ticks, usually of a hundredth of a second.
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let groups = self.groups.as_ref();
        let quota = groups.and_then(Cgroups::cpu_quota);
        // An affinity may name cores that the machine does not have.
        let affinity = affinity.map(|allowed| match cores.len() {
            0 => allowed as f64,
            there => allowed.min(there as u64) as f64,
        });
        CpuSnapshot {
            process_seconds: Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9),
            children_seconds: self.lists_children.then_some(children),
            // Both limits hold, so the smaller one counts.
            allowed_cores: match (affinity, quota) {
                (Some(affinity), Some(quota)) => Some(affinity.min(quota)),
                (affinity, quota) => affinity.or(quota),
            },
            cores,
            throttled_seconds: groups.and_then(Cgroups::throttled_seconds),
        }
    }

    /// Returns the disk figures.
    fn disk(&mut self) -> DiskSnapshot {
        let mut snapshot = DiskSnapshot::default();
        // Figures of descendants that have ended are included in the process's own.
        let own = std::iter::once("self/io".to_owned());
        let children = self.children.iter().map(|pid| format!("{pid}/io"));
        for file in own.chain(children) {
            let Some(text) = self.files.read(&self.proc.join(file)) else {
                continue;
            };
            // A file that may not be read adds nothing; a figure is known if any file has it.
            let add = |sum: &mut Option<u64>, key| {
                if let Some(value) = field(text, key) {
                    *sum = Some(sum.unwrap_or(0) + value);
                }
            };
            add(&mut snapshot.read_bytes, "read_bytes:");
            add(&mut snapshot.written_bytes, "write_bytes:");
            add(&mut snapshot.read_calls, "syscr:");
            add(&mut snapshot.write_calls, "syscw:");
        }
        snapshot.device = self.device.and_then(|numbers| {
            let text = self.files.read(&self.proc.join("diskstats"))?;
            text.lines().find_map(|line| device(line, numbers))
        });
        snapshot
    }

    /// Returns the network figures.
    fn network(&mut self) -> NetworkSnapshot {
        let Some(text) = self.files.read(&self.proc.join("net/dev")) else {
            return NetworkSnapshot::default();
        };
        let (mut received, mut sent) = (0, 0);
        for line in text.lines() {
            let Some((name, figures)) = line.split_once(':') else {
                continue;
            };
            // Eight columns of received data, then those of sent data; each begins with the bytes.
            // The first `next` comes before `nth`, as the tuple is evaluated from left to right.
            let mut figures = figures.split_ascii_whitespace().map(str::parse::<u64>);
            if let (false, Some(Ok(into)), Some(Ok(out))) =
                (name.trim() == "lo", figures.next(), figures.nth(7))
            {
                received += into;
                sent += out;
            }
        }
        NetworkSnapshot {
            received_bytes: Some(received),
            sent_bytes: Some(sent),
        }
    }

    /// Returns the process, its resident set, and the number of cores it may run on.
    fn process(&mut self, all_tasks: bool) -> (ProcessSnapshot, Option<u64>, Option<u64>) {
        let status = self.files.read(&self.proc.join("self/status"));
        let rss = status.and_then(|text| Some(field(text, "VmRSS:")? * 1024));
        let threads = status.and_then(|text| field(text, "Threads:"));
        let affinity = status.and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            count_cpus(line)
        });
        let stat = self.files.read(&self.proc.join("self/stat"));
        // Field 12 of proc(5), counted as above.
        let major_faults = stat.and_then(|stat| stat_fields(stat)?.nth(9)?.parse().ok());
        let open_files = std::fs::read_dir(self.proc.join("self/fd")).ok();
        // The sum over a part of the threads would look like a total, so it is left out.
        let mut switches = all_tasks.then_some((0, 0));
        for tid in &self.tasks {
            let text = self
                .files
                .read(&self.proc.join(format!("self/task/{tid}/status")));
            let found = text.and_then(|text| {
                Some((
                    field(text, "voluntary_ctxt_switches:")?,
                    field(text, "nonvoluntary_ctxt_switches:")?,
                ))
            });
            if let (Some(sums), Some(found)) = (&mut switches, found) {
                *sums = (sums.0 + found.0, sums.1 + found.1);
            }
        }
        let process = ProcessSnapshot {
            // The directory itself is open while it is read.
            open_files: open_files.map(|entries| (entries.count() as u64).saturating_sub(1)),
            threads,
            children: (all_tasks && self.lists_children).then_some(self.children.len() as u64),
            major_faults,
            voluntary_switches: switches.map(|(voluntary, _)| voluntary),
            involuntary_switches: switches.map(|(_, involuntary)| involuntary),
        };
        (process, rss, affinity)
    }

    /// Returns the figures of a thread; `None` if it has ended.
    fn thread(&mut self, tid: u32) -> Option<ThreadSnapshot> {
        let folder = self.proc.join(format!("self/task/{tid}"));
        let stat = self.files.read(&folder.join("stat"))?;
        let state = stat_fields(stat).and_then(|mut fields| fields.next()?.chars().next());
        let times = self.files.read(&folder.join("schedstat")).and_then(|text| {
            // Time on a processor and time waiting for one, in nanoseconds.
            let mut nanos = text.split_ascii_whitespace().map(str::parse::<u64>);
            Some((nanos.next()?.ok()?, nanos.next()?.ok()?))
        });
        let waits_in = self.files.read(&folder.join("wchan")).map(str::to_owned);
        Some(ThreadSnapshot {
            tid,
            cpu_seconds: times.map(|(cpu, _)| cpu as f64 * 1e-9),
            run_delay_seconds: times.map(|(_, delay)| delay as f64 * 1e-9),
            state,
            // "0" stands for a thread that runs, and for a kernel that does not show where threads
            // wait.
            waits_in: waits_in.filter(|name| !name.is_empty() && name != "0"),
        })
    }
}

impl ResourceSource for LinuxSource {
    fn read(&mut self, threads: &[u32]) -> ResourceSnapshot {
        // First, because the figures below go through these lists.
        let all_tasks = self.list_tasks();
        let (process, rss, affinity) = self.process(all_tasks);
        let proc = self.proc.clone();
        let group = self.groups.as_ref().and_then(Cgroups::unified);
        let cgroup_pressure = group.and_then(|group| {
            pressure_of(&mut self.files, |kind| {
                group.join(format!("{kind}.pressure"))
            })
        });
        ResourceSnapshot {
            seconds: 0.0,
            memory: self.memory(rss),
            cpu: self.cpu(affinity),
            disk: self.disk(),
            network: self.network(),
            pressure: pressure_of(&mut self.files, |kind| proc.join("pressure").join(kind)),
            cgroup_pressure,
            process,
            threads: threads
                .iter()
                .take(MAX_TASKS)
                .filter_map(|tid| self.thread(*tid))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_read() {
        let mut source = LinuxSource::new(Some(&std::env::temp_dir()));
        let tid = std::fs::read_link("/proc/thread-self").unwrap();
        let tid: u32 = tid.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let snapshot = source.read(&[tid, u32::MAX]);
        assert!(snapshot.memory.process_rss.unwrap() > 100_000);
        let (tree, own) = (snapshot.memory.tree_rss, snapshot.memory.process_rss);
        assert!(tree.is_none_or(|tree| tree >= own.unwrap()));
        assert!(snapshot.memory.system_total.unwrap() > snapshot.memory.system_used.unwrap());
        assert!(snapshot.cpu.process_seconds.unwrap() > 0.0);
        assert!(snapshot.cpu.allowed_cores.unwrap() > 0.0);
        assert!(!snapshot.cpu.cores.is_empty());
        assert!(snapshot.process.threads.unwrap() >= 1);
        assert!(snapshot.process.open_files.unwrap() >= 1);
        assert_eq!(snapshot.threads.len(), 1, "the other thread does not exist");
        assert!(snapshot.threads[0].cpu_seconds.unwrap() > 0.0);
    }

    #[test]
    fn what_is_not_there_is_none_and_never_zero() {
        let root = tempfile::tempdir().unwrap();
        let snapshot = LinuxSource::with_root(root.path(), None).read(&[1]);
        assert_eq!(snapshot.memory, MemorySnapshot::default());
        assert_eq!(snapshot.disk, DiskSnapshot::default());
        assert_eq!(snapshot.network, NetworkSnapshot::default());
        assert_eq!(snapshot.process.threads, None);
        assert_eq!(snapshot.process.open_files, None);
        assert_eq!(snapshot.process.children, None);
        assert_eq!(snapshot.cpu.children_seconds, None);
        assert_eq!(snapshot.pressure, None);
        assert_eq!(snapshot.cpu.allowed_cores, None);
        assert!(snapshot.threads.is_empty());
    }

    #[test]
    fn descendants_are_unknown_where_the_kernel_lists_none() {
        let root = tempfile::tempdir().unwrap();
        let process = root.path().join("proc/self");
        let task = process.join("task/7");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(process.join("status"), "VmRSS:\t12 kB\n").unwrap();
        let read = || {
            let snapshot = LinuxSource::with_root(root.path(), None).read(&[]);
            assert_eq!(snapshot.memory.process_rss, Some(12 * 1024));
            (
                snapshot.process.children,
                snapshot.cpu.children_seconds,
                snapshot.memory.tree_rss,
            )
        };
        assert_eq!(read(), (None, None, None));
        std::fs::write(task.join("children"), "").unwrap();
        assert_eq!(read(), (Some(0), Some(0.0), Some(12 * 1024)));
    }

    #[test]
    fn a_child_counts_with_its_memory() {
        if !Path::new("/proc/self/task").exists() {
            return;
        }
        let mut child = std::process::Command::new("sleep")
            .arg("5")
            .spawn()
            .unwrap();
        let snapshot = LinuxSource::new(None).read(&[]);
        child.kill().unwrap();
        child.wait().unwrap();
        let pid = std::process::id();
        if Path::new(&format!("/proc/self/task/{pid}/children")).exists() {
            assert!(snapshot.process.children.unwrap() >= 1);
            assert!(snapshot.memory.tree_rss > snapshot.memory.process_rss);
        }
    }
}
