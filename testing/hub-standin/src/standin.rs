//! A running stand-in.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::builder::HubStandinBuilder;
use crate::content::{Blob, PlainFile};
use crate::dataset::Dataset;
use crate::fault::{Fault, Plan, When};
use crate::request::Seen;
use crate::server::World;

/// A local server that stands in for the Hub, web servers and S3, until it is dropped.
#[derive(Debug)]
pub struct HubStandin {
    world: Arc<World>,
    thread: Option<JoinHandle<()>>,
}

impl HubStandin {
    /// An empty server.
    pub fn builder() -> HubStandinBuilder {
        HubStandinBuilder::default()
    }

    pub(crate) fn new(world: Arc<World>, thread: JoinHandle<()>) -> Self {
        Self {
            world,
            thread: Some(thread),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.world.address
    }

    /// The Hub's endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        self.world.url()
    }

    /// URL of a plain file.
    #[must_use]
    pub fn file_url(&self, name: &str) -> String {
        format!("{}/files/{name}", self.url())
    }

    /// A URL that redirects to a plain file on another host.
    #[must_use]
    pub fn redirect_url(&self, name: &str) -> String {
        format!("{}/redirect/files/{name}", self.url())
    }

    /// S3's endpoint.
    #[must_use]
    pub fn s3_url(&self) -> String {
        format!("{}/s3", self.url())
    }

    /// What was asked so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.world.state().seen.clone()
    }

    /// Forgets what was asked so far.
    pub fn forget_requests(&self) {
        self.world.state().seen.clear();
    }

    /// How many connections were made.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.world.state().connections
    }

    /// Adds a dataset, or puts it in the place of the one with its name.
    pub fn put_dataset(&self, dataset: Dataset) {
        let id = dataset.id.clone();
        self.world.state().datasets.insert(id, Arc::new(dataset));
    }

    /// Adds a plain file, or puts it in the place of the one with its name.
    pub fn put_file(&self, name: &str, file: PlainFile) {
        self.world.state().plain.insert(name.to_owned(), file);
    }

    /// Adds an object, or puts it in the place of the one with its key.
    pub fn put_object(&self, bucket: &str, key: &str, bytes: impl Into<Vec<u8>>) {
        let place = (bucket.to_owned(), key.to_owned());
        self.world.state().objects.insert(place, Blob::new(bytes));
    }

    /// Lets a fault happen from now on; see [`HubStandinBuilder::fault`].
    pub fn add_fault(&self, path: &str, when: When, fault: Fault) {
        self.world.state().plans.push(Plan {
            path: path.to_owned(),
            when,
            fault,
            seen: 0,
        });
    }

    /// Lets no fault happen any more.
    pub fn clear_faults(&self) {
        self.world.state().plans.clear();
    }

    /// All signatures given so far are void.
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
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.world.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
