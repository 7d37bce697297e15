//! A plan: what pilots have measured, the laws fitted to it, and what follows for the run.

mod measure;
mod page;
mod room;
mod time;
mod view;

pub(crate) use measure::{Measured, Pilots, fitted, interval, measure};
pub(crate) use page::page;
pub(crate) use room::{Index, MemoryLaw};
pub(crate) use time::{REACH, TimeLaw, beyond, merging};
pub(crate) use view::{Plan, Target, limits, part_bytes, shell};
