#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`Cgroups::of_process`] has the limits. [`peak_bytes`], [`processor_seconds`] and [`available_bytes`]
//! tell what was used and what is left. [`count_cpus`] reads lists of processors, which other files of
//! the kernel hold too.

mod cgroups;
pub mod mountinfo;
mod usage;

pub use cgroups::{Cgroups, count_cpus};
pub use usage::{
    available_bytes, peak_bytes, processor_seconds, processor_seconds_of_ended, processor_ticks,
};
