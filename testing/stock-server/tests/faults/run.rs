//! One run: a trainer in this process, a server in another.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kato_client::{KatoClient, RetryPolicy, SessionOptions};
use kato_remote::{Doubts, RemoteBackend, RemoteBackendBuilder, RemoteError, TornLearns};
use kato_scheduler::{
    Backend as _, RunConfiguration, TrainError, TrainingOptions, Workers, loader_at_checkpoint,
    train_parallel_with,
};
use kato_stock_server::{Generation, StockServer};

use crate::knowledge::{RUN, differences, documents, learner, shown, undisturbed};
use crate::schedule::{Kind, Loss, Schedule, n_documents};

/// Variables of a trainer in a process of its own: seed, documents and address, and its directory.
const TRAINER: [&str; 2] = ["KATO_FAULTS_TRAINER", "KATO_FAULTS_DIR"];

/// Times that a run is resumed after an error that may pass.
const RESUMED: usize = 4;

/// Longest time for an answer, and for a server to come back: more than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a time that is longer than any run takes, however busy the machine.
fn longest() -> Duration {
    Duration::from_secs(600 + n_documents())
}

/// How a run ended.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// What it was, in a word or two.
    pub(crate) what: &'static str,
    pub(crate) doubts: Vec<Doubts>,
    /// What the trainers said.
    pub(crate) story: Vec<String>,
}

/// The end of one session of a trainer.
pub(crate) struct Session {
    pub(crate) outcome: Result<(), TrainError>,
    doubts: Doubts,
    torn: BTreeSet<String>,
}

/// Carries a schedule out.
///
/// # Panics
///
/// When it ends otherwise than it may.
pub(crate) fn carry_out(schedule: &Schedule) -> End {
    let program = Path::new(env!("CARGO_BIN_EXE_stock_server"));
    let mut server = StockServer::start_program(program, schedule.first.clone());
    match schedule.kind {
        Kind::Twins => twins(schedule, &mut server),
        _ => alone(schedule, &mut server),
    }
}

/// One trainer, which is resumed where an error may pass.
fn alone(schedule: &Schedule, server: &mut StockServer) -> End {
    let dir = tempfile::tempdir().unwrap();
    let mut end = End::default();
    let retired = (schedule.kind == Kind::Retired).then(|| pattern_of(schedule.seed));
    let mut is_retired = false;
    let mut limits = schedule.limits.iter().copied();
    let mut limit = limits.next().unwrap();
    if let (Some((node, name)), Loss::Options) = (&retired, schedule.loss) {
        server.retire(node, &[name]);
    }
    if let Some(requests) = schedule.killed_after {
        train_and_kill(schedule, server, dir.path(), limit, requests);
        end.story.push(format!("killed after {requests} requests"));
    }
    for _ in 0..RESUMED {
        let url = server.url();
        let retire_later = match (&retired, schedule.loss) {
            (Some((node, name)), Loss::RetiredAfter(requests)) if !is_retired => {
                Some((requests, &**node, &**name))
            }
            _ => None,
        };
        let session = guarded(schedule, server, retire_later, || {
            train(schedule, &url, dir.path(), limit)
        });
        end.doubts.push(session.doubts);
        match session.outcome {
            Ok(()) => {
                let Some(next) = limits.next() else {
                    let was_retired = end.what == "retired";
                    let mut end = finished(schedule, server, end, &session.torn);
                    if was_retired {
                        end.what = "retired, and equal in the end";
                    }
                    return end;
                };
                limit = next;
                match schedule.loss {
                    Loss::Options | Loss::RetiredAfter(_) => {}
                    Loss::FlushedBetween => server.flush(),
                    Loss::EmptiedBetween => server.empty(),
                    Loss::RetiredBetween => {
                        if let Some((node, name)) = &retired {
                            server.retire(node, &[name]);
                        }
                    }
                }
                end.story.push(format!("resumed for {limit} documents"));
            }
            Err(error) => {
                let text = in_full(&error);
                end.story.push(text.clone());
                if let Some(what) = named(&error) {
                    end.what = what;
                    if let (Some((node, name)), "retired") = (&retired, what) {
                        assert!(
                            text.contains(name) && text.contains("corpus.jsonl"),
                            "{text}"
                        );
                        server.unretire(node, &[name]);
                        is_retired = true;
                        continue;
                    }
                    if what == "torn" {
                        teach_again(schedule, server, dir.path(), &mut end);
                    }
                    return end;
                }
            }
        }
    }
    panic!("it never gets done: {:#?}", end.story)
}

/// A node of the run, and a pattern that it learns.
fn pattern_of(seed: u64) -> (String, String) {
    let level = seed as usize % undisturbed().len();
    let patterns = &undisturbed()[level].patterns;
    let idx = (seed as usize * 7919) % patterns.len();
    let name = patterns.keys().nth(idx).unwrap().clone();
    (format!("{RUN}_{}", learner().node_names()[level]), name)
}

/// Compares what the server knows with what an undisturbed run learns.
pub(crate) fn finished(
    schedule: &Schedule,
    server: &mut StockServer,
    mut end: End,
    torn: &BTreeSet<String>,
) -> End {
    assert!(server.wait_idle(longest()), "it is still at work");
    let found = shown(&server.learned(), RUN, schedule.generation);
    let differences = differences(&found, schedule.generation, torn);
    assert!(
        differences.is_empty(),
        "it says that it is done, and {} things differ: {:#?}\n{:#?}",
        differences.len(),
        &differences[..differences.len().min(8)],
        end.story,
    );
    end.what = match torn.is_empty() {
        true => "equal",
        false => "equal but for torn ones",
    };
    end
}

/// Teaches new nodes what a run has learned whose nodes are torn, and goes on there.
fn teach_again(schedule: &Schedule, server: &mut StockServer, dir: &Path, end: &mut End) {
    const ANOTHER: &str = "fault_run_again";
    let learner = learner();
    let configuration = RunConfiguration::from_learner(learner);
    let (url, old) = (server.url(), dir.join("state.json"));
    let builder = || builder(schedule, &url, ANOTHER, &dir.join("again.json"));
    let created = unlocked(|| {
        let builder = builder().with_reteaching(&old);
        builder.create(learner, &configuration)
    });
    let backend = match created {
        Ok(backend) => backend,
        // Nothing was committed, so there is nothing to be taught again.
        Err(RemoteError::State { action, .. }) => {
            assert!(action == "copy" || action == "find", "{action}");
            return;
        }
        Err(error) => panic!("{}", in_full(&error)),
    };
    // As if the process had ended before it taught anything.
    drop(backend);
    let backend = unlocked(|| builder().open(learner)).unwrap();
    let outcome = go_on(schedule, &backend, n_documents());
    outcome.unwrap_or_else(|error| panic!("{}", in_full(&error)));
    drop(backend);
    assert!(server.wait_idle(longest()), "it is still at work");
    let found = shown(&server.learned(), ANOTHER, schedule.generation);
    let differences = differences(&found, schedule.generation, &BTreeSet::new());
    assert!(
        differences.is_empty(),
        "taught again, {} things differ: {:#?}",
        differences.len(),
        &differences[..differences.len().min(8)],
    );
    end.what = "torn, and taught again";
}

/// Two trainers at once, of which at most one may end well.
fn twins(schedule: &Schedule, server: &mut StockServer) -> End {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let url = server.url();
    let sessions = thread::scope(|scope| {
        let begin = |idx: usize| {
            let (url, dir) = (url.clone(), dirs[idx].path());
            scope.spawn(move || {
                if idx == 1 {
                    thread::park_timeout(schedule.later);
                }
                train(schedule, &url, dir, n_documents())
            })
        };
        let trainers = [begin(0), begin(1)];
        trainers.map(|trainer| trainer.join().unwrap())
    });
    let mut end = End {
        what: "both refused",
        ..End::default()
    };
    let mut n_well = 0;
    for session in sessions {
        end.doubts.push(session.doubts);
        match session.outcome {
            Ok(()) => n_well += 1,
            Err(error) => {
                end.story.push(in_full(&error));
                let what = named(&error);
                assert!(what.is_some(), "{}", in_full(&error));
                end.what = what.unwrap();
            }
        }
    }
    assert!(n_well < 2, "both end well");
    end
}

/// Calls a trainer, starts the server again whenever it has died, and retires a pattern of a node once there
/// were so many requests.
fn guarded(
    schedule: &Schedule,
    server: &mut StockServer,
    mut retire_later: Option<(u64, &str, &str)>,
    train: impl FnOnce() -> Session + Send,
) -> Session {
    let start = Instant::now();
    let session = thread::scope(|scope| {
        let trainer = scope.spawn(train);
        while !trainer.is_finished() {
            assert!(start.elapsed() < longest(), "it hangs: {schedule:#?}");
            let is_due = |due: &mut (u64, &str, &str)| n_requests(server) >= due.0;
            if let Some((_, node, name)) = retire_later.take_if(is_due) {
                server.retire(node, &[name]);
            }
            if server.wait_ended(Duration::from_millis(5)).is_some() {
                thread::park_timeout(schedule.away);
                server.restart_with(schedule.again.clone());
            }
        }
        trainer.join().unwrap()
    });
    // It may have died of what the trainer had sent last, and is asked for more before the next one begins.
    if server.wait_ended(Duration::ZERO).is_some() {
        server.restart_with(schedule.again.clone());
    }
    session
}

/// Trains up to so many documents in a process of its own, and kills it after so many requests.
fn train_and_kill(
    schedule: &Schedule,
    server: &mut StockServer,
    dir: &Path,
    limit: u64,
    requests: u64,
) {
    let start = Instant::now();
    let [told, place] = TRAINER;
    let mut trainer = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_trainer", "--ignored"])
        .env(told, format!("{} {limit} {}", schedule.seed, server.url()))
        .env(place, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while trainer.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < longest(), "it hangs: {schedule:#?}");
        if n_requests(server) >= requests {
            trainer.kill().unwrap();
        }
        if server.wait_ended(Duration::from_millis(5)).is_some() {
            server.restart_with(schedule.again.clone());
        }
    }
}

/// Returns how many requests a server has received.
fn n_requests(server: &StockServer) -> u64 {
    kato_stock_server::requests(server.dir()).len() as u64
}

/// Trains as the process of [`train_and_kill`].
pub(crate) fn be_the_trainer() {
    let [Ok(told), Ok(place)] = TRAINER.map(env::var) else {
        return;
    };
    let told: Vec<&str> = told.split(' ').collect();
    let schedule = Schedule::new(Kind::Retired, Generation::V6_3, told[0].parse().unwrap());
    train(
        &schedule,
        told[2],
        Path::new(&place),
        told[1].parse().unwrap(),
    );
}

/// Begins or opens a run that is not locked. A server that another thread is about to start shares
/// the open files of this process for a moment, locks included.
fn unlocked(
    begin: impl Fn() -> Result<RemoteBackend, RemoteError>,
) -> Result<RemoteBackend, RemoteError> {
    let start = Instant::now();
    loop {
        match begin() {
            Err(RemoteError::State { action: "lock", .. }) if start.elapsed() < longest() => {
                thread::park_timeout(Duration::from_millis(20));
            }
            begun => return begun,
        }
    }
}

/// Trains up to so many documents, as a process of its own would.
pub(crate) fn train(schedule: &Schedule, url: &str, dir: &Path, limit: u64) -> Session {
    let state = dir.join("state.json");
    let learner = learner();
    let begin = || {
        let builder = builder(schedule, url, RUN, &state);
        match state.exists() {
            true => builder.open(learner),
            false => builder.create(learner, &RunConfiguration::from_learner(learner)),
        }
    };
    let backend = unlocked(begin);
    let backend = match backend {
        Ok(backend) => backend,
        Err(error) => {
            return Session {
                outcome: Err(error.into()),
                doubts: Doubts::default(),
                torn: BTreeSet::new(),
            };
        }
    };
    let outcome = go_on(schedule, &backend, limit);
    let torn = backend.torn_learns().into_iter();
    Session {
        outcome,
        doubts: backend.doubts(),
        torn: torn.map(|torn| torn.pattern.to_string()).collect(),
    }
}

/// Trains from where a run ended up to so many documents.
fn go_on(schedule: &Schedule, backend: &RemoteBackend, limit: u64) -> Result<(), TrainError> {
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::new(schedule.workers).unwrap());
    options.commit_interval = schedule.commit_interval;
    let documents = documents().with_max_documents(limit);
    let mut loader = loader_at_checkpoint(documents, &backend.checkpoint())?;
    train_parallel_with(&mut loader, learner(), backend, &options, |_event| {}).map(drop)
}

/// A run's builder, with times as short as the server is quick.
fn builder(schedule: &Schedule, url: &str, run: &str, state: &Path) -> RemoteBackendBuilder {
    let retry = RetryPolicy::default()
        .with_attempts(u32::MAX)
        .with_patience(PATIENCE)
        .with_first_wait(Duration::from_millis(2))
        .with_longest_wait(Duration::from_millis(40))
        .with_jitter_seed(schedule.seed);
    let client = KatoClient::builder(url, SessionOptions::new("unused")).with_retry(retry);
    RemoteBackend::builder(client, run.parse().unwrap(), state)
        .with_batch(NonZeroUsize::new(schedule.batch).unwrap())
        .with_timeout(PATIENCE)
        .with_settle(Duration::from_millis(150))
        .with_patience(Duration::from_secs(2))
        .with_check_interval(schedule.check_interval)
        .with_torn_learns(match schedule.keeps_torn {
            true => TornLearns::Keep,
            false => TornLearns::End,
        })
}

/// Returns what an error says has happened; `None` for one that may pass.
fn named(error: &TrainError) -> Option<&'static str> {
    let TrainError::Backend(error) = error else {
        return None;
    };
    match error.get_ref().downcast_ref::<RemoteError>()? {
        RemoteError::Lost { .. } => Some("lost"),
        RemoteError::Torn { .. } => Some("torn"),
        RemoteError::Retired(_) => Some("retired"),
        RemoteError::Miscounted { .. } | RemoteError::TaughtBefore { .. } => {
            Some("another trainer")
        }
        _ => None,
    }
}

fn in_full(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}
