//! Options of a server: a builder for tests, and the command line of the program.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

use crate::values::{Generation, Millis, Serving, Stall};

/// A stand-in for a real KATO server: one event loop, no atomicity, no memory of who asked. For
/// tests.
///
/// It says `listening on http://…` on standard output once it answers. SIGTERM ends it at once.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "stock_server")]
pub struct StockOptions {
    /// Where to listen. Port 0 takes any that is free.
    #[arg(long, value_name = "ADDR", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))]
    pub(crate) addr: SocketAddr,
    /// Directory of learned.jsonl, requests.jsonl and sessions.jsonl; without one nothing outlives
    /// the process.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Which KATO it is.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) generation: Generation,
    /// How the one event loop is shared.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) serve: Serving,
    /// What all that is drawn depends on.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Milliseconds of a learn.
    #[arg(long, value_name = "A..B", default_value = "5..25")]
    pub(crate) learn_ms: Millis,
    /// Milliseconds of `GET /pattern`.
    #[arg(long, value_name = "A..B", default_value = "20..45")]
    pub(crate) ask_ms: Millis,
    /// Milliseconds of all other requests, and of the beginning of those that learn.
    #[arg(long, value_name = "A..B", default_value = "1..3")]
    pub(crate) other_ms: Millis,
    /// Milliseconds until `GET /pattern` finds a new pattern (3.10 only; a real one: up to 200).
    #[arg(long, value_name = "A..B", default_value = "0..0")]
    pub(crate) visible_ms: Millis,
    /// Every EVERY-th learn takes MS more.
    #[arg(long, value_name = "EVERY,MS")]
    pub(crate) stall: Option<Stall>,
    /// Seconds that a session lives without a write, where its maker says nothing.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub(crate) session_ttl: u64,
    /// Seconds after which a silent connection is closed.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) keep_alive: u64,
    /// Sessions outlive the process, as they were last saved.
    #[arg(long, requires = "data")]
    pub(crate) keep_sessions: bool,
    /// Abort right after the N-th learn of this process is stored.
    #[arg(long, value_name = "N")]
    pub(crate) die_after: Option<u64>,
    /// Processes with an event loop and locks of their own, over the same databases.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) processes: usize,
    /// Milliseconds between the two steps of a learn, in which a kill tears it (3.10 only).
    #[arg(long, value_name = "A..B", default_value = "0..0")]
    pub(crate) torn_ms: Millis,
    /// Abort between the two steps of the N-th learn of this process (3.10 only).
    #[arg(long, value_name = "N")]
    pub(crate) tear_after: Option<u64>,
    /// The first step of a learn is frequency and row, and the second the counts of symbols;
    /// otherwise the row comes in the second.
    #[arg(long)]
    pub(crate) symbols_last: bool,
    /// Redis keeps nothing over a start: neither sessions nor, in 3.10, frequencies and symbols.
    #[arg(long, conflicts_with = "keep_sessions")]
    pub(crate) volatile: bool,
    /// Redis has lost what it counted in the last MS milliseconds before the start (3.10 and later only).
    #[arg(long, value_name = "MS", conflicts_with = "keep_sessions")]
    pub(crate) lose_ms: Option<u64>,
    /// What is learned by itself of a retired pattern is refused with 409, which does not name it, and not with
    /// 500 (6.3 only).
    #[arg(long)]
    pub(crate) tells_retired: bool,
    /// The pattern of the N-th learn of this process is retired right before it (6.3 only).
    #[arg(long, value_name = "N")]
    pub(crate) retire_at: Option<u64>,
    /// All databases are empty at the start.
    #[arg(long)]
    pub(crate) empty: bool,
    /// Redis is emptied after the N-th learn of this process.
    #[arg(long, value_name = "N")]
    pub(crate) flush_after: Option<u64>,
    /// All databases are emptied after the N-th learn of this process.
    #[arg(long, value_name = "N")]
    pub(crate) empty_after: Option<u64>,
    /// All sessions are lost, and nothing else, after the N-th learn of this process.
    #[arg(long, value_name = "N")]
    pub(crate) forget_after: Option<u64>,
    /// After every EVERY-th learn Redis evicts a key (3.10 only).
    #[arg(long, value_name = "EVERY")]
    pub(crate) evict: Option<u64>,
    /// The databases are away for MS milliseconds from the AFTER-th learn of this process on.
    #[arg(long, value_name = "AFTER,MS")]
    pub(crate) outage: Option<Stall>,
    /// After the N-th learn of this process the event loop stands still for ever; connections are
    /// still accepted.
    #[arg(long, value_name = "N")]
    pub(crate) hang_after: Option<u64>,
    /// After the N-th learn of this process requests that come are not carried out: the connection
    /// is closed without an answer.
    #[arg(long, value_name = "N")]
    pub(crate) ignore_after: Option<u64>,
    /// Answers come one byte a second.
    #[arg(long)]
    pub(crate) dribble: bool,
    /// The answer to `GET /` never ends.
    #[arg(long)]
    pub(crate) endless: bool,
    /// Every POST is answered 503 with this `Retry-After`, and not carried out.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) retry_after: Option<u64>,
}

impl Default for StockOptions {
    fn default() -> Self {
        Self::try_parse_from(["stock_server"]).expect("every option has a default")
    }
}

/// Defines methods that set one option each.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $kind:ty => $value:expr,)*) => {
        impl StockOptions {
            $($(#[$doc])*
            #[must_use]
            pub fn $field(mut self, $field: $kind) -> Self {
                self.$field = $value;
                self
            })*
        }
    };
}

setters! {
    /// Sets the address to listen on.
    addr: SocketAddr => addr,
    /// Sets the directory of its files, made if it is not there.
    data: &Path => Some(data.to_owned()),
    /// Sets which KATO it is. Default: 3.10.
    generation: Generation => generation,
    /// Sets how the one event loop is shared. Default: in turns.
    serve: Serving => serve,
    /// Sets the seed of everything random. Default: 0.
    seed: u64 => seed,
    /// Sets the milliseconds of a learn. Default: `5..=25`.
    learn_ms: impl Into<Millis> => learn_ms.into(),
    /// Sets the milliseconds of `GET /pattern`. Default: `20..=45`.
    ask_ms: impl Into<Millis> => ask_ms.into(),
    /// Sets the milliseconds of all other requests, and of the beginning of those that learn.
    /// Default: `1..=3`.
    other_ms: impl Into<Millis> => other_ms.into(),
    /// Sets the milliseconds until `GET /pattern` finds a new pattern, in 3.10. Default: 0.
    visible_ms: impl Into<Millis> => visible_ms.into(),
    /// Sets the seconds that a session lives without a write, where its maker says nothing.
    /// Default: 3600.
    session_ttl: u64 => session_ttl,
    /// Sets the seconds after which a silent connection is closed. Default: 5.
    keep_alive: u64 => keep_alive,
    /// Sets whether sessions outlive the process. Default: no.
    keep_sessions: bool => keep_sessions,
    /// Aborts the process right after this many of its learns.
    die_after: u64 => Some(die_after),
    /// Sets the number of processes with an event loop of their own. Default: 1.
    processes: usize => processes,
    /// Sets the milliseconds between the two steps of a learn, in 3.10. Default: 0, which no kill
    /// can tear.
    torn_ms: impl Into<Millis> => torn_ms.into(),
    /// Aborts the process between the two steps of the learn of this number, in 3.10.
    tear_after: u64 => Some(tear_after),
    /// Sets whether the counts of symbols alone are the second step of a learn. Default: no.
    symbols_last: bool => symbols_last,
    /// Sets whether Redis keeps nothing over a start. Default: no.
    volatile: bool => volatile,
    /// Takes from Redis what it counted in so many milliseconds before the start.
    lose_ms: u64 => Some(lose_ms),
    /// Sets whether what is learned by itself of a retired pattern is refused with 409, in 6.3. Default: no.
    tells_retired: bool => tells_retired,
    /// Retires the pattern of the learn of this number right before it, in 6.3.
    retire_at: u64 => Some(retire_at),
    /// Sets whether all databases are empty at the start. Default: no.
    empty: bool => empty,
    /// Empties Redis after this many learns of the process.
    flush_after: u64 => Some(flush_after),
    /// Empties all databases after this many learns of the process.
    empty_after: u64 => Some(empty_after),
    /// Loses all sessions after this many learns of the process.
    forget_after: u64 => Some(forget_after),
    /// Evicts a key of Redis after every so many learns, in 3.10.
    evict: u64 => Some(evict.max(1)),
    /// Stops the event loop for ever after this many learns of the process.
    hang_after: u64 => Some(hang_after),
    /// Ignores requests that come after this many learns of the process: closes the connection.
    ignore_after: u64 => Some(ignore_after),
    /// Sets whether answers come one byte a second.
    dribble: bool => dribble,
    /// Sets whether the answer to `GET /` never ends.
    endless: bool => endless,
    /// Refuses every POST with 503 and this many seconds of `Retry-After`.
    retry_after: u64 => Some(retry_after),
}

impl StockOptions {
    /// Creates the options of a server that takes no time for anything.
    #[must_use]
    pub fn quick() -> Self {
        Self::default().learn_ms(0).ask_ms(0).other_ms(0)
    }

    /// Adds a number of milliseconds to every `every`-th learn.
    #[must_use]
    pub fn stall(mut self, every: u64, millis: u64) -> Self {
        self.stall = Some(Stall {
            every: every.max(1),
            millis,
        });
        self
    }

    /// Takes the databases away for some milliseconds, after this many learns of the process.
    #[must_use]
    pub fn outage(mut self, after: u64, millis: u64) -> Self {
        self.outage = Some(Stall {
            every: after.max(1),
            millis,
        });
        self
    }

    /// Returns the command line, without the program.
    #[must_use]
    pub fn args(&self) -> Vec<String> {
        let mut args = Vec::new();
        let mut give = |name: &str, value: Option<String>| {
            args.extend(value.map(|value| format!("--{name}={value}")));
        };
        give("addr", Some(self.addr.to_string()));
        let data = self.data.as_deref().map(Path::display);
        give("data", data.map(|data| data.to_string()));
        give("generation", name_of(&self.generation));
        give("serve", name_of(&self.serve));
        give("seed", Some(self.seed.to_string()));
        give("learn-ms", Some(self.learn_ms.to_string()));
        give("ask-ms", Some(self.ask_ms.to_string()));
        give("other-ms", Some(self.other_ms.to_string()));
        give("visible-ms", Some(self.visible_ms.to_string()));
        give("stall", self.stall.map(|stall| stall.to_string()));
        give("session-ttl", Some(self.session_ttl.to_string()));
        give("keep-alive", Some(self.keep_alive.to_string()));
        give("processes", Some(self.processes.to_string()));
        give("torn-ms", Some(self.torn_ms.to_string()));
        give("tear-after", self.tear_after.map(|n| n.to_string()));
        give("retire-at", self.retire_at.map(|n| n.to_string()));
        give("flush-after", self.flush_after.map(|n| n.to_string()));
        give("empty-after", self.empty_after.map(|n| n.to_string()));
        give("forget-after", self.forget_after.map(|n| n.to_string()));
        give("lose-ms", self.lose_ms.map(|ms| ms.to_string()));
        give("evict", self.evict.map(|n| n.to_string()));
        give("outage", self.outage.map(|outage| outage.to_string()));
        give("die-after", self.die_after.map(|n| n.to_string()));
        give("hang-after", self.hang_after.map(|n| n.to_string()));
        give("ignore-after", self.ignore_after.map(|n| n.to_string()));
        give("retry-after", self.retry_after.map(|n| n.to_string()));
        let flags = [
            ("--symbols-last", self.symbols_last),
            ("--volatile", self.volatile),
            ("--tells-retired", self.tells_retired),
            ("--empty", self.empty),
            ("--keep-sessions", self.keep_sessions),
            ("--dribble", self.dribble),
            ("--endless", self.endless),
        ];
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        args.extend(set.map(|(flag, _)| flag.to_owned()));
        args
    }
}

/// Returns the name of a value on the command line.
fn name_of(value: &impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_what_was_built() {
        let options = StockOptions::quick()
            .addr(SocketAddr::from(([127, 0, 0, 1], 7)))
            .data(Path::new("/a dir"))
            .generation(Generation::October2025)
            .serve(Serving::Whole)
            .seed(3)
            .visible_ms(1..=200)
            .stall(50, 400)
            .session_ttl(9)
            .keep_alive(8)
            .symbols_last(true)
            .volatile(true)
            .tells_retired(true)
            .retire_at(11)
            .empty(true)
            .processes(4)
            .torn_ms(1..=2)
            .tear_after(5)
            .flush_after(6)
            .empty_after(7)
            .forget_after(8)
            .lose_ms(12)
            .evict(9)
            .outage(10, 200)
            .die_after(1)
            .hang_after(2)
            .ignore_after(3)
            .dribble(true)
            .endless(true)
            .retry_after(4);
        let kept = StockOptions::default()
            .data(Path::new("d"))
            .keep_sessions(true);
        for options in [options, kept, StockOptions::default()] {
            let program = ["stock_server".to_owned()];
            let args = program.into_iter().chain(options.args());
            assert_eq!(StockOptions::try_parse_from(args).unwrap(), options);
        }
    }
}
