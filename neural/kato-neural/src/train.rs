//! Training: what is trained, one step, and the way through all epochs.

mod event;
mod fit;
mod gather;
mod options;
mod parts;
mod prefetch;
mod task;
mod trainer;

pub use event::{Batches, Ending, FitEvent, FitReport, Observer};
pub use gather::{Encoded, Gather};
pub use options::{FitOptions, StepPlace, TrainerOptions};
pub use prefetch::{BatchSource, Prefetched};
pub use task::{Loss, Share, Task};
pub use trainer::{StepReport, Trainer};
