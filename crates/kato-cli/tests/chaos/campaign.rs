//! Many schedules, some at a time; the failures with what it takes to see them again.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kato_mongo_server::{MongoServer, ServerOptions};
use kato_test_needs::is_thorough;

use crate::backends::Backend;
use crate::run::{Run, Tally};
use crate::schedule::Schedule;

const SEED: &str = "KATO_CHAOS_SEED";
const BACKEND: &str = "KATO_CHAOS_BACKEND";
const SCHEDULES: &str = "KATO_CHAOS_SCHEDULES";
const THREADS: &str = "KATO_CHAOS_THREADS";

/// The schedules of one backend.
pub(crate) struct Campaign {
    backend: Backend,
    seeds: Vec<u64>,
    n_threads: usize,
    /// A failed run leaves its folder behind.
    keep: bool,
}

impl Campaign {
    /// As many schedules as it says, and half of them where tests are not to be thorough, unless the environment asks
    /// for others.
    pub(crate) fn new(backend: Backend, n_schedules: u64, n_threads: usize) -> Self {
        let number = |name: &str| {
            let value = env::var(name).ok()?;
            Some(
                value
                    .parse::<u64>()
                    .unwrap_or_else(|_| panic!("{name} is a number")),
            )
        };
        let wanted = env::var(BACKEND).ok();
        let names = Backend::ALL.map(Backend::name);
        if let Some(wanted) = &wanted {
            assert!(
                names.contains(&wanted.as_str()),
                "{BACKEND} is one of {names:?}"
            );
        }
        let seed = number(SEED);
        let seeds = match seed {
            _ if wanted.is_some_and(|wanted| wanted != backend.name()) => Vec::new(),
            Some(seed) => vec![seed],
            None => {
                let few = n_schedules / if is_thorough() { 1 } else { 2 };
                (0..number(SCHEDULES).unwrap_or(few)).collect()
            }
        };
        Self {
            backend,
            seeds,
            n_threads: number(THREADS).map_or(n_threads, |n| n as usize),
            keep: seed.is_some(),
        }
    }

    /// Carries out all schedules; none where the server that they need is not installed.
    ///
    /// # Panics
    ///
    /// When a run ends otherwise than an undisturbed one.
    pub(crate) fn run(&self) {
        if self.seeds.is_empty() || !self.backend.is_installed() {
            return;
        }
        let start = Instant::now();
        let (next, tally, failed) = (AtomicUsize::new(0), Tally::default(), Mutex::default());
        let slowest = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..self.n_threads.min(self.seeds.len()) {
                scope.spawn(|| self.work(&next, &tally, &slowest, &failed));
            }
        });
        eprintln!(
            "{}: {} schedules in {:.1?}, the longest {:.1?}; {tally}",
            self.backend.name(),
            self.seeds.len(),
            start.elapsed(),
            Duration::from_millis(slowest.into_inner()),
        );
        let failed: Vec<u64> = failed.into_inner().unwrap();
        assert!(
            failed.is_empty(),
            "schedules of {} that failed: {failed:?}; see above how to replay them",
            self.backend.name()
        );
    }

    fn work(
        &self,
        next: &AtomicUsize,
        tally: &Tally,
        slowest: &AtomicU64,
        failed: &Mutex<Vec<u64>>,
    ) {
        // One for all schedules of this thread: its start takes longer than a schedule.
        let mut mongodb = (self.backend == Backend::Mongodb).then(|| {
            MongoServer::start_with(ServerOptions {
                durable: true,
                ..ServerOptions::default()
            })
        });
        while let Some(&seed) = self.seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let schedule = Schedule::new(self.backend, seed);
            let mut run = Run::new(self.backend, seed, mongodb.as_mut());
            let done = catch_unwind(AssertUnwindSafe(|| run.carry_out(&schedule, tally)));
            slowest.fetch_max(start.elapsed().as_millis() as u64, Ordering::Relaxed);
            let Err(cause) = done else { continue };
            failed.lock().unwrap().push(seed);
            let cause = cause
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| cause.downcast_ref::<&str>().copied());
            let name = self.backend.name();
            eprintln!(
                "\n{name}, seed {seed}, failed: {}\n\nthe schedule: {schedule:#?}\n\nwhat happened:\n{}\n\n\
                 replay it: {BACKEND}={name} {SEED}={seed} cargo test -p kato-cli --features huggingface --test chaos -- --nocapture\n",
                cause.unwrap_or("it panicked"),
                run.story(),
            );
            if self.keep {
                eprintln!("its folder: {}", run.keep().display());
            }
        }
    }
}
