//! Memory and swap.

use serde::{Deserialize, Serialize};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::figure::Finding;

/// Memory and swap, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryFacts {
    /// All memory of the machine.
    pub total_bytes: u64,
    /// Memory that programs could get without swapping.
    pub available_bytes: u64,
    /// All swap.
    pub swap_total_bytes: u64,
    /// Swap that is free.
    pub swap_free_bytes: u64,
}

impl MemoryFacts {
    /// Reads memory and swap.
    pub(crate) fn read() -> Finding<Self> {
        let kinds = RefreshKind::nothing().with_memory(MemoryRefreshKind::everything());
        let system = match System::new_with_specifics(kinds) {
            Ok(system) => system,
            Err(error) => {
                return Finding::unknown(format!("the system does not tell its memory: {error}"));
            }
        };
        // The library's value for what it could not read.
        if system.total_memory() == 0 {
            return Finding::unknown("the system does not tell its memory");
        }
        Finding::Known(Self {
            total_bytes: system.total_memory(),
            available_bytes: system.available_memory(),
            swap_total_bytes: system.total_swap(),
            swap_free_bytes: system.free_swap(),
        })
    }
}
