//! Looking at datasets before training on them: the registry, what a source holds, some of its documents, its statistics.

mod documents;
mod info;
mod lengths;
mod list;
mod network;
mod rate;
mod stats;

pub use documents::{Documents, ShownDocument};
pub use info::{DatasetInfo, Estimate, FileInfo, SourceInfo};
pub use lengths::{LengthRange, Lengths};
pub use list::{DatasetList, ListedDataset};
pub use network::Network;
pub use rate::Rate;
pub use stats::DatasetStats;
