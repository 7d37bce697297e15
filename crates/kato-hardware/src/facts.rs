//! Facts about a machine: what the system reports of its processor, memory, disks, network and
//! graphics cards, and the limits that hold for this process.

pub use crate::detect::cpu::{CpuCache, CpuFacts};
pub use crate::detect::disks::{DiskFacts, StorageKind};
pub use crate::detect::gpu::{Gpu, Gpus};
pub use crate::detect::limits::SystemLimits;
pub use crate::detect::memory::MemoryFacts;
pub use crate::detect::network::NetworkInterface;
pub use crate::detect::virtualization::Virtualization;
