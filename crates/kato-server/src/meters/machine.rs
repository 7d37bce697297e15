//! Sampling of the machine's load.

use sysinfo::{DiskRefreshKind, Disks, MemoryRefreshKind, RefreshKind, System};

/// The load of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Machine {
    pub(crate) cpu_percent: f64,
    pub(crate) memory_percent: f64,
    pub(crate) memory_bytes: u64,
    /// Of the fullest disk.
    pub(crate) disk_percent: f64,
    pub(crate) load_average: Option<f64>,
}

/// Reads the load; that of the processors is since the last reading.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    system: Option<System>,
    disks: Option<Disks>,
}

impl Sampler {
    /// Creates a sampler. Lists the disks, which may block.
    pub(crate) fn new() -> Self {
        let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let disks = DiskRefreshKind::nothing().with_storage();
        Self {
            system: System::new_with_specifics(what).ok(),
            disks: Disks::new_with_refreshed_list_specifics(disks).ok(),
        }
    }

    /// Reads the load. What the system does not tell is 0.
    pub(crate) fn read(&mut self) -> Machine {
        let mut machine = Machine {
            load_average: System::load_average().ok().map(|load| load.one),
            ..Machine::default()
        };
        if let Some(system) = &mut self.system {
            system.refresh_cpu_usage();
            system.refresh_memory();
            machine.cpu_percent = rounded(f64::from(system.global_cpu_usage()));
            machine.memory_bytes = system.used_memory();
            machine.memory_percent = percent(system.used_memory(), system.total_memory());
        }
        if let Some(disks) = &mut self.disks {
            disks.refresh_specifics(false, DiskRefreshKind::nothing().with_storage());
            let used = |disk: &sysinfo::Disk| {
                percent(
                    disk.total_space().saturating_sub(disk.available_space()),
                    disk.total_space(),
                )
            };
            machine.disk_percent = disks.iter().map(used).fold(0.0, f64::max);
        }
        machine
    }
}

/// Returns a part in percent, 0 if there is no whole.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        rounded(part as f64 / whole as f64 * 100.0)
    }
}

/// Rounds to one digit after the point, as KATO has it.
fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}
