//! Parses figures out of the kernel's text files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::snapshot::{CoreSnapshot, DeviceSnapshot};

/// `/proc/diskstats` counts in sectors of this size, whatever that of the device is.
const SECTOR: u64 = 512;

/// A reader of small files that reuses one buffer.
#[derive(Debug, Default)]
pub(crate) struct Files {
    buffer: Vec<u8>,
}

impl Files {
    /// Returns the text of a file; `None` if it cannot be read.
    pub(crate) fn read(&mut self, path: &Path) -> Option<&str> {
        self.buffer.clear();
        // Files of procfs have no size that could be asked for, so they are read to the end.
        File::open(path).ok()?.read_to_end(&mut self.buffer).ok()?;
        str::from_utf8(&self.buffer).ok()
    }
}

/// Returns the number after `key` at the beginning of a line: `VmRSS:   12 kB` is 12.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(key))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Returns the fields of `stat` after the name of the process: the first is the state.
pub(crate) fn stat_fields(text: &str) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    // The name may contain blanks and parentheses; the last parenthesis ends it.
    Some(text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace())
}

/// Returns the seconds stalled, `some` and `full`, of a pressure file.
pub(crate) fn pressure(text: &str) -> (Option<f64>, Option<f64>) {
    let total = |kind: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        // In microseconds.
        let micros: u64 = line.rsplit_once("total=")?.1.trim().parse().ok()?;
        Some(micros as f64 * 1e-6)
    };
    (total("some"), total("full"))
}

/// Parses a line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
pub(crate) fn core(line: &str, ticks_per_second: f64) -> Option<CoreSnapshot> {
    // Guest time comes after these columns; the kernel has counted it as user time already.
    let mut ticks = [0.0; 8];
    for (tick, text) in ticks.iter_mut().zip(line.split_ascii_whitespace().skip(1)) {
        *tick = text.parse::<f64>().ok()? / ticks_per_second;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    Some(CoreSnapshot {
        busy: user + nice + system + irq + softirq,
        // A core that waits for a disk could compute for others, so it is idle.
        idle: idle + iowait,
        steal,
    })
}

/// Parses a line of `/proc/diskstats`, if it is that of the device.
pub(crate) fn device(line: &str, (major, minor): (u64, u64)) -> Option<DeviceSnapshot> {
    let mut fields = line.split_ascii_whitespace();
    if fields.next()?.parse() != Ok(major) || fields.next()?.parse() != Ok(minor) {
        return None;
    }
    let name = fields.next()?.to_owned();
    let figures: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let figure = |at: usize| figures.get(at).copied();
    // Columns by the kernel's iostats.rst. Older kernels do not count flushes, which come last.
    Some(DeviceSnapshot {
        name,
        reads: figure(0)?,
        read_bytes: figure(2)? * SECTOR,
        writes: figure(4)?,
        written_bytes: figure(6)? * SECTOR,
        busy_seconds: figure(9)? as f64 * 1e-3,
        flushes: figure(15),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_the_beginning_of_its_line() {
        let status = "VmPeak:\t  9 kB\nVmRSS:\t  12 kB\n";
        assert_eq!(field(status, "VmRSS:"), Some(12));
        assert_eq!(field(status, "VmSwap:"), None);
    }

    #[test]
    fn the_name_of_a_process_may_hold_brackets_and_blanks() {
        let stat = "12 (a) b (c)) S 1 2";
        assert_eq!(stat_fields(stat).and_then(|mut f| f.next()), Some("S"));
    }

    #[test]
    fn pressure_is_told_in_seconds() {
        let text =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0 total=250000\n";
        assert_eq!(pressure(text), (Some(1.5), Some(0.25)));
        assert_eq!(pressure("some total=1"), (Some(1e-6), None));
    }

    #[test]
    fn a_device_is_told_by_its_numbers() {
        let line = " 254 0 vda 10 1 16 5 20 2 32 7 0 2500 12 0 0 0 0 6 3";
        let found = device(line, (254, 0)).unwrap();
        assert_eq!(
            (found.name.as_str(), found.reads, found.writes),
            ("vda", 10, 20)
        );
        assert_eq!((found.read_bytes, found.written_bytes), (8192, 16384));
        assert_eq!((found.busy_seconds, found.flushes), (2.5, Some(6)));
        assert_eq!(device(line, (254, 1)), None);
    }

    #[test]
    fn a_core_s_time_is_busy_idle_or_stolen() {
        let core = core("cpu0 100 50 25 1000 500 10 15 30 0 0", 100.0).unwrap();
        assert_eq!((core.busy, core.idle, core.steal), (2.0, 15.0, 0.3));
    }
}
