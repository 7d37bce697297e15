//! Platforms without procfs: the figures that the `sysinfo` crate can read there.

use sysinfo::{Networks, Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::ResourceSource;
use crate::snapshot::{
    CpuSnapshot, DiskSnapshot, MemorySnapshot, NetworkSnapshot, ResourceSnapshot,
};

/// A source that reads through `sysinfo`: memory, processor time and disk bytes of the process,
/// memory and network bytes of the machine.
#[derive(Debug)]
pub struct PortableSource {
    pid: Option<Pid>,
    system: Option<System>,
    networks: Option<Networks>,
}

impl PortableSource {
    /// Creates a source for this process.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pid: sysinfo::get_current_pid().ok(),
            system: System::new().ok(),
            networks: Networks::new_with_refreshed_list().ok(),
        }
    }

    /// Returns the network figures.
    fn network(&mut self) -> NetworkSnapshot {
        let Some(networks) = &mut self.networks else {
            return NetworkSnapshot::default();
        };
        networks.refresh(false);
        let (mut received, mut sent) = (0, 0);
        for (name, network) in networks.iter() {
            // Loopback is `lo0` on BSD and macOS.
            if !name.to_string_lossy().starts_with("lo") {
                received += network.total_received();
                sent += network.total_transmitted();
            }
        }
        NetworkSnapshot {
            received_bytes: Some(received),
            sent_bytes: Some(sent),
        }
    }
}

impl Default for PortableSource {
    fn default() -> Self {
        Self::new()
    }
}

impl ResourceSource for PortableSource {
    fn read(&mut self, _threads: &[u32]) -> ResourceSnapshot {
        let network = self.network();
        let Some(system) = &mut self.system else {
            return ResourceSnapshot {
                network,
                ..ResourceSnapshot::default()
            };
        };
        system.refresh_memory();
        if let Some(pid) = self.pid {
            // Only what is used, of this process only: a scan over all processes would be slow.
            let what = ProcessRefreshKind::nothing()
                .with_cpu()
                .with_memory()
                .with_disk_usage();
            system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
        }
        let process = self.pid.and_then(|pid| system.process(pid));
        let disk = process.map(sysinfo::Process::disk_usage);
        // `sysinfo` returns 0 for what it cannot read.
        let total = Some(system.total_memory()).filter(|bytes| *bytes > 0);
        ResourceSnapshot {
            memory: MemorySnapshot {
                process_rss: process.map(sysinfo::Process::memory),
                system_used: total.map(|_| system.used_memory()),
                system_available: total.map(|_| system.available_memory()),
                system_total: total,
                ..MemorySnapshot::default()
            },
            cpu: CpuSnapshot {
                // `sysinfo` counts in milliseconds.
                process_seconds: process.map(|p| p.accumulated_cpu_time() as f64 * 1e-3),
                allowed_cores: std::thread::available_parallelism()
                    .ok()
                    .map(|cores| cores.get() as f64),
                ..CpuSnapshot::default()
            },
            disk: DiskSnapshot {
                read_bytes: disk.map(|disk| disk.total_read_bytes),
                written_bytes: disk.map(|disk| disk.total_written_bytes),
                ..DiskSnapshot::default()
            },
            network,
            ..ResourceSnapshot::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_processor_time_are_known_everywhere() {
        let snapshot = PortableSource::new().read(&[]);
        assert!(snapshot.memory.process_rss.unwrap() > 100_000);
        assert!(snapshot.cpu.process_seconds.is_some());
        assert!(snapshot.memory.share_used().unwrap() > 0.0);
        assert_eq!(snapshot.pressure, None);
    }
}
