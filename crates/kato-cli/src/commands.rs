//! The subcommands, a module each: their flags, their help, and what they do.

pub(crate) mod analyze;
pub(crate) mod bench;
pub(crate) mod cleanup;
#[cfg(feature = "cluster")]
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod corpus;
pub(crate) mod datasets;
pub(crate) mod estimate;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod hardware;
pub(crate) mod history;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod next;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod retire;
pub(crate) mod runs;
pub(crate) mod salvage;
pub(crate) mod score;
pub(crate) mod serve;
pub(crate) mod train;
pub(crate) mod tune;
