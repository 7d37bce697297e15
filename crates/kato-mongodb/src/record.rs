//! The record of a run: where the run lies, what is committed, and who may write.

mod checkpoint_parts;
mod collections;
mod lease;
mod manifest;
mod open_run;
mod run_record;

pub(crate) use self::checkpoint_parts::CheckpointParts;
pub(crate) use self::collections::{
    APPLIED, DOCUMENTS, JOURNAL, RUN, RUN_SUFFIX, VECTORS, run_database,
};
pub(crate) use self::lease::{Lease, acquire, is_alive, new_lease, renew_while_open};
pub(crate) use self::manifest::{read_manifest, write_manifest};
pub(crate) use self::open_run::OpenRun;
pub(crate) use self::run_record::{
    Action, FORMAT, NodeEntry, Owner, Pending, RunRecord, StagedRecord, read_record, records,
};
