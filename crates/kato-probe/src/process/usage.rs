//! What a process has taken of the machine, and what it can still have.

use std::fs;
use std::path::Path;

use super::Cgroups;

/// Returns the most memory that this process has had resident, mapped files included; `None` where the
/// system does not tell, as all but Linux.
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Returns the memory that this process can still have: what is free, or the limit of its control groups
/// without what its own one uses, whichever is less; `None` where the system does not tell. A group that
/// does not count what it uses is taken to leave all of its limit.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let free = kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let left = Cgroups::of_process(Path::new("/")).and_then(|group| {
        let used = group.memory_used().unwrap_or(0);
        Some(group.memory_limit()?.saturating_sub(used))
    });
    Some(left.map_or(free, |left| left.min(free)))
}

/// Ticks of a second in what Linux tells of processes, on every platform of today.
const TICKS: f64 = 100.0;

/// Returns the seconds that processors have worked for this process, in its own code and in the kernel;
/// `None` where the system does not tell.
#[must_use]
pub fn processor_seconds() -> Option<f64> {
    Some(processor_ticks()? as f64 / TICKS)
}

/// Returns the seconds that processors have worked for the processes that this one has started, that have
/// ended, and that it has waited for; `None` where the system does not tell.
#[must_use]
pub fn processor_seconds_of_ended() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    Some(ticks(&stat, 13)? as f64 / TICKS)
}

/// Returns [`processor_seconds`] as Linux counts them, a hundred ticks a second.
#[must_use]
pub fn processor_ticks() -> Option<u64> {
    ticks(&fs::read_to_string("/proc/self/stat").ok()?, 11)
}

/// Returns two columns of a process's line together, of user and system: behind 11 of those that follow
/// the name its own, behind 13 those of processes it has waited for.
fn ticks(stat: &str, n_before: usize) -> Option<u64> {
    // The name may hold blanks and brackets.
    let (_, columns) = stat.rsplit_once(')')?;
    let mut columns = columns.split_whitespace().skip(n_before);
    let (user, system): (u64, u64) = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    user.checked_add(system)
}

/// Returns the bytes behind a name, which Linux tells in kB of 1024.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value = value.trim().strip_suffix("kB")?.trim();
    value.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_and_memory_taken() {
        let Some(before) = processor_seconds() else {
            return;
        };
        // However long it takes: until the count moves, or the test hangs.
        let mut sum = 0_u64;
        while processor_seconds().is_some_and(|now| now <= before) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(processor_seconds() > Some(before) && peak_bytes() > Some(1 << 20));
        assert!(available_bytes() > Some(0));
    }

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194304 100 0 0 0 25 17 3 4 20 0 4 0 99\n";
        assert_eq!((ticks(stat, 11), ticks(stat, 13)), (Some(42), Some(7)));
        assert_eq!(ticks("42 (a", 11), None);
    }

    #[test]
    fn values_are_found_by_their_names() {
        let text = "Name:\tkato\nVmHWM:\t  123456 kB\nVmRSS: 1 kB\n";
        assert_eq!(kibibytes(text, "VmHWM:"), Some(123_456 * 1024));
        assert_eq!(kibibytes(text, "VmRSS:"), Some(1024));
        assert_eq!(kibibytes(text, "Name:"), None);
        assert_eq!(kibibytes(text, "missing:"), None);
    }
}
