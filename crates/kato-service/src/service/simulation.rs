//! A simulation of copying a service while it learns, folds, merges, clears, writes indexes, is
//! stopped and is killed. A schedule is a function of its seed: between any two files of a copy, and
//! in the middle of folds and clearings, other operations are carried out or the process ends.
//! Every copy has exactly what was acknowledged when it was asked for, and so has the service in the
//! end. `KATO_CHAOS_SCHEDULES` is the number of schedules, `KATO_CHAOS_SEED` the only one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_model::{Event, PatternName};
use kato_random::SplitMix64;

use super::Service;
use crate::answer::NewSession;
use crate::backups::BackupState;
use crate::options::Durability;
use crate::steps::{Step, on_step};
use crate::{ServiceError, ServiceOptions};

const NODES: [&str; 3] = ["n0", "n1", "n2"];

/// Schedules of a plain `cargo test`.
const FEW: u64 = 8;

/// Operations of a schedule.
const OPERATIONS: u64 = 24;

/// The panic by which a simulated process is killed.
struct Killed;

/// What is known of a service from its acknowledgements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    /// How often each word was learned, by node.
    words: [BTreeMap<String, u64>; NODES.len()],
    /// Events in the short-term memory of each node's session.
    remembered: [usize; NODES.len()],
}

/// How often each kind of thing happened.
#[derive(Debug, Default)]
struct Tally {
    copies: u64,
    killed_copies: u64,
    killed_folds: u64,
    taken_back: u64,
    killed_taking_back: u64,
    operations_in_copies: u64,
    stops_in_copies: u64,
}

/// The state of a schedule.
struct World {
    random: SplitMix64,
    dir: PathBuf,
    service: Option<Service>,
    sessions: Vec<String>,
    known: Known,
    n_keys: u64,
    n_copies: u64,
    /// What a step of the kind does that is reached.
    in_copy: bool,
    /// Whether the journal says that patterns are taken back.
    is_taken_back: bool,
    tally: Tally,
}

impl World {
    fn new(seed: u64, dir: &Path) -> Self {
        let mut world = Self {
            random: SplitMix64::from_seed(seed),
            dir: dir.to_owned(),
            service: None,
            sessions: Vec::new(),
            known: Known::default(),
            n_keys: 0,
            n_copies: 0,
            in_copy: false,
            is_taken_back: false,
            tally: Tally::default(),
        };
        world.open();
        for node in NODES {
            let made = world.service().create_session(NewSession::new(node));
            let id = made.unwrap().wait().unwrap().session_id;
            world.sessions.push(id);
        }
        world
    }

    fn service(&self) -> Service {
        self.service.clone().expect("it is open between operations")
    }

    fn options(&mut self) -> ServiceOptions {
        let durability = match self.random.below(3) {
            0 => Durability::Disk,
            _ => Durability::Os,
        };
        ServiceOptions::default()
            .with_durability(durability)
            // Every round of maintenance folds, and takes all nodes but one out of memory.
            .with_fold_interval(Duration::ZERO)
            .with_max_loaded_nodes(1)
            .with_index_after_patterns(1)
            .with_index_after_percent(1)
            .with_backup_reserve(Some(0))
    }

    fn open(&mut self) {
        let service = Service::open(self.dir.join("data"), self.options()).unwrap();
        assert!(service.losses().is_empty(), "{:?}", service.losses());
        self.service = Some(service);
    }

    /// Learns or observes something, folds, clears, or writes indexes.
    fn operate(&mut self) {
        let node = self.random.below(NODES.len());
        let (service, id) = (self.service(), self.sessions[node].clone());
        match self.random.below(12) {
            0..=5 => {
                self.n_keys += 1;
                let key = format!("k{}", self.n_keys);
                // Long, so that the journal's tables are written to files all the while.
                let word = format!("{key}-{}", "w".repeat(self.random.below(600)));
                let count = 1 + self.random.below(12) as u64;
                let lesson = |n| Lesson::new([Event::new([format!("x{n}")]), Event::new([&word])]);
                let lessons: Vec<_> = (0..count).map(lesson).collect();
                let learn = || service.learn_batch(&id, lessons.clone(), Some(&key));
                learn().unwrap().wait().unwrap();
                if self.random.below(4) == 0 {
                    assert!(learn().unwrap().replayed());
                }
                self.known.words[node].insert(word, count);
            }
            6 | 7 => {
                let observed = service.observe(&id, Observation::strings(["o"]), None);
                observed.unwrap().wait().unwrap();
                self.known.remembered[node] += 1;
            }
            8 | 9 => drop(service.maintain().unwrap()),
            10 => assert_eq!(service.write_indexes().faults, []),
            _ => {
                service.clear_all(&id, None).unwrap().wait().unwrap();
                self.known.words[node].clear();
                self.known.remembered[node] = 0;
            }
        }
    }

    /// Chooses a word that a node has learned, and the names of its patterns; `None` if there is none.
    fn choose_word(&mut self) -> Option<(usize, String, Vec<PatternName>)> {
        let node = self.random.below(NODES.len());
        let words: Vec<_> = self.known.words[node].clone().into_iter().collect();
        let (word, count) = words.get(self.random.below(words.len().max(1)))?.clone();
        let name = |n| PatternName::of_events(&[[format!("x{n}")], [word.clone()]]);
        Some((node, word.clone(), (0..count).map(name).collect()))
    }

    /// Checks that a service has what is known.
    fn check(&self, service: &Service, known: &Known) {
        for (node, words) in known.words.iter().enumerate() {
            let symbols = service.symbols(NODES[node]).unwrap();
            let found = symbols
                .into_iter()
                .filter(|(word, _)| word.starts_with('k'));
            let found: BTreeMap<_, _> = found
                .map(|(word, counts)| (word, counts.frequency))
                .collect();
            assert!(&found == words, "{found:?}\n{words:?}");
            let stm = service.stm(&self.sessions[node]).unwrap();
            assert_eq!(stm.len(), known.remembered[node]);
        }
    }

    /// Checks a copy that was made when so much was known, in one of several ways to use it.
    fn check_copy(&mut self, copy: &Path, known: &Known) {
        assert_eq!(BackupState::of(copy), BackupState::Whole);
        let way = self.random.below(3);
        for round in 0..=way {
            let service = Service::open(copy, self.options()).unwrap();
            assert!(service.losses().is_empty(), "{:?}", service.losses());
            self.check(&service, known);
            match round {
                0 => drop(service),
                _ => service.close().unwrap(),
            }
        }
    }
}

/// What is done at a step of a copy, fold or clearing.
fn at_step(world: &Rc<RefCell<World>>, step: Step) {
    let mut world = world.borrow_mut();
    match step {
        Step::CopyPart | Step::FinishCopy if world.in_copy => match world.random.below(40) {
            0 => {
                world.tally.killed_copies += 1;
                drop(world);
                panic::panic_any(Killed);
            }
            1 => {
                // Stopped in order, in the middle of a copy, which goes on to its end.
                world.tally.stops_in_copies += 1;
                world.service().close().unwrap();
            }
            2..=20 => {
                world.tally.operations_in_copies += 1;
                let closed = world.service().shared.begin_write().is_err();
                if !closed {
                    world.operate();
                }
            }
            _ => {}
        },
        Step::TakeBack => {
            world.is_taken_back = true;
            if world.random.below(3) == 0 {
                world.tally.killed_taking_back += 1;
                drop(world);
                panic::panic_any(Killed);
            }
        }
        Step::CommitFold | Step::RemoveFolded if world.random.below(12) == 0 => {
            world.tally.killed_folds += 1;
            drop(world);
            panic::panic_any(Killed);
        }
        _ => {}
    }
}

/// Runs an operation that may be killed; returns `None` if it was.
fn unless_killed<T>(act: impl FnOnce() -> T) -> Option<T> {
    match panic::catch_unwind(AssertUnwindSafe(act)) {
        Ok(done) => Some(done),
        Err(panicked) if panicked.is::<Killed>() => None,
        Err(panicked) => panic::resume_unwind(panicked),
    }
}

/// Retires all patterns of a word, purges them, and lets them be learned again; returns whether it was
/// killed. What the journal has is done, and the rest is done again.
fn take_back(world: &Rc<RefCell<World>>) -> bool {
    let Some((node, word, names)) = world.borrow_mut().choose_word() else {
        return false;
    };
    let (service, id) = {
        let world = world.borrow();
        (world.service(), world.sessions[node].clone())
    };
    world.borrow_mut().tally.taken_back += 1;
    let at = Rc::clone(world);
    on_step(Some(Box::new(move |step| at_step(&at, step))));
    let retired = unless_killed(|| service.retire(&id, &names, None).unwrap().wait().unwrap());
    if retired.is_none() {
        return true;
    }
    world.borrow_mut().is_taken_back = false;
    let purged = unless_killed(|| service.purge(&id, Some(&names), 0, None).unwrap().wait());
    // At the next opening, if the journal has it.
    if world.borrow().is_taken_back {
        world.borrow_mut().known.words[node].remove(&word);
    }
    if purged.is_none() {
        return true;
    }
    unless_killed(|| service.unretire(&id, &names, None).unwrap().wait().unwrap()).is_none()
}

fn run(seed: u64) -> Tally {
    // In memory, where the system has such a directory: flushing is not what is simulated.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let dir = dir.unwrap();
    let world = Rc::new(RefCell::new(World::new(seed, dir.path())));
    for _ in 0..OPERATIONS {
        let choice = world.borrow_mut().random.below(9);
        let service = world.borrow().service();
        let at = Rc::clone(&world);
        let is_killed = match choice {
            // A fold that may be killed.
            0 => {
                on_step(Some(Box::new(move |step| at_step(&at, step))));
                unless_killed(|| service.maintain().map(drop)).is_none()
            }
            1 | 2 => {
                let (copy, known) = {
                    let mut world = world.borrow_mut();
                    world.n_copies += 1;
                    world.in_copy = true;
                    let copy = world.dir.join(format!("copy-{}", world.n_copies));
                    (copy, world.known.clone())
                };
                on_step(Some(Box::new(move |step| at_step(&at, step))));
                let made = unless_killed(|| service.backup(&copy));
                on_step(None);
                let mut world = world.borrow_mut();
                world.in_copy = false;
                match &made {
                    Some(Ok(report)) => {
                        assert!(report.losses.is_empty(), "{report:?}");
                        world.check_copy(&copy, &known);
                        world.tally.copies += 1;
                    }
                    Some(Err(error)) => panic!("{error}"),
                    None => {
                        assert_eq!(BackupState::of(&copy), BackupState::BrokenOff);
                        let opened = Service::open(&copy, world.options());
                        assert!(matches!(opened, Err(ServiceError::Unfinished { .. })));
                    }
                }
                made.is_none()
            }
            3 => {
                world.borrow().service().close().unwrap();
                false
            }
            4 => true,
            5 => take_back(&world),
            _ => {
                world.borrow_mut().operate();
                false
            }
        };
        on_step(None);
        let is_closed = service.shared.begin_write().is_err();
        drop(service);
        if is_killed || is_closed {
            let mut world = world.borrow_mut();
            world.service = None;
            world.open();
            let (service, known) = (world.service(), world.known.clone());
            world.check(&service, &known);
        }
    }
    let mut world = world.borrow_mut();
    let (service, known) = (world.service(), world.known.clone());
    world.check(&service, &known);
    service.close().unwrap();
    std::mem::take(&mut world.tally)
}

#[test]
fn every_copy_has_what_was_acknowledged_whatever_comes_between() {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let seeds = match number("KATO_CHAOS_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("KATO_CHAOS_SCHEDULES").unwrap_or(FEW),
    };
    // Kills are panics, of which nobody has to hear.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Killed>() {
            hook(info);
        }
    }));
    let mut all = Tally::default();
    for seed in seeds {
        let ended = panic::catch_unwind(|| run(seed));
        let tally = ended.unwrap_or_else(|panicked| {
            eprintln!("run it again with KATO_CHAOS_SEED={seed}");
            panic::resume_unwind(panicked)
        });
        all.copies += tally.copies;
        all.killed_copies += tally.killed_copies;
        all.killed_folds += tally.killed_folds;
        all.taken_back += tally.taken_back;
        all.killed_taking_back += tally.killed_taking_back;
        all.operations_in_copies += tally.operations_in_copies;
        all.stops_in_copies += tally.stops_in_copies;
    }
    println!("{all:?}");
    // A single schedule may have had none.
    assert!(all.copies > 0 || number("KATO_CHAOS_SEED").is_some());
}
