//! Exactly-once application of one bulk of upserts: in a transaction, or with a journal of what was
//! there before.

use std::sync::Arc;

use kato_store::StoreError;

use super::bulk::{Bulk, BulkContext};
use super::journal::apply_by_journal;
use super::transaction::apply_by_transaction;
use crate::connection::Counters;
use crate::guard::Guard;

/// Applies a bulk, unless it is applied already.
pub(super) async fn apply(context: Arc<BulkContext>, bulk: Bulk) -> Result<(), StoreError> {
    match context.guard {
        Guard::Journal => apply_by_journal(&context, &bulk).await?,
        Guard::Auto | Guard::Transaction => apply_by_transaction(&context, &bulk).await?,
    }
    Counters::add(&context.server.counters.bulks, 1);
    Counters::add(&context.server.counters.upserts, bulk.changes.len() as u64);
    Ok(())
}
