//! The way from a node that is taught to the heads that count it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kato_engine::node::Lesson;
use kato_model::Event;

/// Bytes that a symbol takes beside its text, about.
const SYMBOL: usize = 48;

/// Bytes of lessons that wait at most for a head that is being counted, of which there is one at a
/// time.
const WHILE_COUNTING: usize = 64 << 20;

/// The patterns of some lessons, in order.
pub(super) type Taught = Arc<[Vec<Event>]>;

/// The heads that hear what a node is taught.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Vec<Weak<Feed>>>);

/// What a node was taught and a head has not counted.
#[derive(Debug)]
pub(super) struct Feed {
    waiting: Mutex<Waiting>,
    /// Bytes that may wait.
    limit: AtomicUsize,
}

/// The lessons that wait.
#[derive(Debug, Default)]
struct Waiting {
    taught: Vec<Taught>,
    bytes: usize,
    /// Whether something is not among them: only counting anew finds it.
    is_lost: bool,
}

impl Listeners {
    /// Adds a head, which hears of everything from now on.
    pub(super) fn listen(&self) -> Arc<Feed> {
        let feed = Arc::new(Feed {
            waiting: Mutex::default(),
            limit: AtomicUsize::new(WHILE_COUNTING),
        });
        self.lock().push(Arc::downgrade(&feed));
        feed
    }

    /// Tells of lessons. To be called under the node's gate, so that they come in their order.
    pub(crate) fn tell(&self, lessons: &[Lesson]) {
        let feeds = self.feeds();
        if feeds.is_empty() {
            return;
        }
        let taught: Taught = lessons.iter().map(|lesson| lesson.events.clone()).collect();
        let events = taught.iter().flatten();
        let bytes = events.map(|event| {
            let symbols = event.symbols().iter();
            SYMBOL + symbols.map(|symbol| SYMBOL + symbol.len()).sum::<usize>()
        });
        let bytes = bytes.sum();
        for feed in feeds {
            feed.push(&taught, bytes);
        }
    }

    /// Makes all heads count anew.
    pub(crate) fn lose(&self) {
        for feed in self.feeds() {
            feed.lock().lose();
        }
    }

    /// Returns the feeds that anybody still has.
    fn feeds(&self) -> Vec<Arc<Feed>> {
        let mut feeds = Vec::new();
        self.lock().retain(|feed| {
            feeds.extend(feed.upgrade());
            feed.strong_count() > 0
        });
        feeds
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Feed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    fn push(&self, taught: &Taught, bytes: usize) {
        let mut waiting = self.lock();
        waiting.bytes = waiting.bytes.saturating_add(bytes);
        if waiting.bytes > self.limit.load(Ordering::Relaxed) {
            // Nobody has asked for long: counting anew is no more work than all of this.
            waiting.lose();
        }
        if !waiting.is_lost {
            waiting.taught.push(Arc::clone(taught));
        }
    }

    /// Sets how many bytes may wait from now on.
    pub(super) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.lock();
        waiting.taught.is_empty() && !waiting.is_lost
    }

    /// Takes what waits; `None` if something is lost.
    pub(super) fn take(&self) -> Option<Vec<Taught>> {
        let mut waiting = self.lock();
        waiting.bytes = 0;
        let taught = std::mem::take(&mut waiting.taught);
        (!waiting.is_lost).then_some(taught)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn lose(&mut self) {
        self.is_lost = true;
        self.taught = Vec::new();
        self.bytes = 0;
    }
}
