//! What every program that trains keeps of a run: a folder, its files, its lock, its epochs.

mod batch_size;
mod beside;
mod cost;
mod error;
mod files;
mod folder;
mod history;
mod interrupt;
mod observer;
mod overrides;
mod processes;
mod settings;
mod watch;

pub use kato_arrays::temporary;

pub use kato_probe::process::{peak_bytes, processor_seconds, processor_seconds_of_ended};

pub use batch_size::{BatchFound, BatchTrialError, find_batch};
pub use beside::output_unless_interrupted;
pub use cost::RunCost;
pub use error::{RunError, SettingChange, check_setting};
pub use files::{read_json, write_json, write_text, write_whole};
pub use folder::RunFolder;
pub use history::{EpochHistory, EpochNumber};
pub use interrupt::{INTERRUPTED, Signals};
pub use observer::{EndedEpoch, RunObserver, WatchedRun, watch_run};
pub use overrides::{override_setting, parse_value};
pub use processes::{OtherReplicas, ReplicaError, ReplicaProcesses, replica_group};
pub use settings::RunSettings;
pub use watch::{EpochSteps, RunEnding, StepRecord, StepWatch};
