//! State of a server: what it knows, its sessions, its loop, and how long things take.

use std::io;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::event_loop::{EventLoop, Turn, pass};
use crate::knowledge::{Clash, Knowledge};
use crate::options::StockOptions;
use crate::record::Learn;
use crate::request_log::RequestLog;
use crate::sessions::Sessions;
use crate::values::Generation;

/// State of a server.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) options: StockOptions,
    pub(crate) knowledge: Knowledge,
    pub(crate) sessions: Sessions,
    pub(crate) event_loop: EventLoop,
    pub(crate) log: RequestLog,
    pub(crate) started: Instant,
    /// Number of learns of this process.
    learned: AtomicU64,
    learns: Chance,
    visibility: Chance,
    asks: Chance,
    others: Chance,
}

impl World {
    /// Opens what the options name.
    pub(crate) fn open(options: StockOptions) -> io::Result<Self> {
        let dir = options.data.as_deref();
        let sessions_in: Option<&Path> = dir.filter(|_| options.keep_sessions);
        let chance = |stream| Chance::new(options.seed, stream);
        Ok(Self {
            knowledge: Knowledge::open(options.generation, dir)?,
            sessions: Sessions::open(sessions_in)?,
            event_loop: EventLoop::new(options.serve),
            log: RequestLog::open(dir)?,
            started: Instant::now(),
            learned: AtomicU64::new(0),
            learns: chance(1),
            visibility: chance(2),
            asks: chance(3),
            others: chance(4),
            options,
        })
    }

    /// Returns which KATO the server plays.
    pub(crate) fn generation(&self) -> Generation {
        self.options.generation
    }

    /// Does something short on the loop: a question for a pattern, or something else. Its effect
    /// comes in the end.
    pub(crate) fn short<T>(&self, turn: &Turn<'_>, is_ask: bool, act: impl FnOnce() -> T) -> T {
        let _held = turn.hold();
        pass(match is_ask {
            true => self.asks.draw(self.options.ask_ms),
            false => self.others.draw(self.options.other_ms),
        });
        // The time passes first: a client that gives up meanwhile has its request carried out all
        // the same.
        act()
    }

    /// Learns a chunk on the loop. It is stored in the end, and then the process may die or stand
    /// still, if it is to.
    pub(crate) fn learn(
        &self,
        turn: &Turn<'_>,
        make: impl FnOnce() -> Learn,
    ) -> Result<Learn, Clash> {
        let _held = turn.hold();
        // The loop is held, so that nobody else counts meanwhile.
        let number = self.learned.load(Ordering::SeqCst) + 1;
        let stall = self.options.stall;
        let stall = stall.filter(|stall| number.is_multiple_of(stall.every));
        let stall = stall.map_or(0, |stall| stall.millis);
        pass(self.learns.draw(self.options.learn_ms) + Duration::from_millis(stall));
        let hidden = match self.generation() {
            Generation::V3_10 => self.visibility.draw(self.options.visible_ms),
            Generation::October2025 => Duration::ZERO,
        };
        // Made at the end of the time that it takes: until then other requests may change what has
        // gathered in the node.
        let learn = make();
        self.knowledge.learn(learn.clone(), hidden)?;
        self.learned.store(number, Ordering::SeqCst);
        if Some(number) == self.options.die_after {
            process::abort();
        }
        if Some(number) == self.options.hang_after {
            stand_still();
        }
        Ok(learn)
    }

    /// Returns whether requests that come now are ignored.
    pub(crate) fn ignores(&self) -> bool {
        let learned = self.learned.load(Ordering::SeqCst);
        let ignore_after = self.options.ignore_after;
        ignore_after.is_some_and(|after| learned >= after)
    }
}

/// Keeps the loop, which the caller holds, for ever.
fn stand_still() -> ! {
    loop {
        thread::park();
    }
}
