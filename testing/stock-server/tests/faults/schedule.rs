//! What happens to a run: drawn from a seed, and from nothing else.

use std::time::Duration;

use kato_random::SplitMix64;
use kato_stock_server::{Generation, Serving, StockOptions};

/// What a schedule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    LostRedis,
    Torn,
    Eviction,
    Processes,
    Emptied,
    Twins,
    Outage,
    Retired,
}

/// How the server is started again, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// By the options of the first start alone.
    Options,
    /// All that is in Redis, between two sessions of the trainer.
    FlushedBetween,
    /// Everything, between two sessions.
    EmptiedBetween,
    /// Nothing, but a pattern is retired between two sessions.
    RetiredBetween,
    /// Nothing, but a pattern is retired while the trainer is at work, once there were so many requests.
    RetiredAfter(u64),
}

/// One run.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) kind: Kind,
    pub(crate) generation: Generation,
    pub(crate) seed: u64,
    pub(crate) first: StockOptions,
    /// How it is started again after it has died.
    pub(crate) again: StockOptions,
    pub(crate) loss: Loss,
    /// How long a server that died is away.
    pub(crate) away: Duration,
    /// Documents of each session of the trainer; the last one goes to the end.
    pub(crate) limits: Vec<u64>,
    pub(crate) workers: usize,
    pub(crate) batch: usize,
    pub(crate) commit_interval: Duration,
    pub(crate) check_interval: Duration,
    pub(crate) keeps_torn: bool,
    /// How much later the second of two trainers begins.
    pub(crate) later: Duration,
    /// Requests after which a trainer is killed that began before.
    pub(crate) killed_after: Option<u64>,
}

/// Learn calls of a document, about: moments of faults are drawn up to those of all.
const LEARNS: u64 = 11;

/// Returns the documents of the corpus.
pub(crate) fn n_documents() -> u64 {
    number("KATO_CHAOS_DOCUMENTS").unwrap_or(24)
}

/// Returns a number of the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}

/// Draws numbers.
struct Draw(SplitMix64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

impl Schedule {
    pub(crate) fn new(kind: Kind, generation: Generation, seed: u64) -> Self {
        let stream = (kind as u64) << 32 | (generation as u64) << 40;
        let mut draw = Draw(SplitMix64::from_seed(seed ^ stream));
        // The first number of a small seed is little else than the seed.
        draw.below(1);
        let base = StockOptions::quick()
            .generation(generation)
            .seed(seed)
            .learn_ms(0..=draw.below(3))
            .visible_ms(0..=draw.pick(&[0, 0, 40]))
            .serve(draw.pick(&[Serving::Turns, Serving::Turns, Serving::Whole]))
            .processes(draw.pick(&[1, 1, 4]) as usize);
        let n_documents = n_documents();
        let at = 1 + draw.below(LEARNS * n_documents);
        let coin = draw.below(2) == 0;
        let mut loss = Loss::Options;
        let (first, again) = match kind {
            Kind::LostRedis => match draw.below(5) {
                0 => (base.clone().flush_after(at), base),
                4 => {
                    let lost = draw.pick(&[1, 5, 50, 1000]);
                    (base.clone().die_after(at), base.lose_ms(lost))
                }
                1 | 2 => {
                    let base = base.volatile(true);
                    (base.clone().die_after(at), base)
                }
                _ => {
                    loss = Loss::FlushedBetween;
                    (base.clone(), base)
                }
            },
            Kind::Torn => {
                let base = base.symbols_last(draw.below(3) == 0).keep_sessions(coin);
                match draw.below(4) {
                    // No kill, so that nothing is torn, but learns in two steps.
                    0 => (base.clone().torn_ms(0..=1), base),
                    _ => (base.clone().tear_after(at), base.torn_ms(0..=1)),
                }
            }
            Kind::Eviction => (base.clone().evict(5 + draw.below(120)), base),
            Kind::Processes => {
                let base = base.processes(4).keep_sessions(coin);
                match draw.below(2) {
                    0 => (base.clone().die_after(at), base),
                    _ => (base.clone().stall(7, 60), base),
                }
            }
            Kind::Emptied => match draw.below(4) {
                0 => (base.clone().empty_after(at), base),
                1 | 2 => (base.clone().die_after(at), base.empty(true)),
                _ => {
                    loss = Loss::EmptiedBetween;
                    (base.clone(), base)
                }
            },
            Kind::Twins => (base.clone(), base),
            Kind::Outage => {
                let base = base.keep_sessions(true);
                let millis = 20 + draw.below(500);
                (base.clone().outage(at, millis), base)
            }
            Kind::Retired => {
                loss = match draw.below(3) {
                    0 => Loss::RetiredBetween,
                    1 => Loss::RetiredAfter(1 + draw.below(2 * n_documents)),
                    _ => Loss::Options,
                };
                // Who retires in the middle needs a server that answers.
                match (loss, draw.below(3)) {
                    (Loss::RetiredBetween | Loss::Options, 0) => (base.clone().die_after(at), base),
                    (Loss::Options, 1) => {
                        let base = base.keep_sessions(true);
                        let millis = 20 + draw.below(500);
                        (base.clone().outage(at, millis), base)
                    }
                    _ => (base.clone(), base),
                }
            }
        };
        let mut limits = match loss {
            Loss::Options | Loss::RetiredAfter(_) if draw.below(3) > 0 => Vec::new(),
            _ => vec![1 + draw.below(n_documents - 1)],
        };
        if kind == Kind::Twins {
            limits.clear();
        }
        limits.push(n_documents);
        let mut schedule = Self {
            kind,
            generation,
            seed,
            first,
            again,
            loss,
            away: Duration::from_millis(draw.below(120)),
            limits,
            workers: draw.pick(&[1, 2, 4]) as usize,
            batch: draw.pick(&[1, 2, 4]) as usize,
            commit_interval: Duration::from_millis(draw.pick(&[5, 40, 60_000])),
            check_interval: Duration::from_millis(draw.pick(&[10, 60_000])),
            keeps_torn: draw.below(3) == 0,
            later: Duration::from_millis(draw.pick(&[0, 0, 3, 30, 200])),
            killed_after: (kind == Kind::Retired && draw.below(2) == 0)
                .then(|| 1 + draw.below(2 * n_documents)),
        };
        if draw.below(2) == 0 {
            schedule.first = schedule.first.tells_retired(true);
            schedule.again = schedule.again.tells_retired(true);
        }
        schedule
    }
}
