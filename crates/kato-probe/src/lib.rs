//! What the threads of a pipeline are doing, told to whoever profiles; free when nobody does.
//!
//! A library marks its threads and their waits; a profiler reads the sums whenever it likes. Marks are plain atomics of the thread that
//! sets them, so they neither lock nor allocate, and on a thread that belongs to no profiled stage they are one look at a
//! thread-local variable.
//!
//! | mark | says |
//! |---|---|
//! | [`Probe::thread`] | this thread works for a stage |
//! | [`set`], [`during`], [`waiting`] | what it does: busy, starved of input, or blocked, and on what |
//! | [`add_items`] | how much the stage has done |
//! | [`Probe::queue`] | how many items lie between two stages |
//! | [`Probe::node`] | what a node learns, and how long a learn call takes |
//! | [`Probe::calls`] | round trips to a server, also from async code |
//!
//! ```
//! use kato_probe::{Probe, State, Wait};
//!
//! let probe = Probe::on(["load", "learn"]);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let _thread = probe.thread("learn");
//!         kato_probe::set(State::Busy);
//!         {
//!             let _waiting = kato_probe::waiting(Wait::Server);
//!         }
//!         kato_probe::add_items(1);
//!     });
//! });
//! let reading = probe.read().ok_or("the probe is on")?;
//! assert_eq!(reading.stages[1].name, "learn");
//! assert_eq!(reading.stages[1].items, 1);
//! # Ok::<(), &str>(())
//! ```

mod calls;
mod histogram;
mod node;
mod probe;
mod queue;
mod reading;
mod state;
mod thread;

pub use calls::{CallProbe, CallTimer};
pub use histogram::LatencyHistogram;
pub use node::NodeProbe;
pub use probe::Probe;
pub use queue::QueueProbe;
pub use reading::{
    CallReading, NodeReading, QueueReading, Reading, StageReading, StateSeconds, ThreadReading,
};
pub use state::{State, Wait};
pub use thread::{StateGuard, ThreadGuard, add_items, during, set, waiting};
