//! State of a server: what it knows, its sessions, its loop, and how long things take.

use std::io;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::chance::Chance;
use crate::clients::Clients;
use crate::event_loop::{EventLoop, Turn, pass};
use crate::knowledge::{Clash, Knowledge};
use crate::options::StockOptions;
use crate::record::{Learn, Split};
use crate::request_log::RequestLog;
use crate::sessions::Sessions;
use crate::values::Generation;

/// State of a server.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) options: StockOptions,
    pub(crate) knowledge: Knowledge,
    pub(crate) sessions: Sessions,
    /// One for each process.
    event_loops: Vec<EventLoop>,
    pub(crate) log: RequestLog,
    pub(crate) clients: Arc<Clients>,
    pub(crate) started: Instant,
    /// Number of learns since the start.
    learned: AtomicU64,
    /// Whether a pattern is still to be retired at its learn.
    retires: AtomicBool,
    /// Time until which the databases are away.
    away: Mutex<Option<Instant>>,
    learns: Chance,
    visibility: Chance,
    asks: Chance,
    others: Chance,
    torn: Chance,
    evictions: Chance,
    outages: Chance,
}

impl World {
    /// Opens what the options name.
    pub(crate) fn open(options: StockOptions) -> io::Result<Self> {
        let dir = options.data.as_deref();
        let sessions_in: Option<&Path> = dir.filter(|_| options.keep_sessions);
        let chance = |stream| Chance::new(options.seed, stream);
        let knowledge = Knowledge::open(options.generation, dir, options.lose_ms)?;
        if options.volatile {
            knowledge.flush();
        }
        if options.empty {
            knowledge.empty();
        }
        let n_processes = options.processes.max(1);
        let event_loops = std::iter::repeat_with(|| EventLoop::new(options.serve));
        Ok(Self {
            knowledge,
            sessions: Sessions::open(sessions_in)?,
            event_loops: event_loops.take(n_processes).collect(),
            log: RequestLog::open(dir)?,
            clients: Arc::default(),
            started: Instant::now(),
            learned: AtomicU64::new(0),
            retires: AtomicBool::new(options.retire_at.is_some()),
            away: Mutex::default(),
            learns: chance(1),
            visibility: chance(2),
            asks: chance(3),
            others: chance(4),
            torn: chance(5),
            evictions: chance(6),
            outages: chance(7),
            options,
        })
    }

    /// Returns which KATO the server plays.
    pub(crate) fn generation(&self) -> Generation {
        self.options.generation
    }

    /// Returns the process that serves a connection, by the connection's number.
    pub(crate) fn process_of(&self, connection: usize) -> usize {
        connection % self.event_loops.len()
    }

    /// Returns the event loop of a process.
    pub(crate) fn event_loop(&self, process: usize) -> &EventLoop {
        &self.event_loops[process]
    }

    /// Returns whether the databases are away.
    pub(crate) fn is_away(&self) -> bool {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        let is_away = away.is_some_and(|until| Instant::now() < until);
        if !is_away {
            *away = None;
        }
        is_away
    }

    /// Returns the answer of a server whose databases are away.
    pub(crate) fn answer_without_databases(&self, is_pattern: bool) -> Answer {
        let number = self.outages.number();
        match self.generation() {
            Generation::V3_10 => return Answer::page(),
            // Now and then it is something in front of the server that answers.
            Generation::V6_3 => {
                let retry_after = number / 3 % 2;
                return match number % 3 {
                    0 => Answer::failure("OperationalError"),
                    1 => Answer::unavailable(retry_after),
                    _ => Answer::busy(retry_after),
                };
            }
            Generation::October2025 => {}
        }
        match number % 4 {
            0 => Answer::crash(),
            1 => Answer::silence(),
            // Nothing tells this answer from that of a node that never learned the pattern.
            2 if is_pattern => Answer::okay(&serde_json::json!({
                "pattern": {"status": "error", "message": "Pattern not found"}, "node_id": "",
            })),
            _ => Answer::nothing(),
        }
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

    /// Returns whether a pattern that is learned next is retired, and retires it first where it is to be.
    pub(crate) fn is_retired(&self, node_id: &str, name: &str) -> bool {
        let next = self.learned.load(Ordering::SeqCst) + 1;
        if Some(next) == self.options.retire_at && self.retires.swap(false, Ordering::SeqCst) {
            self.knowledge.retire(node_id, name, true);
        }
        self.knowledge.is_retired(node_id, name)
    }

    /// Learns a chunk on the loop. It is stored in the end, and then the faults happen that are to
    /// happen after it.
    pub(crate) fn learn(
        &self,
        turn: &Turn<'_>,
        make: impl FnOnce() -> Learn,
    ) -> Result<Learn, Failed> {
        let _held = turn.hold();
        let stall = self.options.stall;
        // Another process may be about to learn as well, and then both stand still.
        let next = self.learned.load(Ordering::SeqCst) + 1;
        let stall = stall.filter(|stall| next.is_multiple_of(stall.every));
        let stall = stall.map_or(0, |stall| stall.millis);
        pass(self.learns.draw(self.options.learn_ms) + Duration::from_millis(stall));
        if self.is_away() {
            return Err(Failed);
        }
        // Made at the end of the time that it takes: until then other requests may change what has
        // gathered in the node.
        let learn = make();
        let number = self.store(&learn)?;
        self.fail_after(number);
        Ok(learn)
    }

    /// Stores what is learned, in one step or two, and returns its number.
    fn store(&self, learn: &Learn) -> Result<u64, Failed> {
        let options = &self.options;
        let count = || self.learned.fetch_add(1, Ordering::SeqCst) + 1;
        let hidden = match self.generation() {
            Generation::V3_10 | Generation::V6_3 => self.visibility.draw(options.visible_ms),
            Generation::October2025 => Duration::ZERO,
        };
        let gap = self.torn.draw(options.torn_ms);
        let is_torn = options.tear_after.is_some();
        if self.generation() == Generation::October2025 || (gap.is_zero() && !is_torn) {
            let learned = self.knowledge.learn(learn.clone(), hidden);
            return learned.map(|()| count()).map_err(|Clash| Failed);
        }
        let split = match options.symbols_last {
            true => Split::BehindRow,
            false => Split::BeforeRow,
        };
        let is_new = self.knowledge.begin(learn.clone(), split, hidden);
        let number = count();
        if Some(number) == options.tear_after {
            process::abort();
        }
        pass(gap);
        self.knowledge.end(learn.clone(), split, is_new, hidden);
        Ok(number)
    }

    /// Lets the faults happen that are to happen after the learn of this number.
    fn fail_after(&self, number: u64) {
        let options = &self.options;
        if Some(number) == options.die_after {
            process::abort();
        }
        if Some(number) == options.flush_after {
            self.flush();
        }
        if Some(number) == options.empty_after {
            self.knowledge.empty();
            self.sessions.forget();
        }
        if Some(number) == options.forget_after {
            self.sessions.forget();
        }
        if options
            .evict
            .is_some_and(|every| number.is_multiple_of(every))
        {
            let drawn = self.evictions.number();
            match drawn % 11 {
                0 => self.sessions.evict(drawn),
                _ => self.knowledge.evict(drawn),
            }
        }
        if let Some(outage) = options.outage
            && outage.every == number
        {
            let until = Instant::now() + Duration::from_millis(outage.millis);
            *self.away.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
        if Some(number) == options.hang_after {
            stand_still();
        }
    }

    /// Loses all that is in Redis, as `FLUSHALL` does.
    pub(crate) fn flush(&self) {
        self.knowledge.flush();
        self.sessions.forget();
    }

    /// Returns whether requests that come now are ignored.
    pub(crate) fn ignores(&self) -> bool {
        let learned = self.learned.load(Ordering::SeqCst);
        let ignore_after = self.options.ignore_after;
        ignore_after.is_some_and(|after| learned >= after)
    }
}

/// Failure to learn: the answer is a 500.
#[derive(Debug)]
pub(crate) struct Failed;

/// Keeps the loop, which the caller holds, for ever.
fn stand_still() -> ! {
    loop {
        thread::park();
    }
}
