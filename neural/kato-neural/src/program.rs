//! What every program that trains shows and prints, and how it ends.

mod bar;
mod cost;
mod ending;
mod failure;
mod output;
mod pictures;
mod settings;
mod training;

pub use bar::TrainingBar;
pub use cost::say_cost;
pub use ending::{Ended, end, end_in_words, on_threads};
pub use failure::{CommandFailure, HasClass};
pub use output::{refuse_inputs, say, say_json, tell};
pub use pictures::EpochPictures;
pub use settings::{
    SettingFlag, command_settings, setting_flag, setting_switch, settings_table, wrong_setting,
};
pub use training::{EndedTraining, exit_codes, say_largest_batch};
