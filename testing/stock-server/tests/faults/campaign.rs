//! Many schedules, some at a time, and how often each end was met.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use kato_stock_server::Generation;

use crate::run::{End, carry_out};
use crate::schedule::{Kind, Schedule, number};

/// Schedules of a kind, unless the environment asks for others.
const SCHEDULES: u64 = 4;

/// As many that every end of a kind is met.
const MANY: u64 = 20;

/// Schedules at a time: they mostly wait.
const THREADS: u64 = 4;

/// How often each end was met.
#[derive(Debug, Default)]
pub(crate) struct Told {
    ends: BTreeMap<&'static str, u64>,
    /// What became of requests without an answer.
    doubts: BTreeMap<&'static str, u64>,
    /// What was said in each schedule, by end and seed.
    stories: BTreeMap<(&'static str, u64), Vec<String>>,
}

impl Told {
    /// Panics if one end was never met in a campaign of many schedules.
    pub(crate) fn met(&self, what: &'static str) {
        let n: u64 = self.ends.values().sum();
        assert!(
            n < MANY || self.ends.contains_key(what),
            "{what} was never met: {:?}",
            self.ends
        );
    }

    /// Panics if another end was met.
    pub(crate) fn only(&self, expected: &[&str]) {
        let others = self.ends.keys().filter(|end| !expected.contains(end));
        let others: Vec<_> = others.collect();
        let stories = self.stories.iter();
        let stories = stories.filter(|((end, _), _)| !expected.contains(end));
        let stories: Vec<_> = stories.collect();
        assert!(others.is_empty(), "{others:?} were met: {stories:#?}");
    }

    fn add(&mut self, seed: u64, end: &End) {
        self.stories.insert((end.what, seed), end.story.clone());
        *self.ends.entry(end.what).or_default() += 1;
        for doubts in &end.doubts {
            for (what, n) in [
                ("requests without an answer", doubts.requests),
                ("calls that had arrived", doubts.arrived),
                ("calls sent again", doubts.missing),
                ("comparisons on the way", doubts.checks),
                ("patterns compared in the end", doubts.compared),
            ] {
                *self.doubts.entry(what).or_default() += n;
            }
        }
    }
}

/// Carries out the schedules of a kind.
///
/// # Panics
///
/// When one ends otherwise than it may.
pub(crate) fn check(kind: Kind, generation: Generation) -> Told {
    let seeds: Vec<u64> = match number("KATO_CHAOS_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("KATO_CHAOS_SCHEDULES").unwrap_or(SCHEDULES)).collect(),
    };
    let n_threads = number("KATO_CHAOS_THREADS").unwrap_or(THREADS) as usize;
    let start = Instant::now();
    let (next, told, failed) = (AtomicUsize::new(0), Mutex::default(), Mutex::default());
    thread::scope(|scope| {
        for _ in 0..n_threads.min(seeds.len()) {
            scope.spawn(|| work(&seeds, kind, generation, &next, &told, &failed));
        }
    });
    let told: Told = told.into_inner().unwrap();
    eprintln!(
        "{kind:?} of {generation:?}: {} schedules in {:.1?}: {:?}; {:?}",
        seeds.len(),
        start.elapsed(),
        told.ends,
        told.doubts
    );
    let failed: Vec<u64> = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "schedules of {kind:?} of {generation:?} that failed: {failed:?}; see above, and replay one with KATO_CHAOS_SEED"
    );
    told
}

fn work(
    seeds: &[u64],
    kind: Kind,
    generation: Generation,
    next: &AtomicUsize,
    told: &Mutex<Told>,
    failed: &Mutex<Vec<u64>>,
) {
    while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
        let schedule = Schedule::new(kind, generation, seed);
        match catch_unwind(AssertUnwindSafe(|| carry_out(&schedule))) {
            Ok(end) => {
                // A schedule that is replayed tells what was said.
                if env::var_os("KATO_CHAOS_SEED").is_some() {
                    eprintln!("{schedule:#?}\n{:#?}", end.story);
                }
                told.lock().unwrap().add(seed, &end);
            }
            Err(cause) => {
                let cause = cause
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| cause.downcast_ref::<&str>().copied());
                eprintln!(
                    "\n{kind:?} of {generation:?}, seed {seed}, failed: {}\n{schedule:#?}\n",
                    cause.unwrap_or("it panicked")
                );
                failed.lock().unwrap().push(seed);
            }
        }
    }
}
