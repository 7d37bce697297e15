//! Facts that the operating system reports, without measuring.

pub(crate) mod cpu;
pub(crate) mod disks;
pub(crate) mod gpu;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod mounts;
pub(crate) mod network;
pub(crate) mod tool;
pub(crate) mod virtualization;
