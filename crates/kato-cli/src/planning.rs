//! A plan: what pilots have measured, the laws fitted to it, and what follows for the run.

mod beside;
mod measure;
mod memory;
mod page;
mod time;
mod view;

pub(crate) use beside::{Beside, Written, usual_index};
pub(crate) use measure::{Measured, Pilots, fitted, interval, measure};
pub(crate) use memory::MemoryLaw;
pub(crate) use page::page;
pub(crate) use time::{REACH, TimeLaw, beyond, merging};
pub(crate) use view::{Plan, Target, limits, part_bytes, shell};
