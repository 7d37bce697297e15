//! A miniature of KATO on a socket: sessions, observing, learning and patterns as real servers do them, and faults on demand.

mod http;
mod world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kato_client::{KatoClient, KatoClientBuilder, RetryPolicy, SessionOptions};
use tokio::task::JoinHandle;

pub(crate) use world::{Kind, Node, World};

/// What happens to one request instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// 503, not carried out.
    Refuse,
    /// Carried out, then 503.
    ActThenRefuse,
    /// Not carried out, the answer breaks off.
    Cut,
    /// Carried out, the answer breaks off.
    ActThenCut,
    /// 504 at once, carried out a moment later.
    ActLate,
    /// 429 with `Retry-After: 0`.
    Limit,
    /// All sessions are gone before it arrives.
    Expire,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) world: Mutex<World>,
    /// The next requests' faults, last first.
    pub(crate) faults: Mutex<Vec<Fault>>,
    late: Mutex<Vec<JoinHandle<()>>>,
    pub(crate) seen: Mutex<Vec<String>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Mini {
    pub(crate) shared: Arc<Shared>,
    pub(crate) url: String,
}

impl Mini {
    pub(crate) async fn start(kind: Kind) -> Self {
        let shared = Arc::new(Shared {
            world: Mutex::new(World::new(kind)),
            faults: Mutex::default(),
            late: Mutex::default(),
            seen: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = http::app(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { shared, url }
    }

    pub(crate) fn builder(&self, session: SessionOptions) -> KatoClientBuilder {
        KatoClient::builder(&self.url, session).retry(impatient())
    }

    pub(crate) fn client(&self) -> KatoClient {
        self.builder(SessionOptions::new("n")).build().unwrap()
    }

    /// The next requests fail like this, in order.
    pub(crate) fn fail(&self, faults: &[Fault]) {
        let mut queue = self.shared.faults.lock().unwrap();
        *queue = faults.iter().rev().copied().collect();
    }

    /// What the node knows, when nothing is under way any more.
    pub(crate) async fn knowledge(&self, node: &str) -> Node {
        let late = std::mem::take(&mut *self.shared.late.lock().unwrap());
        for task in late {
            task.await.unwrap();
        }
        let world = self.shared.world.lock().unwrap();
        world.nodes.get(node).cloned().unwrap_or_default()
    }

    /// Requests so far, as `METHOD path`, ids left out.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub(crate) fn n_sessions(&self) -> usize {
        self.shared.world.lock().unwrap().sessions.len()
    }

    pub(crate) fn expire_all(&self) {
        self.shared.world.lock().unwrap().sessions.clear();
    }
}

pub(crate) fn impatient() -> RetryPolicy {
    RetryPolicy {
        attempts: 20,
        base_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        settle: Duration::from_millis(16),
        jitter_seed: Some(1),
    }
}
