//! The memory that the process has for itself.

use std::fs;

/// Returns the bytes of memory that the process has for itself; `None` where the system does not
/// tell.
///
/// Pages of files that are mapped are not counted where they can be told apart: the system takes
/// them back when it needs them, so writing what was learned would not help against them.
pub(crate) fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok();
    status.as_deref().and_then(own).or_else(|| {
        let memory = memory_stats::memory_stats()?;
        Some(memory.physical_mem as u64)
    })
}

/// Returns the bytes that a text like `/proc/self/status` counts as anonymous or shared memory.
fn own(status: &str) -> Option<u64> {
    let kibibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let anonymous = kibibytes("RssAnon:")?;
    anonymous
        .checked_add(kibibytes("RssShmem:").unwrap_or(0))?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_mapped_do_not_count() {
        let status = "Name:\tkato\nVmRSS:\t  900 kB\nRssAnon:\t  200 kB\nRssFile:\t  690 kB\nRssShmem:\t 10 kB\n";
        assert_eq!(own(status), Some(210 << 10));
        assert_eq!(own("VmRSS:\t  900 kB\n"), None);
        assert_eq!(own("RssAnon:\t many kB\n"), None);
    }

    #[test]
    fn this_process_has_some() {
        // A page, as every process, and less than all memory of any machine.
        assert!(resident_memory().is_some_and(|bytes| (1 << 12..1 << 50).contains(&bytes)));
    }
}
