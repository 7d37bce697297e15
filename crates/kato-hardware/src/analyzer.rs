//! The analyzer: runs the steps of an analysis, each within its share of the time.

mod builder;

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sysinfo::System;

pub use self::builder::HardwareAnalyzerBuilder;
use crate::bench::memory::Machine;
use crate::bench::mongodb::DatabaseInUse;
use crate::bench::{decoding, kato, loopback, mongodb, store, tokenizing};
use crate::detect::{disks, network};
use crate::facts::{CpuFacts, Gpus, MemoryFacts, SystemLimits, Virtualization};
use crate::figure::{Finding, Measured};
use crate::plan::{LIMITS, share};
use crate::profile::SCHEMA;
use crate::results::{
    BenchmarkResults, DiskResults, KatoResults, MemoryResults, MongoResults, NamingResults,
    StoreResults,
};
use crate::step::{Step, StepEvent};
use crate::tier::Rating;
use crate::{Allowance, HardwareProfile, step};

/// Finds out what a machine can do. It is made by [`HardwareAnalyzer::builder`].
#[derive(Debug, Clone)]
pub struct HardwareAnalyzer {
    settings: HardwareAnalyzerBuilder,
}

impl HardwareAnalyzer {
    /// Creates settings for a whole analysis in the current directory.
    #[must_use]
    pub fn builder() -> HardwareAnalyzerBuilder {
        HardwareAnalyzerBuilder::default()
    }

    /// Reads all facts and measures all figures, within the time limit.
    ///
    /// What could not be found out is unknown, with the reason; the analysis never fails as a
    /// whole. Nothing else should run on the machine meanwhile.
    #[must_use]
    pub fn analyze_full(&self) -> HardwareProfile {
        let start = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let analysis = Analysis::new(&self.settings);
        let facts = analysis.facts();
        let benchmarks = analysis.benchmarks(&facts);
        let mut profile = HardwareProfile {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            unix_seconds: now
                .map(|since| since.as_secs())
                .map_err(|_| "the machine's clock stands before 1970: set it")
                .into(),
            directory: self.settings.directory.display().to_string(),
            is_quick: self.settings.is_quick,
            seed: self.settings.seed,
            seconds: 0.0,
            operating_system: System::long_os_version()
                .map_err(|error| format!("the operating system does not tell it ({error})"))
                .into(),
            cpu: facts.cpu,
            memory: facts.memory,
            limits: facts.limits,
            virtualization: facts.virtualization,
            disks: analysis.disks(),
            gpus: analysis.gpus(),
            network: analysis
                .step(Step::Network, |_| network::interfaces())
                .unwrap_or_else(Finding::unknown),
            // Replaced below: the rating needs the memory that the profile makes of facts and
            // limits.
            rating: Rating {
                tier: Finding::unknown("not judged yet"),
                criteria: Vec::new(),
            },
            benchmarks,
        };
        profile.rating = Rating::from_results(&profile.benchmarks, &profile.usable_memory());
        profile.seconds = start.elapsed().as_secs_f64();
        profile
    }
}

/// An analysis in progress.
struct Analysis<'a> {
    settings: &'a HardwareAnalyzerBuilder,
    /// Time that was not needed, by steps that ended early and by steps that were not asked for. A
    /// step that is slow may take it.
    spare: Cell<Duration>,
}

impl<'a> Analysis<'a> {
    /// Starts an analysis; the shares of services that were not named are spare.
    fn new(settings: &'a HardwareAnalyzerBuilder) -> Self {
        let analysis = Self {
            settings,
            spare: Cell::default(),
        };
        let services = [
            (Step::Mongodb, settings.mongodb.is_some()),
            (Step::Kato, settings.kato.is_some()),
        ];
        let unasked = services.into_iter().filter(|(_, is_asked)| !is_asked);
        let shares = unasked.map(|(step, _)| share(step, analysis.limit()));
        analysis
            .spare
            .set(shares.map(|share| share.time + share.grace).sum());
        analysis
    }

    /// Reads the facts that measurements need.
    fn facts(&self) -> Facts {
        let root = Path::new("/");
        let read = self.step(Step::Machine, move |_| Facts {
            cpu: CpuFacts::read(root),
            memory: MemoryFacts::read(),
            limits: SystemLimits::read(root),
            virtualization: Virtualization::read(root),
        });
        read.unwrap_or_else(|reason| Facts {
            cpu: CpuFacts::unknown(&reason),
            memory: Finding::unknown(reason.clone()),
            limits: SystemLimits::unknown(&reason),
            virtualization: Virtualization::unknown(&reason),
        })
    }

    /// Reads the mounted file systems.
    fn disks(&self) -> Finding<Vec<crate::facts::DiskFacts>> {
        // A copy, here and below: a step that hangs outlives the analysis, so it borrows nothing.
        let directory = self.settings.directory.clone();
        self.step(Step::Disks, move |_| disks::disks(&directory))
            .unwrap_or_else(Finding::unknown)
    }

    /// Asks for the graphics processors.
    fn gpus(&self) -> Gpus {
        let directory = self.settings.gpu_tools.clone();
        // The tools get the time for measuring, so that they are ended within the grace.
        let limit = share(Step::Gpus, self.limit()).time;
        self.step(Step::Gpus, move |_| Gpus::read(directory.as_deref(), limit))
            .unwrap_or_else(|reason| Gpus::unknown(&reason))
    }

    /// Measures all figures, one step after the other: two at once would disturb each other.
    fn benchmarks(&self, facts: &Facts) -> BenchmarkResults {
        let HardwareAnalyzerBuilder { seed, is_quick, .. } = *self.settings;
        let machine = facts.machine();
        let memory = self.step(Step::Memory, move |allowance| {
            MemoryResults::measure(allowance, machine)
        });
        let naming = self.step(Step::Naming, move |allowance| {
            NamingResults::measure(allowance, machine.cores, seed)
        });
        let single = |step, work: fn(&Allowance, u64) -> Measured| {
            self.step(step, move |allowance| work(allowance, seed))
                .unwrap_or_else(Finding::unknown)
        };
        let decoding = single(Step::Decoding, decoding::measure);
        let tokenizing = single(Step::Tokenizing, tokenizing::measure);
        let directory = self.settings.directory.clone();
        let disk = self.step(Step::Disk, move |allowance| {
            DiskResults::measure(allowance, &directory, is_quick, seed)
        });
        let directory = self.settings.directory.clone();
        let store = self.step(Step::Store, move |allowance| {
            store::measure(allowance, &directory, seed)
        });
        let loopback = single(Step::Loopback, |allowance, _| loopback::measure(allowance));
        BenchmarkResults {
            memory: memory.unwrap_or_else(|reason| MemoryResults::unknown(&reason)),
            naming: naming.unwrap_or_else(|reason| NamingResults::unknown(&reason)),
            decoding,
            tokenizing,
            disk: disk.unwrap_or_else(|reason| DiskResults::unknown(&reason)),
            store: store.unwrap_or_else(|reason| StoreResults::unknown(&reason)),
            loopback_latency: loopback,
            mongodb: self.mongodb(),
            kato: self.kato(),
        }
    }

    /// Measures the MongoDB that was named.
    fn mongodb(&self) -> MongoResults {
        let Some(uri) = self.settings.mongodb.clone() else {
            return MongoResults::unknown("no MongoDB was named: give its address with `mongodb`");
        };
        let grace = share(Step::Mongodb, self.limit()).grace;
        let in_use = DatabaseInUse::default();
        let database = in_use.clone();
        self.step(Step::Mongodb, move |allowance| {
            mongodb::measure(allowance, grace, &uri, &database)
        })
        .unwrap_or_else(|reason| MongoResults::given_up(&reason, &in_use))
    }

    /// Measures the KATO server that was named.
    fn kato(&self) -> KatoResults {
        let Some(url) = self.settings.kato.clone() else {
            return KatoResults::unknown("no KATO server was named: give its address with `kato`");
        };
        self.step(Step::Kato, move |allowance| kato::measure(allowance, &url))
            .unwrap_or_else(|reason| KatoResults::unknown(&reason))
    }

    /// Returns the longest time of the analysis.
    fn limit(&self) -> Duration {
        let usual = LIMITS[usize::from(self.settings.is_quick)];
        self.settings.time_limit.unwrap_or(usual)
    }

    /// Executes a step within its share and the spare time, and leaves over what it did not need.
    fn step<T: Send + 'static>(
        &self,
        step: Step,
        work: impl FnOnce(&Allowance) -> T + Send + 'static,
    ) -> Result<T, String> {
        let share = share(step, self.limit());
        let limit = share.time + share.grace + self.spare.get();
        self.notify(StepEvent::Started { step, limit });
        let start = Instant::now();
        let cancellation = &self.settings.cancellation;
        let result = step::run(step, share, limit, cancellation, work);
        let took = start.elapsed();
        // Saturating, because a step that is given up takes moments beyond its limit.
        self.spare.set(limit.saturating_sub(took));
        self.notify(StepEvent::Finished {
            step,
            took,
            gave_up: result.is_err(),
        });
        result
    }

    /// Gives an event to the listener.
    fn notify(&self, event: StepEvent) {
        if let Some(listener) = &self.settings.on_step {
            listener(event);
        }
    }
}

/// Facts that are read before anything is measured.
struct Facts {
    cpu: CpuFacts,
    memory: Finding<MemoryFacts>,
    limits: SystemLimits,
    virtualization: Virtualization,
}

impl Facts {
    /// Returns what the measurement of memory has to know; unknown memory counts as 0, unknown
    /// cores as 1.
    fn machine(&self) -> Machine {
        let available = self
            .memory
            .known()
            .map_or(0, |memory| memory.available_bytes);
        let limit = self.limits.memory_bytes.known().copied().flatten();
        let cores = self.cpu.usable_cores.known().copied().unwrap_or(1);
        Machine {
            cores: usize::try_from(cores).unwrap_or(1).max(1),
            available: available.min(limit.unwrap_or(u64::MAX)),
            cache: self.cpu.largest_cache(),
        }
    }
}
