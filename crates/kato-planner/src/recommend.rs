//! Which machine does a run in time, and what would have to change where none does.

use std::fmt;

use serde::Serialize;

use crate::catalogue::{Catalogue, Parts, Processor, Rented};
use crate::error::at_least_zero;
use crate::{Interval, PlanError, RunCosts};

/// How much faster or slower than the measured ones the cores of another machine are taken to be.
const UNKNOWN_SPEED: Interval = Interval {
    value: 1.0,
    low: 0.7,
    high: 1.0 / 0.7,
};
/// What the second thread of a core adds to the first.
const SECOND_THREAD: f64 = 0.25;
/// Share of its speed that a thread keeps beside all others, from two threads on.
const TOGETHER: Interval = Interval {
    value: 0.9,
    low: 0.7,
    high: 1.0,
};
/// Share of a disk that is left free.
const FREE_SHARE: f64 = 0.1;
const GB: f64 = 1e9;
const MB: f64 = 1e6;

/// What is wanted of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Requirements {
    /// Hours in which it is to be done.
    pub hours: Option<f64>,
    /// Money, in USD: the rent for the run, or the price of the machine.
    pub budget_usd: Option<f64>,
    /// Where it runs; `None` for anywhere.
    pub place: Option<Tenure>,
}

/// How a machine is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tenure {
    /// By the hour.
    Rented,
    /// Once.
    Bought,
    /// It is there already.
    Owned,
}

impl Requirements {
    /// Creates requirements that everything fulfils.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hours in which the run is to be done.
    #[must_use]
    pub fn with_hours(mut self, hours: f64) -> Self {
        self.hours = Some(hours);
        self
    }

    /// Sets the money.
    #[must_use]
    pub fn with_budget(mut self, usd: f64) -> Self {
        self.budget_usd = Some(usd);
        self
    }

    /// Sets how the machine is paid. A machine that is there already is always among the answers.
    #[must_use]
    pub fn with_place(mut self, place: Tenure) -> Self {
        self.place = Some(place);
        self
    }
}

/// The machines for a run, best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// What was wanted.
    pub requirements: Requirements,
    /// What the run costs, apart from any machine.
    pub costs: RunCosts,
    /// The machines that were asked for: first those that surely do it, then those that probably do,
    /// each the cheapest and then the fastest first; then the others.
    pub options: Vec<MachineOption>,
    /// What would have to change; empty where a machine does it, and where no such change is known.
    pub changes: Vec<Change>,
    /// When the prices held.
    pub prices_of: String,
    /// Where they come from.
    pub source: String,
}

impl Recommendation {
    /// Returns whether a machine does it, surely or probably.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_planner::{Catalogue, Interval, Requirements, RunCosts, recommend};
    ///
    /// let costs = RunCosts::new(Interval::exact(3600.0), Interval::exact(60.0));
    /// let in_no_time = Requirements::new().with_hours(0.0);
    /// let answer = recommend(&costs, &in_no_time, &Catalogue::builtin())?;
    /// assert!(!answer.is_possible());
    /// # Ok::<(), kato_planner::PlanError>(())
    /// ```
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let mut options = self.options.iter();
        options.any(|option| option.verdict != Fulfilment::DoesNot)
    }
}

/// What a run would be on one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MachineOption {
    /// Name of the machine, with what was put together for it.
    pub machine: String,
    /// How it is paid.
    pub place: Tenure,
    /// Threads that run at once.
    pub threads: u64,
    /// Memory, in GB; `None` where it is not known, and then it is taken to be enough.
    pub memory_gb: Option<f64>,
    /// Disk, in GB; `None` as for memory.
    pub disk_gb: Option<f64>,
    /// Hours that the run takes.
    pub hours: Interval,
    /// Money, in USD: the rent for the expected hours, or the price.
    pub usd: Interval,
    /// What most of the time goes to.
    pub bound_by: Resource,
    /// Whether it fulfils what was wanted.
    pub verdict: Fulfilment,
    /// What it does not fulfil; empty unless the verdict is `DoesNot`.
    pub shortfalls: Vec<Shortfall>,
}

/// What a run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// The cores.
    Processor,
    /// The one thread that reads and decodes.
    Reader,
    /// The rate of the disk.
    Disk,
    /// What no machine makes shorter.
    Fixed,
}

/// Whether a machine fulfils what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fulfilment {
    /// Also where everything takes as much as it may.
    Surely,
    /// As it is expected, but it may take more.
    Probably,
    /// No.
    DoesNot,
}

/// What a machine does not fulfil.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "lacks")]
#[non_exhaustive]
pub enum Shortfall {
    /// It takes longer.
    Time {
        /// Hours that it takes.
        takes: f64,
        /// Hours that there are.
        wanted: f64,
    },
    /// It costs more.
    Money {
        /// USD that it costs.
        costs: f64,
        /// USD that there are.
        wanted: f64,
    },
    /// What is learned does not fit.
    DiskSpace {
        /// GB that are needed.
        needs_gb: f64,
        /// GB that there are.
        has_gb: f64,
    },
    /// The process does not fit.
    Memory {
        /// GB that are needed.
        needs_gb: f64,
        /// GB that there are.
        has_gb: f64,
    },
}

/// A change that would make the run possible.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
#[non_exhaustive]
pub enum Change {
    /// More time.
    Hours {
        /// Hours with which this machine does it, everything else as wanted.
        hours: f64,
        /// The machine.
        machine: String,
    },
    /// More money.
    Budget {
        /// USD with which this machine does it in time.
        usd: f64,
        /// The machine.
        machine: String,
    },
    /// More time and more money, where neither is enough by itself.
    HoursAndBudget {
        /// Hours with which this machine does it.
        hours: f64,
        /// USD that it costs.
        usd: f64,
        /// The machine.
        machine: String,
    },
    /// A smaller run.
    Share {
        /// Share of the run that this machine does in time, with the memory and the disk that it
        /// has.
        share: f64,
        /// The machine.
        machine: String,
    },
    /// A machine that the catalogue does not have.
    Machine {
        /// Threads, each as fast as those that were measured, where more of them help.
        threads: Option<f64>,
        /// Memory, in GB.
        memory_gb: f64,
        /// Disk, in GB.
        disk_gb: f64,
        /// MB a second that the disk has to write.
        disk_mb_a_second: Option<f64>,
    },
    /// Reading by one thread takes longer than the fixed part leaves.
    Parts {
        /// Runs, each over a part of the corpus, that would have to go on at once.
        runs: f64,
    },
}

/// Recommends machines for a run.
///
/// Formula: time = fixed + max(core seconds / cores' worth of threads, reader, bytes written / disk
/// rate), as stages overlap. A core counts 1, its second thread 0.25; a thread of a cloud counts 1,
/// as the costs are of such threads. Beside others each keeps 0.7 to 1 of its speed, 0.9 as
/// expected. Cores of unknown speed are taken to be as fast as those measured, between 0.7 and 1.4
/// times.
///
/// # Errors
///
/// [`PlanError`] for requirements, costs and catalogues with numbers that are none. That nothing
/// fits is an answer.
pub fn recommend(
    costs: &RunCosts,
    requirements: &Requirements,
    catalogue: &Catalogue,
) -> Result<Recommendation, PlanError> {
    costs.check()?;
    catalogue.check()?;
    at_least_zero("hours", requirements.hours.unwrap_or(0.0))?;
    at_least_zero("budget", requirements.budget_usd.unwrap_or(0.0))?;
    let rented = catalogue.machines.iter().map(Offer::rented);
    let parts = catalogue.parts.iter();
    let bought = parts.flat_map(|parts| {
        let processors = catalogue.processors.iter();
        processors.filter_map(|processor| Offer::bought(processor, parts, costs))
    });
    let is_wanted = |offer: &Offer| {
        let place = requirements.place;
        offer.place == Tenure::Owned || place.is_none_or(|place| place == offer.place)
    };
    let mut offers: Vec<(Offer, MachineOption)> = rented
        .chain(bought)
        .filter(is_wanted)
        .map(|offer| {
            let option = offer.option(costs, requirements);
            (offer, option)
        })
        .collect();
    offers.sort_by(|(_, a), (_, b)| {
        a.verdict
            .cmp(&b.verdict)
            .then(a.shortfalls.len().cmp(&b.shortfalls.len()))
            .then(a.usd.value.total_cmp(&b.usd.value))
            .then(a.hours.value.total_cmp(&b.hours.value))
            .then_with(|| a.machine.cmp(&b.machine))
    });
    let is_possible = offers
        .iter()
        .any(|(_, option)| option.verdict != Fulfilment::DoesNot);
    let changes = match is_possible {
        true => Vec::new(),
        false => changes(&offers, costs, requirements),
    };
    Ok(Recommendation {
        requirements: *requirements,
        costs: *costs,
        options: offers.into_iter().map(|(_, option)| option).collect(),
        changes,
        prices_of: catalogue.date.clone(),
        source: catalogue.source.clone(),
    })
}

/// A machine that can be had.
#[derive(Debug, Clone, PartialEq)]
struct Offer {
    name: String,
    place: Tenure,
    threads: u64,
    /// Cores' worth of its threads, against those on which costs were measured.
    worth: Interval,
    memory_gb: Option<f64>,
    disk_gb: Option<f64>,
    disk_mb_a_second: Option<f64>,
    /// USD once.
    price: f64,
    /// USD an hour.
    rent: f64,
}

impl Offer {
    fn rented(machine: &Rented) -> Self {
        Self {
            name: machine.name.clone(),
            // What costs nothing is there already.
            place: if machine.usd_an_hour > 0.0 {
                Tenure::Rented
            } else {
                Tenure::Owned
            },
            threads: machine.threads,
            worth: worth(machine.threads as f64, machine.speed),
            memory_gb: machine.memory_gb,
            disk_gb: machine.disk_gb,
            disk_mb_a_second: machine.disk_mb_a_second,
            price: 0.0,
            rent: machine.usd_an_hour,
        }
    }

    /// Puts a machine together, with as much memory and disk as the run needs, or as much as there
    /// is; `None` where parts come in no size.
    fn bought(processor: &Processor, parts: &Parts, costs: &RunCosts) -> Option<Self> {
        let second_threads = processor.threads.saturating_sub(processor.cores) as f64;
        let threads = processor.cores as f64 + SECOND_THREAD * second_threads;
        let memory_gb = size_for(
            memory_needed(costs, processor.threads) / GB,
            &parts.memory_gb,
        )?;
        let disk_gb = size_for(disk_needed(costs) / GB, &parts.disk_gb)?;
        let price = processor.usd
            + memory_gb * parts.memory_usd_a_gb
            + disk_gb * parts.disk_usd_a_gb
            + parts.rest_usd;
        Some(Self {
            name: format!("{}, {memory_gb} GB, {disk_gb} GB disk", processor.name),
            place: Tenure::Bought,
            threads: processor.threads,
            worth: worth(threads, processor.speed),
            memory_gb: Some(memory_gb),
            disk_gb: Some(disk_gb),
            disk_mb_a_second: parts.disk_mb_a_second,
            price,
            rent: 0.0,
        })
    }

    /// Returns the seconds of a run that is a share of the whole one, and what they go to.
    fn seconds(&self, costs: &RunCosts, share: f64) -> (Interval, Resource) {
        let processor = costs.core_seconds.scaled(share).over(self.worth);
        let reader = costs.reader_seconds.scaled(share);
        let disk = match self.disk_mb_a_second {
            Some(rate) => costs.written_bytes.scaled(share / (rate * MB)),
            None => Interval::exact(0.0),
        };
        let longest = processor.or_more(reader).or_more(disk);
        let of = [
            (costs.fixed_seconds.value, Resource::Fixed),
            (disk.value, Resource::Disk),
            (reader.value, Resource::Reader),
            (processor.value, Resource::Processor),
        ];
        let bound_by = of.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let bound_by = bound_by.map_or(Resource::Processor, |(_, resource)| resource);
        (costs.fixed_seconds.plus(longest), bound_by)
    }

    /// Returns what the run would be on this machine.
    fn option(&self, costs: &RunCosts, requirements: &Requirements) -> MachineOption {
        let (seconds, bound_by) = self.seconds(costs, 1.0);
        let hours = seconds.scaled(1.0 / 3600.0);
        let usd = Interval::exact(self.price).plus(hours.scaled(self.rent));
        let mut shortfalls = Vec::new();
        let wanted = requirements.hours.unwrap_or(f64::INFINITY);
        if hours.value > wanted {
            shortfalls.push(Shortfall::Time {
                takes: hours.value,
                wanted,
            });
        }
        let money = requirements.budget_usd.unwrap_or(f64::INFINITY);
        if usd.value > money {
            shortfalls.push(Shortfall::Money {
                costs: usd.value,
                wanted: money,
            });
        }
        let is_sure = hours.high <= wanted && usd.high <= money;
        shortfalls.extend(self.lacks(costs));
        let verdict = match (shortfalls.is_empty(), is_sure) {
            (false, _) => Fulfilment::DoesNot,
            (true, false) => Fulfilment::Probably,
            (true, true) => Fulfilment::Surely,
        };
        MachineOption {
            machine: self.name.clone(),
            place: self.place,
            threads: self.threads,
            memory_gb: self.memory_gb,
            disk_gb: self.disk_gb,
            hours,
            usd,
            bound_by,
            verdict,
            shortfalls,
        }
    }

    /// Returns the room that the run would not have.
    fn lacks(&self, costs: &RunCosts) -> Vec<Shortfall> {
        let mut lacks = Vec::new();
        let needs_gb = disk_needed(costs) / GB;
        if let Some(has_gb) = self.disk_gb.filter(|has_gb| needs_gb > *has_gb) {
            lacks.push(Shortfall::DiskSpace { needs_gb, has_gb });
        }
        let needs_gb = memory_needed(costs, self.threads) / GB;
        if let Some(has_gb) = self.memory_gb.filter(|has_gb| needs_gb > *has_gb) {
            lacks.push(Shortfall::Memory { needs_gb, has_gb });
        }
        lacks
    }
}

/// Returns how many measured cores threads are worth.
fn worth(threads: f64, speed: Option<f64>) -> Interval {
    let speed = speed.map_or(UNKNOWN_SPEED, Interval::exact);
    let together = match threads > 1.0 {
        true => TOGETHER,
        false => Interval::exact(1.0),
    };
    Interval::new(
        threads * speed.value * together.value,
        threads * speed.low * together.low,
        threads * speed.high * together.high,
    )
}

/// Returns the bytes of disk that a run needs, with what is left free.
fn disk_needed(costs: &RunCosts) -> f64 {
    costs.disk_bytes.high / (1.0 - FREE_SHARE)
}

/// Returns the bytes of memory that a run needs with a worker a thread.
fn memory_needed(costs: &RunCosts, threads: u64) -> f64 {
    let further = threads.saturating_sub(1) as f64;
    costs.memory_bytes.high + further * costs.memory_bytes_a_worker.high
}

/// Returns the smallest size that is enough, or the largest.
fn size_for(needed: f64, sizes: &[f64]) -> Option<f64> {
    let enough = sizes.iter().copied().filter(|&size| size >= needed);
    let smallest = enough.reduce(f64::min);
    smallest.or_else(|| sizes.iter().copied().reduce(f64::max))
}

/// Returns what would have to change so that the run is possible.
fn changes(
    offers: &[(Offer, MachineOption)],
    costs: &RunCosts,
    requirements: &Requirements,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let late = |s: &Shortfall| matches!(s, Shortfall::Time { .. });
    if let Some(option) = nearest(offers, late, |option| option.hours.value) {
        let (hours, machine) = (option.hours.value, option.machine.clone());
        changes.push(Change::Hours { hours, machine });
    }
    let dear = |s: &Shortfall| matches!(s, Shortfall::Money { .. });
    if let Some(option) = nearest(offers, dear, |option| option.usd.value) {
        let (usd, machine) = (option.usd.value, option.machine.clone());
        changes.push(Change::Budget { usd, machine });
    }
    let both = |s: &Shortfall| late(s) || dear(s);
    if changes.is_empty()
        && let Some(option) = nearest(offers, both, |option| option.usd.value)
    {
        changes.push(Change::HoursAndBudget {
            hours: option.hours.value,
            usd: option.usd.value,
            machine: option.machine.clone(),
        });
    }
    let shares = offers
        .iter()
        .map(|(offer, _)| (offer, share(offer, costs, requirements)));
    let most = shares.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((offer, share)) = most.filter(|&(_, share)| share > 0.0) {
        let machine = offer.name.clone();
        changes.push(Change::Share { share, machine });
    }
    changes.extend(room(costs, requirements.hours));
    changes
}

/// Returns the nearest by `value` of the options that fall short in this kind alone.
fn nearest(
    offers: &[(Offer, MachineOption)],
    is_kind: impl Fn(&Shortfall) -> bool,
    value: impl Fn(&MachineOption) -> f64,
) -> Option<&MachineOption> {
    let options = offers.iter().map(|(_, option)| option);
    options
        .filter(|option| option.shortfalls.iter().all(&is_kind))
        .min_by(|a, b| value(a).total_cmp(&value(b)))
}

/// Returns the machine that would do it in so many hours, or the runs that together would; `None`
/// where nothing does.
fn room(costs: &RunCosts, hours: Option<f64>) -> Option<Change> {
    let machine = |threads: Option<f64>, rate: Option<f64>| Change::Machine {
        threads,
        memory_gb: (costs.memory_bytes.high
            + (threads.unwrap_or(1.0) - 1.0).max(0.0) * costs.memory_bytes_a_worker.high)
            / GB,
        disk_gb: disk_needed(costs) / GB,
        disk_mb_a_second: rate,
    };
    let Some(hours) = hours else {
        return Some(machine(None, None));
    };
    let left = hours * 3600.0 - costs.fixed_seconds.value;
    if left > costs.reader_seconds.value && left > 0.0 {
        let threads = (costs.core_seconds.value / left / TOGETHER.value)
            .max(1.0)
            .ceil();
        let rate = costs.written_bytes.value / left / MB;
        Some(machine(Some(threads), Some(rate)))
    } else if left > 0.0 {
        let runs = (costs.reader_seconds.value / left).ceil().max(2.0);
        Some(Change::Parts { runs })
    } else {
        None
    }
}

/// Returns the share of a run that a machine does within what was wanted.
fn share(offer: &Offer, costs: &RunCosts, requirements: &Requirements) -> f64 {
    let fits = |share: f64| {
        let part = RunCosts {
            core_seconds: costs.core_seconds.scaled(share),
            reader_seconds: costs.reader_seconds.scaled(share),
            disk_bytes: costs.disk_bytes.scaled(share),
            written_bytes: costs.written_bytes.scaled(share),
            ..*costs
        };
        offer.option(&part, requirements).shortfalls.is_empty()
    };
    if !fits(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processor => "its cores",
            Self::Reader => "the thread that reads",
            Self::Disk => "its disk",
            Self::Fixed => "what no machine makes shorter",
        })
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { takes, wanted } => {
                write!(f, "takes {} instead of {}", span(*takes), span(*wanted))
            }
            Self::Money { costs, wanted } => {
                write!(f, "costs {costs:.2} USD instead of {wanted:.2}")
            }
            Self::DiskSpace { needs_gb, has_gb } => {
                write!(f, "needs {needs_gb:.0} GB of disk and has {has_gb:.0}")
            }
            Self::Memory { needs_gb, has_gb } => {
                write!(f, "needs {needs_gb:.1} GB of memory and has {has_gb:.1}")
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hours { hours, machine } => write!(f, "{} instead, on {machine}", span(*hours)),
            Self::Budget { usd, machine } => write!(f, "{usd:.2} USD instead, for {machine}"),
            Self::HoursAndBudget {
                hours,
                usd,
                machine,
            } => write!(f, "{} and {usd:.2} USD instead, on {machine}", span(*hours)),
            Self::Share { share, machine } => {
                write!(f, "{:.2} % of the corpus, on {machine}", 100.0 * share)
            }
            Self::Machine {
                threads,
                memory_gb,
                disk_gb,
                disk_mb_a_second,
            } => {
                f.write_str("a machine with ")?;
                if let Some(threads) = threads {
                    write!(f, "{threads:.0} threads as fast as those measured, ")?;
                }
                write!(
                    f,
                    "{memory_gb:.1} GB of memory and a disk of {disk_gb:.0} GB"
                )?;
                match disk_mb_a_second {
                    Some(rate) => write!(f, " that writes {rate:.0} MB/s"),
                    None => Ok(()),
                }
            }
            Self::Parts { runs } => {
                write!(
                    f,
                    "{runs:.0} runs at once, each over a part of the corpus (--shard)"
                )
            }
        }
    }
}

impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for option in &self.options {
            let verdict = match option.verdict {
                Fulfilment::Surely => "does it",
                Fulfilment::Probably => "probably does it",
                Fulfilment::DoesNot => "does not",
            };
            write!(
                f,
                "{}: {verdict}; {} ({} to {}), {:.2} USD, bound by {}",
                option.machine,
                span(option.hours.value),
                span(option.hours.low),
                span(option.hours.high),
                option.usd.value,
                option.bound_by
            )?;
            for shortfall in &option.shortfalls {
                write!(f, "; {shortfall}")?;
            }
            writeln!(f)?;
        }
        if !self.is_possible() {
            match self.changes.is_empty() {
                true => writeln!(f, "nothing does it")?,
                false => writeln!(f, "nothing does it; one of these would:")?,
            }
            for change in &self.changes {
                writeln!(f, "  {change}")?;
            }
        }
        writeln!(f, "prices of {}: {}", self.prices_of, self.source)
    }
}

/// Writes hours as people say them.
#[must_use]
pub fn span(hours: f64) -> String {
    let seconds = hours * 3600.0;
    match hours {
        _ if seconds < 120.0 => format!("{seconds:.1} s"),
        ..2.0 => format!("{:.0} min", hours * 60.0),
        ..72.0 => format!("{hours:.1} h"),
        _ => format!("{:.1} days", hours / 24.0),
    }
}
