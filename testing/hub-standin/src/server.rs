//! Content that is served, and the threads that serve it.

use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::content::{Blob, PlainFile};
use crate::dataset::Dataset;
use crate::fault::{Fault, Plan};
use crate::request::{Request, Seen};
use crate::response::Next;
use crate::route;
use crate::script::Script;

/// Time after which a silent connection ends all the same. It is longer than any client waits.
const LONGEST_STALL: Duration = Duration::from_secs(60);

/// Everything that is served, and what was asked so far.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) page_size: usize,
    pub(crate) signature_uses: u64,
    pub(crate) state: Mutex<State>,
    pub(crate) stopping: Condvar,
}

/// The part of it that changes.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) datasets: BTreeMap<String, Arc<Dataset>>,
    pub(crate) plain: BTreeMap<String, PlainFile>,
    pub(crate) objects: BTreeMap<(String, String), Blob>,
    pub(crate) scripts: BTreeMap<String, Script>,
    /// The one for all other paths.
    pub(crate) script: Option<Script>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) seen: Vec<Seen>,
    /// Number of uses of each signature.
    pub(crate) signatures: Vec<u64>,
    pub(crate) connections: u64,
    pub(crate) is_stopped: bool,
}

impl World {
    /// Locks the state. A test that panics must not hide its cause behind a poisoned lock.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the URL of the same server under another name, which is another origin, as a CDN's
    /// is.
    pub(crate) fn cdn_url(&self) -> String {
        format!("http://localhost:{}", self.address.port())
    }

    /// Returns a dataset by its present name.
    pub(crate) fn dataset(&self, id: &str) -> Option<Arc<Dataset>> {
        self.state().datasets.get(id).cloned()
    }

    /// Returns a dataset by a former name.
    pub(crate) fn moved(&self, id: &str) -> Option<Arc<Dataset>> {
        let state = self.state();
        let mut all = state.datasets.values();
        all.find(|dataset| dataset.former.iter().any(|former| former == id))
            .cloned()
    }

    /// Returns a plain file.
    pub(crate) fn plain(&self, name: &str) -> Option<PlainFile> {
        self.state().plain.get(name).cloned()
    }

    /// Returns the script that answers requests for a path.
    pub(crate) fn script(&self, path: &str) -> Option<Script> {
        let state = self.state();
        let script = state.scripts.get(path).or(state.script.as_ref());
        script.cloned()
    }

    /// Returns an object of a bucket.
    pub(crate) fn object(&self, bucket: &str, key: &str) -> Option<Blob> {
        self.state()
            .objects
            .get(&(bucket.to_owned(), key.to_owned()))
            .cloned()
    }

    /// Returns key, size and tag of the objects of a bucket, sorted by key.
    pub(crate) fn objects(&self, bucket: &str) -> Vec<(String, usize, String)> {
        let state = self.state();
        let inside = state.objects.iter().filter(|((name, _), _)| name == bucket);
        inside
            .map(|((_, key), blob)| (key.clone(), blob.bytes.len(), blob.oid.clone()))
            .collect()
    }

    /// Returns content of any dataset by its hash.
    pub(crate) fn large(&self, sha: &str) -> Option<Arc<[u8]>> {
        let state = self.state();
        let mut all = state
            .datasets
            .values()
            .flat_map(|dataset| dataset.revisions.values())
            .flat_map(BTreeMap::values);
        all.find(|blob| blob.sha256 == sha)
            .map(|blob| Arc::clone(&blob.bytes))
    }

    /// Creates a signature that was not used yet.
    pub(crate) fn sign(&self) -> usize {
        let mut state = self.state();
        state.signatures.push(0);
        state.signatures.len() - 1
    }

    /// Returns whether a signature is good for one more use, and uses it.
    pub(crate) fn is_valid(&self, signature: usize) -> bool {
        let mut state = self.state();
        let Some(uses) = state.signatures.get_mut(signature) else {
            return false;
        };
        let is_valid = *uses < self.signature_uses;
        *uses = uses.saturating_add(1);
        is_valid
    }

    /// Records a request, and returns the fault that happens to it.
    fn strike(&self, request: &Request, connection: u64) -> Option<Fault> {
        let mut state = self.state();
        state.seen.push(request.seen(connection));
        // All plans count the request, so that the numbers of one do not depend on the others. The
        // first that strikes wins.
        let struck: Vec<Fault> = state
            .plans
            .iter_mut()
            .filter_map(|plan| plan.strike(&request.path))
            .collect();
        struck.into_iter().next()
    }

    /// Waits until the server stops, or for the longest stall.
    fn stall(&self) {
        let state = self.state();
        let waited = self
            .stopping
            .wait_timeout_while(state, LONGEST_STALL, |state| !state.is_stopped);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Accepts connections until the server stops.
pub(crate) fn serve(world: &Arc<World>, listener: &TcpListener) {
    for connection in listener.incoming() {
        let number = {
            let mut state = world.state();
            if state.is_stopped {
                return;
            }
            state.connections += 1;
            state.connections - 1
        };
        // Stopping connects once more, which the check above notices before this connection is
        // served.
        let Ok(connection) = connection else { continue };
        let world = Arc::clone(world);
        let name = format!("hub-standin-{number}");
        // Without a thread the connection breaks, which clients have to cope with anyway.
        let _ = thread::Builder::new()
            .name(name)
            .spawn(move || converse(&world, &connection, number));
    }
}

/// Answers the requests of one connection.
fn converse(world: &World, connection: &TcpStream, number: u64) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut from = BufReader::new(connection);
    let mut to = BufWriter::with_capacity(64 << 10, connection);
    while let Some(request) = Request::read(&mut from)? {
        let closes = request
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let fault = world.strike(&request, number);
        let script = world.script(&request.path);
        let next = match &fault {
            None if script.is_some() => {
                let host = world.address.to_string();
                let answer = script.map(|Script(answer)| answer(&request.seen(number), &host));
                answer.unwrap_or_default().write(&mut to)?
            }
            // These faults need no answer, so that none is made up.
            Some(Fault::ResetBeforeHead) => Next::Close,
            Some(Fault::Stall) => Next::Stall,
            fault => {
                let fault = fault.as_ref();
                let response = route::answer(world, &request, fault);
                let next = response.write(&request, fault, &mut to)?;
                io::Write::flush(&mut to)?;
                next
            }
        };
        match next {
            Next::Stall => {
                world.stall();
                return Ok(());
            }
            Next::Request if !closes => {}
            Next::Request | Next::Close => return Ok(()),
        }
    }
    Ok(())
}
