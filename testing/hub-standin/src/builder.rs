//! Builder of a stand-in: what it serves, and what goes wrong.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::content::{Blob, PlainFile};
use crate::dataset::Dataset;
use crate::fault::{Fault, Plan, When};
use crate::request::Seen;
use crate::script::{Raw, Script};
use crate::server::{self, State, World};
use crate::standin::HubStandin;

/// Builder that starts a [`HubStandin`].
#[derive(Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct HubStandinBuilder {
    state: State,
    page_size: usize,
    signature_uses: u64,
}

impl Default for HubStandinBuilder {
    fn default() -> Self {
        Self {
            state: State::default(),
            page_size: 1000,
            signature_uses: u64::MAX,
        }
    }
}

impl HubStandinBuilder {
    /// Adds a dataset of the Hub.
    pub fn dataset(mut self, dataset: Dataset) -> Self {
        self.state
            .datasets
            .insert(dataset.id.clone(), Arc::new(dataset));
        self
    }

    /// Adds a plain file below `/files/`.
    pub fn file(mut self, name: &str, file: PlainFile) -> Self {
        self.state.plain.insert(name.to_owned(), file);
        self
    }

    /// Lets a function answer all requests to a path below `/files/`, or to one that begins with
    /// `/`, in whatever way.
    pub fn script(
        mut self,
        path: &str,
        answer: impl Fn(&Seen) -> Raw + Send + Sync + 'static,
    ) -> Self {
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("/files/{path}"),
        };
        let script = Script(Arc::new(move |seen, _| answer(seen)));
        self.state.scripts.insert(path, script);
        self
    }

    /// Lets a function answer all requests for which there is no other script. Its second argument
    /// is the host and the port of the server.
    pub fn script_all(
        mut self,
        answer: impl Fn(&Seen, &str) -> Raw + Send + Sync + 'static,
    ) -> Self {
        self.state.script = Some(Script(Arc::new(answer)));
        self
    }

    /// Adds an object of a bucket of S3.
    pub fn object(mut self, bucket: &str, key: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let place = (bucket.to_owned(), key.to_owned());
        self.state.objects.insert(place, Blob::new(bytes));
        self
    }

    /// Adds a fault, which happens to requests whose path contains `path`.
    pub fn fault(mut self, path: &str, when: When, fault: Fault) -> Self {
        self.state.plans.push(Plan {
            path: path.to_owned(),
            when,
            fault,
            seen: 0,
        });
        self
    }

    /// Sets how many entries a page of a tree or of a list of objects has, at least 1. Default:
    /// 1000.
    pub fn page_size(mut self, entries: usize) -> Self {
        // A page of none would have itself as the next.
        self.page_size = entries.max(1);
        self
    }

    /// Sets how many requests a signature of the CDN is good for. Default: any number.
    pub fn signature_uses(mut self, uses: u64) -> Self {
        self.signature_uses = uses;
        self
    }

    /// Starts to listen on a free port.
    ///
    /// # Errors
    ///
    /// If there is no port or no thread to be had.
    pub fn start(self) -> io::Result<HubStandin> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let world = Arc::new(World {
            address: listener.local_addr()?,
            page_size: self.page_size,
            signature_uses: self.signature_uses,
            state: Mutex::new(self.state),
            stopping: Condvar::new(),
        });
        let served = Arc::clone(&world);
        let thread = thread::Builder::new()
            .name("hub-standin".to_owned())
            .spawn(move || server::serve(&served, &listener))?;
        Ok(HubStandin::new(world, thread))
    }
}
