#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! Start with [`Probe::on`], give clones of the [`Probe`] to the pipeline, and read it with
//! [`Probe::read`], which returns a [`Reading`].
//!
//! | mark | says |
//! |---|---|
//! | [`Probe::thread`] | this thread works for a stage |
//! | [`set`], [`during`], [`waiting`] | it is busy, starved of input, or blocked on something |
//! | [`add_items`] | how much the stage has done |
//! | [`Probe::queue`] | how many items are in a queue between two stages |
//! | [`Probe::node`] | what a node learns, and how long a learn call takes |
//! | [`Probe::calls`] | round trips to a server, also from async code |
//!
//! A pipeline without threads of its own has them from [`in_order`]. What the whole process uses and may use, [`process`] reads, whether a probe is on or off.
//!
//! [`set`]: thread::set
//! [`during`]: thread::during
//! [`waiting`]: thread::waiting
//! [`add_items`]: thread::add_items

mod calls;
mod histogram;
mod in_order;
mod node;
mod probe;
pub mod process;
mod queue;
pub mod reading;
mod state;
pub mod thread;

pub use calls::{CallProbe, CallTimer};
pub use histogram::LatencyHistogram;
pub use in_order::in_order;
pub use node::NodeProbe;
pub use probe::Probe;
pub use queue::QueueProbe;
pub use reading::Reading;
pub use state::{ThreadState, Wait};
