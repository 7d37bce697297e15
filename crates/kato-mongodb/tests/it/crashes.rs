//! Whatever dies, and whenever: the store ends as if nothing had happened.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use kato_model::RunName;
use kato_mongo_server::{MongoServer, ServerOptions, is_installed};
use kato_mongodb::{Guard, MongoStore};
use kato_random::SplitMix64;
use kato_store::conformance::{CallSymbol, LearnCall, Lessons, assert_same_content};
use kato_store::{MemoryStore, PatternStore, StoreError};
use kato_test_needs::is_thorough;
use serde_json::{Value, json};

use crate::cutter::Cutter;
use crate::support::{builder, fresh_run, server};

const N_COMMITS: usize = 6;
const PER_COMMIT: usize = 12;

/// How often something is done: less where only some cases are wanted. Both are even, for two guards.
fn n_cases(thorough: u64, some: u64) -> u64 {
    if is_thorough() { thorough } else { some }
}

/// Random numbers by a seed: a schedule is its seed.
struct Draws(SplitMix64);

impl Draws {
    fn next(&mut self, below: u64) -> u64 {
        self.0.next_u64() % below
    }
}

/// Two nodes, many repeats, attributes here and there.
fn lessons() -> Lessons {
    let mut lessons = Vec::new();
    for idx in 0..N_COMMITS * PER_COMMIT {
        let mut lesson = if idx % 4 == 3 {
            LearnCall::new(
                1,
                [CallSymbol::Learned(idx - 1), CallSymbol::Learned(idx - 2)],
            )
        } else {
            LearnCall::text(0, &["a", &(idx % 17).to_string()])
        };
        if idx % 5 == 0 {
            let affinity = [("joy".to_owned(), 0.25)].into();
            lesson.attributes.affinity = affinity;
            lesson.attributes.emotives.learn(
                (idx as u64, 0),
                [("joy".to_owned(), idx as f64)].into(),
                kato_model::emotives::DEFAULT_PERSISTENCE,
            );
        }
        if idx % 7 == 0 {
            lesson.vectors = vec![(
                kato_model::VectorName::of_vector(&[idx as f64]),
                vec![idx as f64],
            )];
        }
        lessons.push(lesson);
    }
    Lessons::new(2, lessons).with_provenance()
}

fn commit_number(
    lessons: &Lessons,
    store: &dyn PatternStore,
    number: usize,
) -> Result<(), StoreError> {
    let first = number * PER_COMMIT;
    let half = first + PER_COMMIT / 2;
    let parts = [
        (first..half).collect::<Vec<_>>(),
        (half..first + PER_COMMIT).collect(),
    ];
    let staged = parts
        .iter()
        .map(|part| store.stage(lessons.batch(part)))
        .collect::<Result<_, _>>()?;
    store.commit(staged, json!(number + 1))
}

/// What training without a failure gives.
fn uninterrupted(lessons: &Lessons) -> MemoryStore {
    let store = MemoryStore::new(&["node0", "node1"], Value::Null);
    (0..N_COMMITS).for_each(|number| commit_number(lessons, &store, number).unwrap());
    store
}

fn assert_uninterrupted(store: &MongoStore, lessons: &Lessons, what: &str) {
    assert_eq!(store.checkpoint(), json!(N_COMMITS), "{what}");
    assert_same_content(
        store,
        &uninterrupted(lessons),
        (N_COMMITS * PER_COMMIT) as u64,
    );
}

/// Trains to the end, opening the store again after every error.
fn train(
    uri: &str,
    run: &RunName,
    guard: Guard,
    lessons: &Lessons,
) -> Result<MongoStore, StoreError> {
    let open = || {
        builder(uri, run, guard)
            .with_patience(Duration::from_secs(2))
            .with_chunk(4)
            .open()
    };
    let start = Instant::now();
    loop {
        let trained = open().and_then(|store| {
            while (store.checkpoint().as_u64().unwrap_or(0) as usize) < N_COMMITS {
                let done = store.checkpoint().as_u64().unwrap_or(0) as usize;
                commit_number(lessons, &store, done)?;
            }
            // Carries out what may be undone.
            store.totals(0).map(|_| store)
        });
        match trained {
            Err(error) if passes_by(&error) && start.elapsed() < Duration::from_secs(60) => {}
            done => return done,
        }
    }
}

/// The server is away, or has not heard yet that the writer before let go.
fn passes_by(error: &StoreError) -> bool {
    error.is_transient() || matches!(error, StoreError::Locked { .. })
}

fn address_of(uri: &str) -> SocketAddr {
    let rest = uri.strip_prefix("mongodb://").unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

#[test]
fn connections_cut_in_the_middle_of_an_answer_lose_and_double_nothing() {
    if !is_installed() {
        return;
    }
    // Of its own: what was cut may hold up whoever else asks this server.
    let own = MongoServer::start_with(ServerOptions::default());
    let direct = own.uri();
    let cutter = Cutter::start(address_of(&direct));
    let uri = format!("mongodb://{}/?directConnection=true", cutter.address);
    let lessons = lessons();
    for seed in 0..n_cases(20, 4) {
        let guard = [Guard::Transaction, Guard::Journal][seed as usize % 2];
        let run = fresh_run();
        drop(
            builder(&direct, &run, guard)
                .create(&["node0", "node1"], json!(0))
                .unwrap(),
        );
        let mut draws = Draws(SplitMix64::from_seed(seed));
        let left = Arc::clone(&cutter.left);
        let stop = Arc::new(AtomicU64::new(0));
        let cuts = {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while stop.load(Ordering::SeqCst) == 0 {
                    left.store(200 + draws.next(40_000), Ordering::SeqCst);
                    while left.load(Ordering::SeqCst) != u64::MAX
                        && stop.load(Ordering::SeqCst) == 0
                    {
                        thread::park_timeout(Duration::from_millis(5));
                    }
                }
                left.store(u64::MAX, Ordering::SeqCst);
            })
        };
        let trained = train(&uri, &run, guard, &lessons);
        stop.store(1, Ordering::SeqCst);
        cuts.join().unwrap();
        drop(trained.unwrap_or_else(|error| panic!("seed {seed}: {error:?}")));
        let store = builder(&direct, &run, guard).open().unwrap();
        assert_uninterrupted(&store, &lessons, &format!("seed {seed}"));
    }
}

#[test]
fn a_forget_that_is_cut_before_its_end_is_carried_out_once() {
    if !is_installed() {
        return;
    }
    // Of its own: what was cut may hold up whoever else asks this server.
    let own = MongoServer::start_with(ServerOptions::default());
    let direct = own.uri();
    // The note that a commit is applied: everything before it is done when it gets lost.
    let cutter = Cutter::start_before(address_of(&direct), b"\x0apending\0");
    let through = format!("mongodb://{}/?directConnection=true", cutter.address);
    let lessons = lessons();
    let expected = uninterrupted(&lessons);
    let names = expected.scan_frequencies(0).unwrap();
    let names = names.map(|pattern| pattern.map(|(name, _)| name));
    // All of the lower node, so that none of its symbols is left.
    let names = [names.collect::<Result<Vec<_>, _>>().unwrap(), Vec::new()];
    expected.forget(&names, json!("forgotten")).unwrap();
    for guard in [Guard::Transaction, Guard::Journal] {
        let run = fresh_run();
        let created = builder(&direct, &run, guard).create(&["node0", "node1"], json!(0));
        drop(created.unwrap());
        drop(train(&direct, &run, guard, &lessons).unwrap());
        let store = builder(&through, &run, guard).with_patience(Duration::from_secs(2));
        let store = store.open().unwrap();
        cutter.cut_before.store(0, Ordering::SeqCst);
        store.forget(&names, json!("forgotten")).unwrap();
        assert!(cutter.cut_before.load(Ordering::SeqCst) > 0);
        drop(store);
        let store = builder(&direct, &run, guard).open().unwrap();
        assert_eq!(store.checkpoint(), json!("forgotten"), "{guard:?}");
        assert_same_content(&store, &expected, (N_COMMITS * PER_COMMIT) as u64);
    }
}

#[test]
fn a_killed_server_loses_and_doubles_nothing() {
    if !is_installed() {
        return;
    }
    let lessons = lessons();
    for standalone in [false, true] {
        let guard = if standalone {
            Guard::Journal
        } else {
            Guard::Transaction
        };
        let options = ServerOptions {
            standalone,
            durable: true,
        };
        let mut server = MongoServer::start_with(options);
        let uri = server.uri();
        for seed in 0..n_cases(4, 2) {
            let run = fresh_run();
            drop(
                builder(&uri, &run, Guard::Auto)
                    .create(&["node0", "node1"], json!(0))
                    .unwrap(),
            );
            let mut draws = Draws(SplitMix64::from_seed(seed));
            let trained = thread::scope(|scope| {
                let training = scope.spawn(|| train(&uri, &run, Guard::Auto, &lessons));
                for _ in 0..2 {
                    thread::park_timeout(Duration::from_millis(20 + draws.next(400)));
                    server.restart();
                }
                training.join().unwrap()
            });
            let store = trained.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
            assert_eq!(store.guard(), guard);
            assert_uninterrupted(&store, &lessons, &format!("seed {seed}"));
        }
    }
}

const CHILD: &str = "KATO_MONGODB_TEST_CHILD";

/// Trains where it is told to, and says how far it is.
#[test]
fn child_trains_until_it_is_killed() {
    let Ok(told) = env::var(CHILD) else { return };
    let (uri, rest) = told.split_once(' ').unwrap();
    let (run, guard) = rest.split_once(' ').unwrap();
    let guard = if guard == "journal" {
        Guard::Journal
    } else {
        Guard::Transaction
    };
    let run = run.parse().unwrap();
    println!("\nready");
    std::io::stdout().flush().unwrap();
    train(uri, &run, guard, &lessons()).unwrap();
    println!("\ndone");
}

#[test]
fn a_killed_trainer_loses_and_doubles_nothing() {
    let Some(uri) = server() else { return };
    let lessons = lessons();
    for seed in 0..n_cases(16, 4) {
        let (guard, name) = [
            (Guard::Transaction, "transaction"),
            (Guard::Journal, "journal"),
        ][seed as usize % 2];
        let run = fresh_run();
        drop(
            builder(&uri, &run, guard)
                .create(&["node0", "node1"], json!(0))
                .unwrap(),
        );
        let mut draws = Draws(SplitMix64::from_seed(seed));
        for _ in 0..2 {
            let mut child = Command::new(env::current_exe().unwrap())
                .args([
                    "crashes::child_trains_until_it_is_killed",
                    "--exact",
                    "--nocapture",
                ])
                .env(CHILD, format!("{uri} {run} {name}"))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert!(lines.map(Result::unwrap).any(|line| line == "ready"));
            thread::park_timeout(Duration::from_millis(draws.next(500)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // What is left goes on under the guard that it began with, whatever the next writer's.
        let other = [Guard::Journal, Guard::Transaction][seed as usize % 2];
        let store = train(&uri, &run, other, &lessons)
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert_uninterrupted(&store, &lessons, &format!("seed {seed}"));
    }
}
