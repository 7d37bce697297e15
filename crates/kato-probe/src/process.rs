//! Reads what a process uses on Linux, and the limits that control groups set to its memory and processor
//! time.
//!
//! Take it when a program sizes its caches, buffers or thread pools and must not count on more than its
//! container may use: the machine's memory and processors say nothing about that. Control groups of version
//! 1, of version 2 and of systems that have both are understood.
//!
//! A limit is the smallest one of the process's own group and all groups above it that are mounted, because
//! each of them holds. A value that is not limited, or not counted, is `None`.
//! Nothing but files is read: no command is run, and nothing is changed.
//!
//! ```
//! use std::path::Path;
//!
//! use kato_probe::process::Cgroups;
//!
//! let groups = Cgroups::of_process(Path::new("/"));
//! match groups.as_ref().and_then(Cgroups::memory_limit) {
//!     Some(bytes) => println!("at most {bytes} bytes of memory"),
//!     None => println!("all of the machine's memory"),
//! }
//! ```
//!
//! [`Cgroups::of_process`] has the limits. [`peak_bytes`], [`processor_seconds`] and [`available_bytes`]
//! tell what was used and what is left. [`count_cpus`] reads lists of processors, which other files of
//! the kernel hold too.
//!
//! # Limits
//!
//! - Names of groups and mounts are bytes and need not be UTF-8. Of several mounts of a hierarchy that one
//!   counts which shows the process's own group, with most of those above it. [`Cgroups::read`] tells groups
//!   that cannot be read from none.
//! - Linux only. Elsewhere it compiles, and there are no groups.
//! - Every call reads the files again, those of the groups where [`Cgroups::read`] has found them; nothing
//!   is watched.
//! - Groups above what a container shows are known only where version 1 reports their memory limit.
//! - No other controllers (input and output, numbers of processes, huge pages) are read.

mod cgroups;
pub mod mountinfo;
mod usage;

pub use cgroups::{Cgroups, count_cpus};
pub use usage::{
    available_bytes, peak_bytes, processor_seconds, processor_seconds_of_ended, processor_ticks,
};
