//! Application of a bulk and the note that it is applied, in one transaction.

use std::collections::HashMap;

use kato_store::StoreError;
use mongodb::ClientSession;
use mongodb::bson::{RawDocumentBuf, doc, rawdoc};
use mongodb::options::{ReadConcern, TransactionOptions};

use super::bulk::{Bulk, BulkContext, compute};
use super::document_change::DocumentChange;
use crate::connection::{Counters, DUPLICATE_KEY, OperationError, durable};
use crate::record::{APPLIED, RUN};

/// The result of an attempt.
enum Outcome {
    Applied,
    /// An earlier attempt had applied the bulk.
    AlreadyApplied,
    /// A sum does not fit into the integers of the database.
    Overflow,
}

/// Applies a bulk in a transaction, repeated for as long as the server may answer.
pub(super) async fn apply_by_transaction(
    context: &BulkContext,
    bulk: &Bulk,
) -> Result<(), StoreError> {
    let server = &context.server;
    let mut session = context.sessions.take(server).await?;
    // Increments need no reading and are enough for ordinary counts. `read_first` means to read
    // every document and to write sums that saturate.
    let mut read_first = bulk.changes.iter().any(DocumentChange::is_large);
    let outcome = loop {
        // One session for all attempts: a new transaction in it ends one that a lost connection
        // left behind. `retry` runs them one after the other, so the lock is always free.
        let shared = tokio::sync::Mutex::new(&mut session);
        let attempt = || async {
            let mut session = shared.lock().await;
            let outcome = transaction(context, bulk, read_first, &mut session).await;
            if !matches!(outcome, Ok(Outcome::Applied)) {
                // The next transaction of the session ends it anyway; this frees its documents
                // sooner.
                let _ = session.abort_transaction().await;
            }
            outcome
        };
        match server.retry("apply a commit", attempt).await {
            Ok(Outcome::Overflow) => read_first = true,
            outcome => break outcome,
        }
    };
    // Also after an error: the record of the run names these sessions, and the next writer can end
    // no others.
    context.sessions.put(session);
    if let Outcome::AlreadyApplied = outcome? {
        Counters::add(&server.counters.replays, 1);
    }
    Ok(())
}

/// Makes one attempt: checks the ownership of the run, notes the bulk, writes it, and commits.
async fn transaction(
    context: &BulkContext,
    bulk: &Bulk,
    read_first: bool,
    session: &mut ClientSession,
) -> Result<Outcome, OperationError> {
    const BAD_VALUE: i32 = 2;

    let server = &context.server;
    let options = TransactionOptions::builder()
        .read_concern(ReadConcern::snapshot())
        .write_concern(durable())
        .build();
    session.start_transaction().with_options(options).await?;
    // Reads the record in the same snapshot: a writer that lost its lease, however long ago,
    // applies nothing. Nor does one whose commit is finished, which is when the notes go.
    let ours = doc! {"_id": RUN, "owner.id": context.lease.id, "pending.token": context.token};
    let records = server.collection(&context.run, RUN);
    let found = records.find_one(ours).projection(doc! {"_id": 1});
    if found.session(&mut *session).await?.is_none() {
        return Err(context.lease_lost().into());
    }
    // The note comes first: a bulk that is applied already costs one insert, and of two attempts at
    // the same time one fails here.
    let marker = rawdoc! {"insert": APPLIED, "documents": [{"_id": bulk.id.as_str()}]};
    match server.write(&context.run, marker, Some(session)).await {
        Err(failure) if failure.code() == Some(DUPLICATE_KEY) => {
            return Ok(Outcome::AlreadyApplied);
        }
        written => written?,
    };
    let held = held(context, bulk, read_first, session).await?;
    let commands = compute(|| {
        let target = |change: &DocumentChange| {
            let must_read = read_first || change.needs_merging();
            must_read
                .then(|| context.target(bulk, change, &held))
                .transpose()
        };
        let targets = bulk.changes.iter().map(target);
        let targets = targets.collect::<Result<Vec<_>, StoreError>>()?;
        Ok::<_, StoreError>(bulk.commands(false, |idx, change, out| {
            match &targets[idx] {
                Some(target) => change.write_target(target, out),
                None => change.write_increment(context.subtract, out),
            }
            true
        }))
    })?;
    for command in commands {
        let written = server
            .write(&bulk.database, command.body, Some(session))
            .await;
        match written {
            // The server refuses an increment that leaves its 64-bit integers.
            Err(OperationError::Write { code, .. }) if !read_first && code == BAD_VALUE => {
                return Ok(Outcome::Overflow);
            }
            written => written?,
        };
    }
    commit(session).await?;
    Ok(Outcome::Applied)
}

/// Returns the documents that have to be read before they are written, by key.
async fn held(
    context: &BulkContext,
    bulk: &Bulk,
    read_first: bool,
    session: &mut ClientSession,
) -> Result<HashMap<String, RawDocumentBuf>, OperationError> {
    let keys = bulk.keys(|change| read_first || change.needs_merging());
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let collection = context.server.collection(&bulk.database, bulk.collection());
    let find = collection.find(bulk.filter(&keys));
    let mut cursor = find.session(&mut *session).await?;
    let mut documents = Vec::new();
    while let Some(document) = cursor.next(&mut *session).await {
        documents.push(document?);
    }
    Ok(bulk.by_key(documents))
}

/// Commits the transaction; asks again while the outcome is unknown, which servers take for the
/// same commit.
async fn commit(session: &mut ClientSession) -> Result<(), OperationError> {
    const ATTEMPTS: usize = 3;

    let mut attempt = 1;
    loop {
        match session.commit_transaction().await {
            // Behind the last attempt `retry` begins a new transaction, which finds the note if
            // this one was committed after all.
            Err(error)
                if attempt < ATTEMPTS
                    && error.contains_label(mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT) =>
            {
                attempt += 1;
            }
            done => return Ok(done?),
        }
    }
}
