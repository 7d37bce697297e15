//! What every program that trains keeps of a run: a folder, its files, its lock, its epochs.

mod error;
mod files;
mod folder;
mod history;
mod interrupt;
mod memory;
mod overrides;

pub use error::RunError;
pub use files::{read_json, write_json, write_whole};
pub use folder::RunFolder;
pub use history::{EpochNumber, History};
pub use interrupt::{INTERRUPTED, listen};
pub use memory::peak_bytes;
pub use overrides::{override_setting, parse_value};
