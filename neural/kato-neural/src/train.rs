//! Training: what is trained, one step, and the way through all epochs.

mod event;
mod fit;
mod options;
mod parts;
mod task;
mod trainer;

pub use event::{Batches, Ending, Event, FitReport, Observer};
pub use options::{FitOptions, Place, TrainerOptions};
pub use task::{Loss, Share, Task};
pub use trainer::{StepReport, Trainer};
