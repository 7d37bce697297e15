//! The views of `kato datasets`: the registry, what a source holds, some of its documents, its
//! statistics.

mod documents;
mod info;
mod lengths;
mod list;
mod network;
mod rate;
mod stats;

pub(crate) use documents::Documents;
pub(crate) use info::DatasetInfo;
pub(crate) use list::DatasetList;
pub(crate) use rate::Rate;
pub(crate) use stats::DatasetStats;
