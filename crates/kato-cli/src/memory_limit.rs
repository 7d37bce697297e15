//! The memory that the machine has and that the process may use at most, as far as the system says.

use std::path::Path;

use kato_cgroup::Cgroups;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Returns the bytes of memory that the process may use: those of the machine, of its container, or
/// of its address space, whichever is least; `None` where the system tells none of them.
pub(crate) fn memory_limit() -> Option<u64> {
    let container = Cgroups::of_process(Path::new("/"));
    let container = container.as_ref().and_then(Cgroups::memory_limit);
    let limits = [machine_memory(), container, address_space()];
    limits.into_iter().flatten().min()
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
    fn this_machine_has_some_memory() {
        let limit = memory_limit().unwrap();
        assert!(limit > 1 << 20 && limit <= machine_memory().unwrap());
    }
}
