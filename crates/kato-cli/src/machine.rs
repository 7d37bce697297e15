//! The machine that the program runs on: what a history says of it, and what a plan compares with.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use kato_scheduler::workers::MAX_WORKERS;

use crate::memory_limit::machine_memory;

/// The machine as far as it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Model of the processor.
    pub(crate) processor: Option<String>,
    /// Threads that the process may use at once.
    pub(crate) threads: u64,
    /// Bytes of memory.
    pub(crate) memory_bytes: Option<u64>,
}

impl Machine {
    /// Returns this machine.
    #[must_use]
    pub(crate) fn here() -> Self {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            processor: value_of(&processors, "model name").map(str::to_owned),
            threads: threads().get() as u64,
            memory_bytes: machine_memory(),
        }
    }
}

/// Returns the threads that the process may use at once.
pub(crate) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Parses a number of threads, from 1 to as many as a run may have; `auto` is one for each core.
///
/// # Errors
///
/// When the text is no such number.
pub(crate) fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    if text == "auto" {
        return Ok(threads());
    }
    let number = text.parse().ok();
    let number = number.filter(|number: &NonZeroUsize| number.get() <= MAX_WORKERS);
    number.ok_or_else(|| format!("use auto, or a number from 1 to {MAX_WORKERS}"))
}

/// Parses a number of threads, of which there may be none.
///
/// # Errors
///
/// When the text is no such number.
pub(crate) fn parse_threads_or_none(text: &str) -> Result<usize, String> {
    match text {
        "0" => Ok(0),
        text => parse_threads(text)
            .map(NonZeroUsize::get)
            .map_err(|_| format!("use a number from 0 to {MAX_WORKERS}")),
    }
}

/// Returns the bytes that this process may still write to the disk of a directory; `None` where the
/// system does not tell.
#[must_use]
pub(crate) fn free_disk(dir: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(dir).ok()?;
        disk.f_bavail.checked_mul(disk.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = dir;
        None
    }
}

/// Returns the value of the first line with a key.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = values.filter(|(name, _)| name.trim() == key);
    values.next().map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_keys() {
        let text = "Name:\tkato\nVmHWM:\t  123456 kB\nVmRSS: 1 kB\nmodel name\t: Xeon: fast\n";
        assert_eq!(value_of(text, "model name"), Some("Xeon: fast"));
    }
}
