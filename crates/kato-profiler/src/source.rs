//! The sources of readings of the machine.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod parse;
mod portable;
#[cfg(target_os = "linux")]
mod pressure;

use std::path::Path;

use crate::snapshot::ResourceSnapshot;

#[cfg(target_os = "linux")]
pub use linux::LinuxSource;
pub use portable::PortableSource;

/// A reader of the machine. A profile uses the best source of its platform; tests and replays bring
/// their own.
pub trait ResourceSource: Send {
    /// Reads what can be read at present. `threads` are the threads of interest by their kernel
    /// numbers. The time of the snapshot is set by the caller.
    fn read(&mut self, threads: &[u32]) -> ResourceSnapshot;
}

/// Returns the best source of this platform, with the disk of `watched` as the disk of interest.
pub(crate) fn best(watched: Option<&Path>) -> Box<dyn ResourceSource> {
    #[cfg(target_os = "linux")]
    return Box::new(LinuxSource::new(watched));
    #[cfg(not(target_os = "linux"))]
    {
        // Devices cannot be distinguished here.
        let _ = watched;
        Box::new(PortableSource::new())
    }
}
