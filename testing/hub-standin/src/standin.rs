//! The running stand-in.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::builder::HubStandinBuilder;
use crate::content::{Blob, PlainFile};
use crate::dataset::Dataset;
use crate::fault::{Fault, Plan, When};
use crate::request::Seen;
use crate::server::World;

/// Local server that stands in for the Hub, web servers and S3, until it is dropped.
#[derive(Debug)]
pub struct HubStandin {
    world: Arc<World>,
    thread: Option<JoinHandle<()>>,
}

impl HubStandin {
    /// Creates a builder of a server that has nothing.
    pub fn builder() -> HubStandinBuilder {
        HubStandinBuilder::default()
    }

    /// Creates the handle of a server that runs on `thread`.
    pub(crate) fn new(world: Arc<World>, thread: JoinHandle<()>) -> Self {
        Self {
            world,
            thread: Some(thread),
        }
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.world.address
    }

    /// Returns the Hub's endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        self.world.url()
    }

    /// Returns the URL of a plain file.
    #[must_use]
    pub fn file_url(&self, name: &str) -> String {
        format!("{}/files/{name}", self.url())
    }

    /// Returns a URL that redirects to a plain file on another host.
    #[must_use]
    pub fn redirect_url(&self, name: &str) -> String {
        format!("{}/redirect/files/{name}", self.url())
    }

    /// Returns S3's endpoint.
    #[must_use]
    pub fn s3_url(&self) -> String {
        format!("{}/s3", self.url())
    }

    /// Returns the requests received so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.world.state().seen.clone()
    }

    /// Forgets the requests received so far.
    pub fn forget_requests(&self) {
        self.world.state().seen.clear();
    }

    /// Returns how many connections were made.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.world.state().connections
    }

    /// Adds a dataset, replacing the one with its name.
    pub fn put_dataset(&self, dataset: Dataset) {
        let id = dataset.id.clone();
        self.world.state().datasets.insert(id, Arc::new(dataset));
    }

    /// Adds a plain file, replacing the one with its name.
    pub fn put_file(&self, name: &str, file: PlainFile) {
        self.world.state().plain.insert(name.to_owned(), file);
    }

    /// Adds an object, replacing the one with its key.
    pub fn put_object(&self, bucket: &str, key: &str, bytes: impl Into<Vec<u8>>) {
        let place = (bucket.to_owned(), key.to_owned());
        self.world.state().objects.insert(place, Blob::new(bytes));
    }

    /// Adds a fault that happens from now on; see [`HubStandinBuilder::fault`].
    pub fn add_fault(&self, path: &str, when: When, fault: Fault) {
        self.world.state().plans.push(Plan {
            path: path.to_owned(),
            when,
            fault,
            seen: 0,
        });
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.world.state().plans.clear();
    }

    /// Ends the validity of all signatures given so far.
    pub fn expire_signatures(&self) {
        for uses in &mut self.world.state().signatures {
            *uses = u64::MAX;
        }
    }
}

impl Drop for HubStandin {
    fn drop(&mut self) {
        self.world.state().is_stopped = true;
        self.world.stopping.notify_all();
        // The thread that accepts looks at `is_stopped` only when a connection comes.
        let _ = TcpStream::connect(self.world.address);
        // Threads of connections are not waited for: clients may keep theirs open.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
