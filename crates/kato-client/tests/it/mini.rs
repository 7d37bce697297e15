//! A miniature of KATO on a socket: sessions, observing, learning and patterns as real servers do
//! them, and faults on demand.

mod http;
mod world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kato_client::{KatoClient, KatoClientBuilder, RetryPolicy, SessionOptions};

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
    /// 504 at once, carried out as a whole before so many further requests are answered, or in the
    /// very end.
    ActLate(u8),
    /// 504 at once while it is still carried out: it teaches now and saves its session before so
    /// many further requests are answered, whatever has become of the session meanwhile. At
    /// most [`SLOWEST`], so that it ends within any `settle`.
    Slow(u8),
    /// 504 at once; begun before so many further requests are answered, and carried out as a whole
    /// on the session as it was then, before so many.
    BeginLate(u8, u8),
    /// 429 with `Retry-After: 0`.
    Limit,
    /// All sessions are gone before it arrives.
    Expire,
}

/// A client that watches a session for `settle` looks once before, asks for a pattern, and looks at
/// least once after: a request that has saved its session by then has ended in time, without any
/// clock.
pub(crate) const SLOWEST: u8 = 3;

/// What a request does later on.
type Later = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) world: Mutex<World>,
    /// The next requests' faults, last first.
    pub(crate) faults: Mutex<Vec<Fault>>,
    /// With the number of requests before which it happens.
    later: Mutex<Vec<(u8, Later)>>,
    /// What others teach, one pattern before each of the next requests, last first.
    others: Mutex<Vec<Vec<Vec<String>>>>,
    pub(crate) seen: Mutex<Vec<String>>,
}

impl Shared {
    /// A request has come: it is time for some of what is late, and others are at work.
    fn tick(&self) {
        let mut due = Vec::new();
        self.later.lock().unwrap().retain_mut(|(n, later)| {
            *n -= 1;
            if *n == 0 {
                due.push(std::mem::replace(later, Box::new(|| ())));
            }
            *n > 0
        });
        for later in due {
            later();
        }
        if let Some(events) = self.others.lock().unwrap().pop() {
            self.world.lock().unwrap().teach("n", &events);
        }
    }

    fn later(&self, n: u8, later: impl FnOnce() + Send + 'static) {
        self.later.lock().unwrap().push((n, Box::new(later)));
    }
}

#[derive(Clone)]
pub(crate) struct Mini {
    pub(crate) shared: Arc<Shared>,
    pub(crate) url: String,
}

impl Mini {
    pub(crate) async fn start(kind: Kind) -> Self {
        let shared = Arc::new(Shared {
            world: Mutex::new(World::new(kind)),
            ..Shared::default()
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = http::app(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { shared, url }
    }

    pub(crate) fn builder(&self, session: SessionOptions) -> KatoClientBuilder {
        KatoClient::builder(&self.url, session)
            .with_retry(impatient())
            // What is late here is late by requests, not by time.
            .with_settle(Duration::ZERO)
    }

    pub(crate) fn client(&self) -> KatoClient {
        self.builder(SessionOptions::new("n")).build().unwrap()
    }

    /// The next requests fail like this, in order.
    pub(crate) fn fail(&self, faults: &[Fault]) {
        let mut queue = self.shared.faults.lock().unwrap();
        *queue = faults.iter().rev().copied().collect();
    }

    /// Others learn these patterns at the node `n`, one before each of the next requests.
    pub(crate) fn meanwhile(&self, patterns: &[Vec<Vec<String>>]) {
        *self.shared.others.lock().unwrap() = patterns.iter().rev().cloned().collect();
    }

    /// What the node knows, when nothing is under way any more and others have done.
    pub(crate) fn knowledge(&self, node: &str) -> Node {
        loop {
            let later = std::mem::take(&mut *self.shared.later.lock().unwrap());
            if later.is_empty() {
                break;
            }
            for (_, later) in later {
                later();
            }
        }
        let others = std::mem::take(&mut *self.shared.others.lock().unwrap());
        let mut world = self.shared.world.lock().unwrap();
        for events in others {
            world.teach("n", &events);
        }
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
    RetryPolicy::default()
        .with_attempts(20)
        .with_patience(Duration::from_secs(60))
        .with_first_wait(Duration::from_millis(1))
        .with_longest_wait(Duration::from_millis(2))
        .with_jitter_seed(1)
}
