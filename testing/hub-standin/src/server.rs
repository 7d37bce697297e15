//! What is served, and the threads that serve it.

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

/// Longest time that a silent connection is kept: longer than any asker waits.
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

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) datasets: BTreeMap<String, Arc<Dataset>>,
    pub(crate) plain: BTreeMap<String, PlainFile>,
    pub(crate) objects: BTreeMap<(String, String), Blob>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) seen: Vec<Seen>,
    /// How often each signature was used.
    pub(crate) signatures: Vec<u64>,
    pub(crate) connections: u64,
    pub(crate) is_stopped: bool,
}

impl World {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The same server under another name: another origin, as a CDN is.
    pub(crate) fn cdn_url(&self) -> String {
        format!("http://localhost:{}", self.address.port())
    }

    pub(crate) fn dataset(&self, id: &str) -> Option<Arc<Dataset>> {
        self.state().datasets.get(id).cloned()
    }

    pub(crate) fn moved(&self, id: &str) -> Option<Arc<Dataset>> {
        let state = self.state();
        let mut all = state.datasets.values();
        all.find(|dataset| dataset.former.iter().any(|former| former == id))
            .cloned()
    }

    pub(crate) fn plain(&self, name: &str) -> Option<PlainFile> {
        self.state().plain.get(name).cloned()
    }

    pub(crate) fn object(&self, bucket: &str, key: &str) -> Option<Blob> {
        self.state()
            .objects
            .get(&(bucket.to_owned(), key.to_owned()))
            .cloned()
    }

    /// Key, size and tag of the objects of a bucket.
    pub(crate) fn objects(&self, bucket: &str) -> Vec<(String, usize, String)> {
        let state = self.state();
        let inside = state.objects.iter().filter(|((name, _), _)| name == bucket);
        inside
            .map(|((_, key), blob)| (key.clone(), blob.bytes.len(), blob.oid.clone()))
            .collect()
    }

    /// Content of any dataset by its hash.
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

    pub(crate) fn sign(&self) -> usize {
        let mut state = self.state();
        state.signatures.push(0);
        state.signatures.len() - 1
    }

    pub(crate) fn is_valid(&self, signature: usize) -> bool {
        let mut state = self.state();
        let Some(uses) = state.signatures.get_mut(signature) else {
            return false;
        };
        let is_valid = *uses < self.signature_uses;
        *uses = uses.saturating_add(1);
        is_valid
    }

    fn strike(&self, request: &Request, connection: u64) -> Option<Fault> {
        let mut state = self.state();
        state.seen.push(request.seen(connection));
        // Every plan counts; the first that strikes wins.
        let struck: Vec<Fault> = state
            .plans
            .iter_mut()
            .filter_map(|plan| plan.strike(&request.path))
            .collect();
        struck.into_iter().next()
    }

    fn stall(&self) {
        let state = self.state();
        let waited = self
            .stopping
            .wait_timeout_while(state, LONGEST_STALL, |state| !state.is_stopped);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Accepts until the world stops.
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
        let Ok(connection) = connection else { continue };
        let world = Arc::clone(world);
        let name = format!("hub-standin-{number}");
        // A connection that cannot be served is one that breaks: what tests of faults expect.
        let _ = thread::Builder::new()
            .name(name)
            .spawn(move || converse(&world, &connection, number));
    }
}

fn converse(world: &World, connection: &TcpStream, number: u64) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut from = BufReader::new(connection);
    let mut to = BufWriter::with_capacity(64 << 10, connection);
    while let Some(request) = Request::read(&mut from)? {
        let closes = request
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let fault = world.strike(&request, number);
        let next = match &fault {
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
