//! What is done to a run, and when: drawn from a seed, and from nothing else.

use std::time::Duration;

use crate::backends::Backend;
use crate::random::Random;

/// What happens to one run, until it is left alone.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The trainer speaks to the server itself; otherwise through a proxy that fails.
    pub(crate) direct: bool,
    /// `--batch`, where there are batches: the same over a run.
    pub(crate) batch: &'static str,
    /// `--durability` of a server that is ours.
    pub(crate) durability: &'static str,
    pub(crate) sessions: Vec<Session>,
}

/// One life of the trainer.
#[derive(Debug)]
pub(crate) struct Session {
    /// What is done to the newest checkpoint before.
    pub(crate) damage: Option<Damage>,
    /// The largest file that the trainer can write, in blocks of the shell's `ulimit`.
    pub(crate) full_disk: Option<u32>,
    pub(crate) workers: &'static str,
    pub(crate) distribution: &'static str,
    pub(crate) commit_interval: &'static str,
    pub(crate) memory: &'static str,
    /// One after the other, as long as the trainer lives.
    pub(crate) events: Vec<Event>,
}

/// Something that happens once the one before has happened.
#[derive(Debug)]
pub(crate) struct Event {
    /// Not before this many documents are committed that were not when the session began.
    pub(crate) documents: u64,
    /// Then this much later.
    pub(crate) delay: Duration,
    pub(crate) what: Disturbance,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Disturbance {
    /// `kill -9`.
    KillTrainer,
    /// `kill -15`: it commits and ends.
    InterruptTrainer,
    /// `kill -STOP`, and later `kill -CONT`.
    StopTrainer(Duration),
    /// `kill -9`, and later it is started again on its port and data.
    KillServer(Duration),
    StopServer(Duration),
    /// Started again at once where no file can grow beyond these blocks, and later without the limit.
    FillServerDisk(u32, Duration),
    /// All connections end now.
    Cut,
    /// A connection ends this many bytes of requests later, in the middle of one.
    CutRequest(u64),
    /// A connection ends this many bytes of replies later.
    CutReply(u64),
    /// Connections crawl for a while, at a few bytes a millisecond.
    Crawl(Duration),
}

/// Something that happens to the newest checkpoint, at a part of its length.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Damage {
    /// One bit of a byte changes.
    Flip { place: f64, bit: u64 },
    /// It ends there.
    Cut { place: f64 },
}

/// Disturbances of a session at most.
const MAX_EVENTS: u64 = 4;

impl Schedule {
    pub(crate) fn new(backend: Backend, seed: u64) -> Self {
        let mut random = Random(seed ^ ((backend as u64 + 1) << 32));
        let direct = random.below(4) == 0;
        let n_sessions = 1 + random.below(4);
        Self {
            direct,
            batch: random.pick(&["1", "2", "4", "8"]),
            durability: random.pick(&["os", "os", "disk"]),
            sessions: (0..n_sessions)
                .map(|_| session(backend, direct, &mut random))
                .collect(),
        }
    }
}

impl Session {
    /// One that nothing happens to.
    pub(crate) const fn calm() -> Self {
        Self {
            damage: None,
            full_disk: None,
            workers: "2",
            distribution: "work-stealing",
            commit_interval: "0.05",
            memory: "64MB",
            events: Vec::new(),
        }
    }

    /// Its options of `train`.
    pub(crate) fn arguments(&self) -> Vec<&'static str> {
        [
            ["--workers", self.workers],
            ["--distribution", self.distribution],
            ["--commit-interval", self.commit_interval],
            ["--memory", self.memory],
        ]
        .concat()
    }
}

fn session(backend: Backend, direct: bool, random: &mut Random) -> Session {
    let damage = random.below(4) == 0;
    let full_disk = random.below(8) == 0;
    let n_events = random.below(MAX_EVENTS);
    let mut events: Vec<Event> = (0..n_events)
        .filter_map(|_| {
            disturbance(backend, direct, random).map(|what| event(backend, what, random))
        })
        .collect();
    let last = match random.below(8) {
        0 => None,
        1 => Some(Disturbance::InterruptTrainer),
        _ => Some(Disturbance::KillTrainer),
    };
    events.extend(last.map(|what| event(backend, what, random)));
    Session {
        damage: damage.then(|| draw_damage(random)),
        full_disk: full_disk.then(|| 1 << random.below(7)),
        workers: random.pick(&["1", "2", "3", "4", "5", "6", "7", "8", "auto"]),
        distribution: random.pick(&["work-stealing", "round-robin", "contiguous"]),
        commit_interval: match backend {
            // A commit there takes tens of milliseconds.
            Backend::Mongodb => random.pick(&["0.1", "0.3", "1"]),
            _ => random.pick(&["0", "0", "0.005", "0.03", "0.2"]),
        },
        memory: random.pick(&["1KB", "300KB", "64MB"]),
        events,
    }
}

/// Half of the moments count from documents, half from the start of the program or from the event before.
fn event(backend: Backend, what: Disturbance, random: &mut Random) -> Event {
    let after_commit = random.below(2) == 0;
    let documents = 1 + random.below(backend.n_records() / 3);
    let most = match after_commit {
        true => 20,
        false => 250,
    };
    Event {
        documents: if after_commit { documents } else { 0 },
        delay: random.delay(Duration::from_millis(most)),
        what,
    }
}

fn draw_damage(random: &mut Random) -> Damage {
    let (place, bit) = (random.next(), random.below(8));
    match random.below(3) {
        0 => Damage::Cut { place },
        _ => Damage::Flip { place, bit },
    }
}

/// `None` for one that this run cannot meet.
fn disturbance(backend: Backend, direct: bool, random: &mut Random) -> Option<Disturbance> {
    let bytes = random.below(20_000);
    let short = Duration::from_millis(random.below(150));
    let has_server = backend != Backend::Embedded;
    let has_proxy = has_server && !direct;
    Some(match random.below(8) {
        0 => Disturbance::StopTrainer(short),
        1 if has_server => Disturbance::KillServer(short),
        2 if has_server => Disturbance::StopServer(short),
        3 if has_proxy => Disturbance::Cut,
        4 if has_proxy => Disturbance::CutRequest(bytes),
        5 if has_proxy => Disturbance::CutReply(bytes / 10),
        6 if has_proxy => Disturbance::Crawl(3 * short),
        // A stock server whose disk is full may show what it then loses, and a run says so and ends.
        7 if backend == Backend::Kato => Disturbance::FillServerDisk(1 << random.below(8), short),
        _ => return None,
    })
}
