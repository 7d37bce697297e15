//! The memory that the machine has and that the process may use at most, as far as the system says.

use std::path::Path;

use kato_probe::process::Cgroups;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Returns the bytes of memory that the process may use: those of the machine, of its container, or
/// of its address space, whichever is least; `None` where the system tells none of them.
pub(crate) fn memory_limit() -> Option<u64> {
    let limits = [machine_memory(), group_limit(), address_space()];
    limits.into_iter().flatten().min()
}

/// Memory of a run for what is learned and not yet written, where nothing bounds it further.
const LARGEST_BUDGET: u64 = 256 << 20;

/// Returns the memory above which a run slows down by default: three fifths of what the control
/// group allows; `None` where it allows all.
///
/// The rest is for what comes at once: a large document, a merge, tables of the tokenizer, and for
/// the pages of files that the run writes.
#[must_use]
pub(crate) fn default_ceiling() -> Option<u64> {
    group_limit().map(ceiling_within)
}

/// Returns the memory for what is learned and not yet written by default: 256 MiB, or a fifth of
/// what the control group allows, where that is less.
#[must_use]
pub(crate) fn default_budget() -> u64 {
    budget_within(group_limit())
}

/// Returns the memory that the control group allows.
fn group_limit() -> Option<u64> {
    Cgroups::of_process(Path::new("/"))?.memory_limit()
}

/// Returns the ceiling within a limit.
fn ceiling_within(limit: u64) -> u64 {
    // Divided first, so that no limit overflows.
    limit / 5 * 3
}

/// Returns the budget within a limit, if there is one.
fn budget_within(limit: Option<u64>) -> u64 {
    limit.map_or(LARGEST_BUDGET, |limit| LARGEST_BUDGET.min(limit / 5))
}

/// Returns the bytes of memory that the machine has.
pub(crate) fn machine_memory() -> Option<u64> {
    let kinds = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kinds).ok()?;
    // The library's value for what it could not read is 0.
    Some(system.total_memory()).filter(|bytes| *bytes > 0)
}

#[cfg(unix)]
fn address_space() -> Option<u64> {
    let limit = rlimit::Resource::AS.get_soft().ok()?;
    Some(limit).filter(|bytes| *bytes != rlimit::INFINITY)
}

#[cfg(not(unix))]
const fn address_space() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_its_bounds_from_its_group() {
        assert_eq!(ceiling_within(300_000_000), 180_000_000);
        assert_eq!(budget_within(Some(300_000_000)), 60_000_000);
        assert_eq!(budget_within(Some(1 << 40)), 256 << 20);
        assert_eq!(budget_within(None), 256 << 20);
        assert!(ceiling_within(u64::MAX) < u64::MAX);
    }

    #[test]
    fn this_machine_has_some_memory() {
        let limit = memory_limit().unwrap();
        assert!(limit > 1 << 20 && limit <= machine_memory().unwrap());
    }
}
