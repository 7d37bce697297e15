//! What is done to a run, and when: drawn from a seed, and from nothing else.

use std::time::Duration;

use kato_stock_server::{Generation, Serving, StockOptions};

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
    /// Of a stand-in for a real KATO.
    pub(crate) slowness: Option<Slowness>,
    pub(crate) sessions: Vec<Session>,
}

/// What makes a stand-in for a real KATO slow, and what makes it worse.
#[derive(Debug, Clone)]
pub(crate) struct Slowness {
    pub(crate) family: Family,
    generation: Generation,
    seed: u64,
    whole: bool,
    keep_sessions: bool,
    /// Every so many learns takes so many milliseconds more.
    stall: Option<(u64, u64)>,
    die_after: Option<u64>,
    visible_ms: u64,
    /// `--timeout` of the trainer.
    timeout: &'static str,
}

/// What a schedule of a stand-in is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// No fault at all, but time-outs.
    Slow,
    /// The server dies.
    Killed,
    /// The trainer dies, or its connections do.
    Abandoned,
    /// Everything.
    Mixed,
}

impl Slowness {
    fn new(generation: Generation, seed: u64, random: &mut Random) -> Self {
        let family = [
            Family::Slow,
            Family::Killed,
            Family::Abandoned,
            Family::Mixed,
        ][(seed % 4) as usize];
        let is_slow = matches!(family, Family::Slow | Family::Mixed);
        let stall = (3 + random.below(30), 200 + random.below(1_300));
        let die_after = 1 + random.below(150);
        let dies = match family {
            Family::Killed => random.below(2) == 0,
            Family::Mixed => random.below(4) == 0,
            Family::Slow | Family::Abandoned => false,
        };
        Self {
            family,
            generation,
            seed,
            whole: random.below(3) == 0,
            keep_sessions: random.below(2) == 0,
            stall: is_slow.then_some(stall),
            die_after: dies.then_some(die_after),
            visible_ms: random.below(2) * 200,
            timeout: match is_slow {
                true => random.pick(&["0.1", "0.3", "0.6", "1", "60"]),
                false => random.pick(&["1", "5", "60"]),
            },
        }
    }

    /// Until it dies by itself.
    pub(crate) fn options(&self) -> StockOptions {
        match self.die_after {
            Some(n) => self.options_again().die_after(n),
            None => self.options_again(),
        }
    }

    /// How it is started again.
    pub(crate) fn options_again(&self) -> StockOptions {
        let options = StockOptions::default()
            .generation(self.generation)
            .seed(self.seed)
            .keep_sessions(self.keep_sessions)
            .visible_ms(0..=self.visible_ms)
            .serve(match self.whole {
                true => Serving::Whole,
                false => Serving::Turns,
            });
        match self.stall {
            Some((every, millis)) => options.stall(every, millis),
            None => options,
        }
    }

    /// Options of the trainer: it knows how long the server may be silent, as the docs ask of a
    /// user.
    pub(crate) fn arguments(&self) -> [&'static str; 4] {
        let settle = if self.stall.is_some() { "4" } else { "1.5" };
        ["--timeout", self.timeout, "--settle", settle]
    }
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
    /// Started again at once where no file can grow beyond these blocks, and later without the
    /// limit.
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
        let mut random = Random::from_seed(seed ^ ((backend as u64 + 1) << 32));
        let direct = random.below(4) == 0;
        let n_sessions = 1 + random.below(4);
        let generation = backend.generation();
        let slowness = generation.map(|generation| Slowness::new(generation, seed, &mut random));
        let family = slowness.as_ref().map_or(Family::Mixed, |slow| slow.family);
        let direct = match family {
            Family::Slow | Family::Killed => true,
            Family::Abandoned | Family::Mixed => direct,
        };
        Self {
            direct,
            batch: random.pick(&["1", "2", "4", "8"]),
            durability: random.pick(&["os", "os", "disk"]),
            slowness,
            sessions: (0..n_sessions)
                .map(|_| session(backend, family, direct, &mut random))
                .collect(),
        }
    }
}

impl Family {
    fn allows(self, what: Disturbance) -> bool {
        let is_server_s = matches!(
            what,
            Disturbance::KillServer(_)
                | Disturbance::StopServer(_)
                | Disturbance::FillServerDisk(..)
        );
        match self {
            Self::Slow => false,
            Self::Killed => is_server_s,
            Self::Abandoned => !is_server_s,
            Self::Mixed => true,
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

fn session(backend: Backend, family: Family, direct: bool, random: &mut Random) -> Session {
    let damage = random.below(4) == 0;
    let full_disk = random.below(8) == 0;
    let n_events = random.below(MAX_EVENTS);
    let mut events: Vec<Event> = (0..n_events)
        .filter_map(|_| {
            disturbance(backend, direct, random).map(|what| event(backend, what, random))
        })
        .filter(|event| family.allows(event.what))
        .collect();
    if family == Family::Killed {
        for _ in 0..1 + random.below(3) {
            let away = Duration::from_millis(random.below(400));
            events.push(event(backend, Disturbance::KillServer(away), random));
        }
    }
    let last = match random.below(8) {
        _ if matches!(family, Family::Slow | Family::Killed) => None,
        0 => None,
        1 => Some(Disturbance::InterruptTrainer),
        _ => Some(Disturbance::KillTrainer),
    };
    events.extend(last.map(|what| event(backend, what, random)));
    let is_mixed = family == Family::Mixed;
    Session {
        damage: (is_mixed && damage).then(|| draw_damage(random)),
        full_disk: (is_mixed && full_disk).then(|| 1 << random.below(7)),
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

/// Half of the moments count from documents, half from the start of the program or from the event
/// before.
fn event(backend: Backend, what: Disturbance, random: &mut Random) -> Event {
    let after_commit = random.below(2) == 0;
    let documents = 1 + random.below(backend.n_records() / 3);
    let most = match (after_commit, backend.generation()) {
        (true, None) => 20,
        (false, None) => 250,
        // A learn takes its time there.
        (true, Some(_)) => 400,
        (false, Some(_)) => 2_500,
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
        // A stock server whose disk is full may show what it then loses, and a run says so and
        // ends.
        7 if backend == Backend::Kato => Disturbance::FillServerDisk(1 << random.below(8), short),
        _ => return None,
    })
}
