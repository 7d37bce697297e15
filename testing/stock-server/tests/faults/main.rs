//! Training into a real KATO's stand-in whose databases fail: what is known in the end is what an
//! undisturbed run learns, or an error names what happened.
//!
//! A schedule is a function of its kind, generation and seed. `KATO_CHAOS_SCHEDULES=200` runs as many
//! of each kind and generation, `KATO_CHAOS_SEED=17` one again, `KATO_CHAOS_THREADS=8` so many at a
//! time; `--nocapture` shows how often each end was met. `KATO_CHAOS_DOCUMENTS=300` makes the corpus of so
//! many documents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail by panic and tell figures, as tests do"
)]

mod campaign;
mod knowledge;
mod refused;
mod retired;
mod run;
mod schedule;
mod sizes;

use kato_stock_server::Generation;

use crate::campaign::check;
use crate::schedule::Kind;

const GENERATIONS: [Generation; 3] = [Generation::V3_10, Generation::October2025, Generation::V6_3];

/// Those that keep frequencies and symbols in Redis, and rows elsewhere.
const IN_TWO_DATABASES: [Generation; 2] = [Generation::V3_10, Generation::V6_3];

/// Redis is restarted and keeps nothing, or not what it counted last; or it is emptied.
#[test]
fn lost_redis() {
    for generation in IN_TWO_DATABASES {
        check(Kind::LostRedis, generation).met("lost");
    }
    // There it holds nothing but sessions.
    check(Kind::LostRedis, Generation::October2025).only(&["equal"]);
}

/// The server dies between the steps of a learn.
#[test]
fn torn_learns() {
    for generation in IN_TWO_DATABASES {
        let told = check(Kind::Torn, generation);
        told.met("torn, and taught again");
        told.only(&[
            "equal",
            "equal but for torn ones",
            "torn",
            "torn, and taught again",
        ]);
    }
    check(Kind::Torn, Generation::October2025).only(&["equal"]);
}

/// Redis has little memory.
#[test]
fn eviction() {
    for generation in IN_TWO_DATABASES {
        check(Kind::Eviction, generation).met("lost");
    }
    check(Kind::Eviction, Generation::October2025).only(&["equal"]);
}

/// Requests are served by four processes at once, which die now and then.
#[test]
fn four_processes() {
    for generation in GENERATIONS {
        check(Kind::Processes, generation).only(&["equal"]);
    }
}

/// A server comes back with nothing, or loses everything while it runs.
#[test]
fn emptied_servers() {
    for generation in GENERATIONS {
        check(Kind::Emptied, generation).met("lost");
    }
}

/// Two trainers begin under one name.
#[test]
fn simultaneous_trainers() {
    for generation in GENERATIONS {
        check(Kind::Twins, generation).met("another trainer");
    }
}

/// The databases behind a living server restart, and keep what they know.
#[test]
fn databases_that_restart() {
    for generation in GENERATIONS {
        check(Kind::Outage, generation).only(&["equal"]);
    }
}

/// A pattern of the corpus is retired before the run, between two sessions of it or while it is at work, and
/// un-retired once the run has named it. Of some runs the trainer is killed before, the server dies, or its
/// databases are away.
#[test]
fn retired_patterns() {
    let told = check(Kind::Retired, Generation::V6_3);
    told.met("retired, and equal in the end");
    told.only(&["equal", "retired, and equal in the end"]);
}

#[test]
#[ignore = "the trainer that is killed; the test above starts it"]
fn the_trainer() {
    run::be_the_trainer();
}
