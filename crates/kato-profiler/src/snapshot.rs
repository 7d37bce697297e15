//! The resources that a machine and a process have used, at one moment.

use serde::{Deserialize, Serialize};

/// Everything read at one moment. Counters are totals: the difference of two snapshots is what happened
/// between them, as far as threads and descendants live on. What could not be read is `None`; of a
/// descendant it adds nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceSnapshot {
    /// Seconds since the profile began.
    pub seconds: f64,
    /// Memory, in bytes.
    pub memory: MemorySnapshot,
    /// Processor time.
    pub cpu: CpuSnapshot,
    /// Bytes and operations of disks.
    pub disk: DiskSnapshot,
    /// Bytes of all network interfaces but loopback.
    pub network: NetworkSnapshot,
    /// Pressure on the whole machine.
    pub pressure: Option<PressureSnapshot>,
    /// Pressure within the process's cgroup.
    pub cgroup_pressure: Option<PressureSnapshot>,
    /// The files and threads of the process, and how often these were switched.
    pub process: ProcessSnapshot,
    /// The threads asked for, those of the first 128 that could be read.
    pub threads: Vec<ThreadSnapshot>,
}

/// Memory, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemorySnapshot {
    /// Resident set of the process.
    pub process_rss: Option<u64>,
    /// Resident sets of the process and at most 64 descendants, as far as these can be read; shared pages
    /// count once for each process. Unknown where the kernel does not list descendants.
    pub tree_rss: Option<u64>,
    /// Physical memory in use on the machine: total less available.
    pub system_used: Option<u64>,
    /// Physical memory that is available without swapping.
    pub system_available: Option<u64>,
    /// Physical memory of the machine.
    pub system_total: Option<u64>,
    /// Memory of the cgroup, without page cache that can be dropped.
    pub cgroup_used: Option<u64>,
    /// Limit of the cgroup; `None` also where there is no limit.
    pub cgroup_limit: Option<u64>,
}

impl MemorySnapshot {
    /// Returns the share in use of the memory that the process may have, 0 to 1: of the cgroup's
    /// limit where there is one below the machine's memory and its use is known, of the machine's
    /// memory otherwise.
    #[must_use]
    pub fn share_used(&self) -> Option<f64> {
        let share = |used: u64, total: u64| (total > 0).then(|| used as f64 / total as f64);
        // A limit above the machine's memory is none: the machine is full before.
        let limit = self
            .cgroup_limit
            .filter(|limit| self.system_total.is_none_or(|total| *limit < total));
        match (self.cgroup_used, limit) {
            (Some(used), Some(limit)) => share(used, limit),
            _ => share(self.system_used?, self.system_total?),
        }
    }
}

/// Processor time, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CpuSnapshot {
    /// Of the process, in user and kernel mode.
    pub process_seconds: Option<f64>,
    /// Of the descendants that live, as far as they can be read; unknown where the kernel does not list
    /// them.
    pub children_seconds: Option<f64>,
    /// Number of cores that the process may use: the lesser of its affinity and its cgroup's
    /// quota.
    pub allowed_cores: Option<f64>,
    /// Each core of the machine.
    pub cores: Vec<CoreSnapshot>,
    /// Time for which the cgroup was held back by its quota.
    pub throttled_seconds: Option<f64>,
}

/// A core of the machine, in seconds since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CoreSnapshot {
    /// Time in which it worked for any process.
    pub busy: f64,
    /// Time in which it did nothing.
    pub idle: f64,
    /// Time that a hypervisor gave to others.
    pub steal: f64,
}

/// Disks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskSnapshot {
    /// Bytes that the process and its descendants caused to be read from disks.
    pub read_bytes: Option<u64>,
    /// Bytes that they caused to be written to disks.
    pub written_bytes: Option<u64>,
    /// Their read calls, also those served from memory and those on sockets.
    pub read_calls: Option<u64>,
    /// Their write calls, likewise.
    pub write_calls: Option<u64>,
    /// The device of the watched path, with the use by all processes.
    pub device: Option<DeviceSnapshot>,
}

/// A block device, with the use by all processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceSnapshot {
    /// The kernel's name for it.
    pub name: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Read operations.
    pub reads: u64,
    /// Write operations.
    pub writes: u64,
    /// Seconds in which at least one operation was under way.
    pub busy_seconds: f64,
    /// Flushes, where the kernel counts them.
    pub flushes: Option<u64>,
}

/// Network interfaces of the machine, all but loopback.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkSnapshot {
    /// Bytes received.
    pub received_bytes: Option<u64>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
}

/// Pressure stall information: seconds in which tasks stalled for want of a resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PressureSnapshot {
    /// Some task waited for a processor.
    pub cpu_some: Option<f64>,
    /// Some task waited for a disk.
    pub io_some: Option<f64>,
    /// All tasks waited for a disk.
    pub io_full: Option<f64>,
    /// Some task waited for memory.
    pub memory_some: Option<f64>,
    /// All tasks waited for memory.
    pub memory_full: Option<f64>,
}

/// The process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessSnapshot {
    /// Open files, sockets and pipes.
    pub open_files: Option<u64>,
    /// Its threads.
    pub threads: Option<u64>,
    /// Descendants that live, of which at most 64 are counted; unknown with more than 128 threads, and
    /// where the kernel does not list them.
    pub children: Option<u64>,
    /// Page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// Times that its living threads gave up a processor; unknown with more than 128 threads.
    pub voluntary_switches: Option<u64>,
    /// Times that a processor was taken from them; unknown with more than 128 threads.
    pub involuntary_switches: Option<u64>,
}

/// A thread of the process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadSnapshot {
    /// The kernel's number for it.
    pub tid: u32,
    /// Processor time, in seconds.
    pub cpu_seconds: Option<f64>,
    /// Time for which it could have run but had no processor, in seconds.
    pub run_delay_seconds: Option<f64>,
    /// The kernel's letter for its state: R runs, S sleeps, D waits for a disk, and so on.
    pub state: Option<char>,
    /// The kernel function in which it waits, where that may be read.
    pub waits_in: Option<String>,
}
