//! The writer lock: a lease in the run's record, renewed while the store is open.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, doc, serialize_to_bson};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::collections::RUN;
use super::run_record::{Owner, RunRecord, read_record, records};
use crate::connection::{Connection, Server, Sessions, end_sessions};

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
    /// Creates a lease whose term begins at a moment before the server was asked for its time: the
    /// server counts from a later moment, so on this side the lease always ends first.
    fn new(id: ObjectId, asked: Instant) -> Self {
        held().insert(id);
        Self {
            id,
            lost: AtomicBool::new(false),
            until: Mutex::new(asked + TERM),
        }
    }

    /// Locks the time up to which nobody else can have taken it over.
    fn until(&self) -> MutexGuard<'_, Instant> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time until the first renewal is due; none when taking the lease took long.
    fn time_to_renewal(&self) -> Duration {
        let left = self.until().saturating_duration_since(Instant::now());
        left.saturating_sub(TERM - RENEWAL)
    }

    /// Returns whether nobody can have taken it over. Where the server itself checks the owner this
    /// is not needed.
    pub(crate) fn is_certain(&self) -> bool {
        !self.lost.load(Ordering::Relaxed) && Instant::now() < *self.until()
    }

    /// Releases the lease: at once for this process, and for others as soon as the server knows.
    pub(crate) fn release(&self, connection: &Connection, database: &str) {
        let server = Arc::clone(connection.server());
        let (database, id) = (database.to_owned(), self.id);
        held().remove(&id);
        // Nobody waits; if it fails, the next writer sees that the process is gone, or the lease
        // run out.
        connection.spawn_to_completion(async move { give_back(&server, &database, id).await });
    }

    /// Releases the lease as [`release`](Self::release) does, and waits until the server knows.
    pub(crate) async fn end(&self, server: &Server, database: &str) {
        held().remove(&self.id);
        give_back(server, database, self.id).await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Also where opening fails behind the taking: this process could not open the run again.
        held().remove(&self.id);
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
            place: server.place_of(&[database]),
        };
        let mut record = read_record(server, database).await?.ok_or_else(missing)?;
        let asked = Instant::now();
        // By the server's clock, because those of two writers' machines may differ.
        let now = server.hello().await?.now;
        if record
            .owner
            .as_ref()
            .is_some_and(|owner| is_alive(owner, now))
        {
            return Err(StoreError::Locked {
                place: server.place_of(&[database]),
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
            let lease = Lease::new(id, asked);
            // Where the answer took so long that nothing of the term is left, somebody else may be
            // the owner by now.
            if !lease.is_certain() && !renew(&lease, server, database).await? {
                continue;
            }
            end_sessions(server, &record.sessions).await;
            record.owner = Some(owner);
            // Read again: the writer before may have committed between our reading and our taking.
            if let Some(latest) = read_record(server, database).await? {
                record = latest;
            }
            return Ok((lease, record));
        }
    }
}

/// Returns a lease, and its entry for a record that is about to be created.
pub(crate) async fn new_lease(server: &Server) -> Result<(Lease, Owner), StoreError> {
    let asked = Instant::now();
    let now = server.hello().await?.now;
    let lease = Lease::new(ObjectId::new(), asked);
    let owner = this_process(lease.id, now);
    Ok((lease, owner))
}

/// Renews a lease until its store is gone or has lost it.
pub(crate) async fn renew_while_open(lease: Weak<Lease>, server: Arc<Server>, database: String) {
    let Some(mut pause) = lease.upgrade().map(|lease| lease.time_to_renewal()) else {
        return;
    };
    loop {
        tokio::time::sleep(pause).await;
        pause = RENEWAL;
        let Some(lease) = lease.upgrade() else { return };
        match renew(&lease, &server, &database).await {
            Ok(true) => {}
            Ok(false) => {
                lease.lost.store(true, Ordering::Relaxed);
                return;
            }
            // Tried again: `is_certain` knows when the term is over.
            Err(error) => tracing::warn!(%error, "the lease is not renewed yet"),
        }
    }
}

/// Renews a lease once; returns `false` when somebody else has taken it over.
async fn renew(lease: &Lease, server: &Server, database: &str) -> Result<bool, StoreError> {
    // Before asking, as in `Lease::new`.
    let asked = Instant::now();
    let now = server.hello().await?.now;
    let update = || async {
        let mine = doc! {"_id": RUN, "owner.id": lease.id};
        let renewed = doc! {"$set": {"owner.expires": expires(now)}};
        let records = records(server, database);
        let update = records.update_one(mine, renewed);
        Ok(update.await?.matched_count == 1)
    };
    let is_ours = server.retry("renew the lease of a run", update).await?;
    if is_ours {
        *lease.until() = asked + TERM;
    }
    Ok(is_ours)
}

/// Returns the end of a term that begins now.
fn expires(now: DateTime) -> DateTime {
    let term = i64::try_from(TERM.as_millis()).expect("a term is seconds");
    DateTime::from_millis(now.timestamp_millis() + term)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_begins_before_the_server_is_asked() {
        let now = Instant::now();
        let lease = Lease::new(ObjectId::new(), now);
        assert!(*lease.until() == now + TERM && lease.is_certain());
        assert!(lease.time_to_renewal() <= RENEWAL);
        // Taking it took longer than its term: it is renewed before anything is written by it.
        let long_ago = now.checked_sub(TERM).unwrap();
        let late = Lease::new(ObjectId::new(), long_ago);
        assert!(!late.is_certain());
        assert_eq!(late.time_to_renewal(), Duration::ZERO);
    }

    #[test]
    fn a_dropped_lease_is_held_no_more() {
        let id = ObjectId::new();
        let lease = Lease::new(id, Instant::now());
        assert!(held().contains(&id));
        drop(lease);
        assert!(!held().contains(&id));
    }
}
