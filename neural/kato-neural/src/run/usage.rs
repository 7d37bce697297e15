//! What a process has taken of the machine.

/// Returns the most memory that this process has had resident, as Linux tells it; `None` where the
/// system does not.
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Ticks of a second in what Linux tells of processes, on every platform of today.
const TICKS: f64 = 100.0;

/// Returns the seconds that processors have worked for this process, as Linux tells it; `None` where the
/// system does not.
#[must_use]
pub fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold spaces and brackets; user and system ticks are fields 14 and 15.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let Some(before) = processor_seconds() else {
            return;
        };
        // However long it takes: until the count moves, or the test hangs.
        let mut sum = 0_u64;
        while processor_seconds().is_some_and(|now| now <= before) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(processor_seconds() > Some(before) && peak_bytes() > Some(1 << 20));
    }
}
