//! The writer lock: a lease in the run's record, renewed while the store is open.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, doc, serialize_to_bson};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::engine::Engine;
use crate::fault::Fault;
use crate::layout::RUN;
use crate::record::{Owner, RunRecord, read, records};
use crate::server::Server;
use crate::sessions::{Sessions, end};

/// Time for which a writer keeps its lease without renewing it.
const TERM: Duration = Duration::from_secs(30);
/// Time between renewals. Three fit into a term, so one that fails does no harm.
const RENEWAL: Duration = Duration::from_secs(8);

/// Leases that stores of this process hold: the record alone does not show whether such a store is
/// open or was dropped.
static HELD: Mutex<BTreeSet<ObjectId>> = Mutex::new(BTreeSet::new());

/// Returns the leases that stores of this process hold.
fn held() -> MutexGuard<'static, BTreeSet<ObjectId>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lease that a store holds.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) id: ObjectId,
    /// Whether somebody else was found to have taken it over.
    lost: AtomicBool,
    /// The time up to which nobody else can have taken it over.
    until: Mutex<Instant>,
}

impl Lease {
    fn new(id: ObjectId) -> Self {
        held().insert(id);
        Self {
            id,
            lost: AtomicBool::new(false),
            until: Mutex::new(Instant::now() + TERM),
        }
    }

    /// Returns whether nobody can have taken it over. Where the server itself checks the owner this
    /// is not needed.
    pub(crate) fn is_certain(&self) -> bool {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        !self.lost.load(Ordering::Relaxed) && Instant::now() < until
    }

    /// Releases the lease: at once for this process, and for others as soon as the server knows.
    pub(crate) fn release(&self, engine: &Engine, server: &Arc<Server>, database: &str) {
        let (server, database, id) = (Arc::clone(server), database.to_owned(), self.id);
        held().remove(&id);
        // Nobody waits; if it fails, the next writer sees that the process is gone, or the lease
        // run out.
        engine.spawn_to_completion(async move { give_back(&server, &database, id).await });
    }

    /// Releases the lease as [`release`](Self::release) does, and waits until the server knows.
    pub(crate) async fn end(&self, server: &Server, database: &str) {
        held().remove(&self.id);
        give_back(server, database, self.id).await;
    }
}

/// Takes the owner out of the record, unless it is another by then.
async fn give_back(server: &Server, database: &str, id: ObjectId) {
    let records = records(server, database);
    let mine = doc! {"_id": RUN, "owner.id": id};
    let release = records.update_one(mine, doc! {"$set": {"owner": null}});
    // Not needed for safety, so neither repeated nor reported: the lease ends with the process, or
    // with its term.
    let _ = tokio::time::timeout(Duration::from_secs(5), release.into_future()).await;
}

/// Takes the lease of a run.
///
/// # Errors
///
/// [`StoreError::Locked`] while another writer holds it, [`StoreError::Missing`] when there is no
/// run.
pub(crate) async fn acquire(
    server: &Arc<Server>,
    database: &str,
    sessions: &Sessions,
) -> Result<(Lease, RunRecord), StoreError> {
    let id = ObjectId::new();
    loop {
        let missing = || StoreError::Missing {
            path: server.path(database),
        };
        let mut record = read(server, database).await?.ok_or_else(missing)?;
        // By the server's clock, because those of two writers' machines may differ.
        let now = server.hello().await?.now;
        if record
            .owner
            .as_ref()
            .is_some_and(|owner| is_alive(owner, now))
        {
            return Err(StoreError::Locked {
                path: server.path(database),
            });
        }
        let owner = this_process(id, now);
        let before = record.owner.as_ref().map(|owner| owner.id);
        // The condition is what was read, so of two writers who found the run free one gets it. Our
        // own id is in it for an attempt that got through without an answer.
        let filter = match before {
            Some(before) => doc! {"_id": RUN, "owner.id": {"$in": [before, id]}},
            None => doc! {"_id": RUN, "$or": [{"owner": null}, {"owner.id": id}]},
        };
        let update = || async {
            let owner = serialize_to_bson(&owner).map_err(mongodb::error::Error::from)?;
            let records = records(server, database);
            let taken = doc! {"$set": {"owner": owner, "sessions": sessions.ids()}};
            let update = records.update_one(filter.clone(), taken);
            Ok(update.await?.matched_count)
        };
        if server.retry("take the lease of a run", update).await? == 1 {
            let lease = Lease::new(id);
            end(server, &record.sessions).await;
            record.owner = Some(owner);
            // Read again: the writer before may have committed between our reading and our taking.
            if let Some(latest) = read(server, database).await? {
                record = latest;
            }
            return Ok((lease, record));
        }
    }
}

/// Returns a lease, and its entry for a record that is about to be created.
pub(crate) fn new_lease(now: DateTime) -> (Lease, Owner) {
    let lease = Lease::new(ObjectId::new());
    let owner = this_process(lease.id, now);
    (lease, owner)
}

/// Renews a lease until its store is gone or has lost it.
pub(crate) async fn renew_while_open(lease: Weak<Lease>, server: Arc<Server>, database: String) {
    loop {
        tokio::time::sleep(RENEWAL).await;
        let Some(lease) = lease.upgrade() else { return };
        // Taken before asking: the server counts the term from a later moment, so on this side the
        // lease always ends first.
        let asked = Instant::now();
        let renew = async {
            let now = server.hello().await?.now;
            let renew = || async {
                let renewed = records(&server, &database)
                    .update_one(
                        doc! {"_id": RUN, "owner.id": lease.id},
                        doc! {"$set": {"owner.expires": expires(now)}},
                    )
                    .await
                    .map_err(Fault::from)?;
                Ok(renewed.matched_count == 1)
            };
            server.retry("renew the lease of a run", renew).await
        };
        match renew.await {
            Ok(true) => {
                *lease.until.lock().unwrap_or_else(PoisonError::into_inner) = asked + TERM;
            }
            Ok(false) => {
                lease.lost.store(true, Ordering::Relaxed);
                return;
            }
            // Tried again: `is_certain` knows when the term is over.
            Err(error) => tracing::warn!(%error, "the lease is not renewed yet"),
        }
    }
}

/// Returns the end of a term that begins now.
fn expires(now: DateTime) -> DateTime {
    DateTime::from_millis(now.timestamp_millis() + TERM.as_millis() as i64)
}

/// Returns the entry of this process as an owner.
fn this_process(id: ObjectId, now: DateTime) -> Owner {
    let pid = std::process::id();
    Owner {
        id,
        host: host(),
        pid: i64::from(pid),
        started: start_of(pid).unwrap_or_default(),
        expires: expires(now),
    }
}

/// Returns whether an owner may still write: on this host as long as its process runs, elsewhere as
/// long as its lease does.
pub(crate) fn is_alive(owner: &Owner, now: DateTime) -> bool {
    if owner.host != host() {
        return now < owner.expires;
    }
    // On the same host a trainer that was killed can be started again at once, and one that is
    // suspended is not overrun.
    let Ok(pid) = u32::try_from(owner.pid) else {
        return false;
    };
    if pid == std::process::id() {
        return held().contains(&owner.id);
    }
    start_of(pid).is_some_and(|started| started == owner.started)
}

/// Returns the name of this host.
fn host() -> String {
    System::host_name().unwrap_or_default()
}

/// Returns when a process began, in seconds; `None` when there is none.
fn start_of(pid: u32) -> Option<i64> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        true,
        ProcessRefreshKind::nothing(),
    );
    let process = system.process(pid)?;
    // A process that was killed and that its parent has not waited for runs no more.
    let is_gone = matches!(
        process.status(),
        sysinfo::ProcessStatus::Zombie | sysinfo::ProcessStatus::Dead
    );
    (!is_gone).then(|| process.start_time() as i64)
}
