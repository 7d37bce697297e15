//! Runs the steps of an analysis, each within its share of the time.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sysinfo::System;

use crate::bench::memory::Machine;
use crate::bench::{decoding, kato, loopback, mongodb, store, tokenizing};
use crate::detect::{disks, network};
use crate::plan::{LIMITS, share};
use crate::{
    Allowance, BenchmarkResults, Cancellation, CpuFacts, DiskResults, Finding, Gpus, HardwareError,
    HardwareProfile, KatoResults, Limits, Measured, MemoryFacts, MemoryResults, MongoResults,
    NamingResults, Rating, SCHEMA, Step, StepEvent, StoreResults, Virtualization, step,
};

type Listener = Arc<dyn Fn(StepEvent) + Send + Sync>;

/// Finds out what the machine can do.
#[derive(Debug, Clone)]
pub struct HardwareAnalyzer {
    settings: HardwareAnalyzerBuilder,
}

/// Settings of an analysis.
#[derive(Clone)]
pub struct HardwareAnalyzerBuilder {
    directory: PathBuf,
    is_quick: bool,
    time_limit: Option<Duration>,
    mongodb: Option<String>,
    kato: Option<String>,
    gpu_tools: Option<PathBuf>,
    seed: u64,
    cancellation: Cancellation,
    on_step: Option<Listener>,
}

impl Default for HardwareAnalyzerBuilder {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("."),
            is_quick: false,
            time_limit: None,
            mongodb: None,
            kato: None,
            gpu_tools: None,
            seed: 1,
            cancellation: Cancellation::new(),
            on_step: None,
        }
    }
}

impl fmt::Debug for HardwareAnalyzerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses may hold passwords.
        f.debug_struct("HardwareAnalyzerBuilder")
            .field("directory", &self.directory)
            .field("is_quick", &self.is_quick)
            .field("time_limit", &self.time_limit)
            .field("mongodb", &self.mongodb.as_ref().map(|_| ".."))
            .field("kato", &self.kato.as_ref().map(|_| ".."))
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl HardwareAnalyzerBuilder {
    /// The directory that data will be written to, below which the disk and the embedded store are measured. Default: the
    /// current one.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Whether to take less than ten seconds instead of less than sixty: figures spread more, and the file is smaller.
    /// Default: not.
    #[must_use]
    pub fn quick(mut self, is_quick: bool) -> Self {
        self.is_quick = is_quick;
        self
    }

    /// The longest that the analysis may take, from one second to an hour. Default: 55 seconds, or 9 for a quick one.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// The MongoDB to measure, `mongodb://…`. Default: none. Needs the feature `mongodb`.
    #[must_use]
    pub fn mongodb(mut self, uri: impl Into<String>) -> Self {
        self.mongodb = Some(uri.into());
        self
    }

    /// The KATO server to measure, `http://host:port`. Default: none. Needs the feature `kato`.
    #[must_use]
    pub fn kato(mut self, url: impl Into<String>) -> Self {
        self.kato = Some(url.into());
        self
    }

    /// Where the vendors' tools for graphics processors lie. Default: where the system finds programs.
    #[must_use]
    pub fn gpu_tools(mut self, directory: impl Into<PathBuf>) -> Self {
        self.gpu_tools = Some(directory.into());
        self
    }

    /// Seed of texts, places and contents. Default 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Ends the analysis early. Default: nothing does.
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Called before and after each step, on the thread of [`analyze_full`](HardwareAnalyzer::analyze_full). Default: nobody.
    #[must_use]
    pub fn on_step(mut self, listener: impl Fn(StepEvent) + Send + Sync + 'static) -> Self {
        self.on_step = Some(Arc::new(listener));
        self
    }

    /// Makes the analyzer. Nothing is looked at yet.
    ///
    /// # Errors
    ///
    /// [`HardwareError::OutOfRange`] for a time limit beyond its range.
    pub fn build(self) -> Result<HardwareAnalyzer, HardwareError> {
        let range = Duration::from_secs(1)..=Duration::from_secs(3600);
        match self.time_limit {
            Some(limit) if !range.contains(&limit) => Err(HardwareError::OutOfRange {
                setting: "time_limit",
                given: format!("{} s", limit.as_secs_f64()),
                expected: "one second to an hour",
            }),
            _ => Ok(HardwareAnalyzer { settings: self }),
        }
    }
}

impl HardwareAnalyzer {
    /// Begins with settings for a whole analysis in the current directory.
    #[must_use]
    pub fn builder() -> HardwareAnalyzerBuilder {
        HardwareAnalyzerBuilder::default()
    }

    /// Looks at everything and measures everything, within the time limit. What could not be found out is unknown, with the
    /// reason; it never fails as a whole. Nothing else should run on the machine meanwhile.
    #[must_use]
    pub fn analyze_full(&self) -> HardwareProfile {
        let start = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let facts = self.facts();
        let benchmarks = self.benchmarks(&facts);
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
            disks: self.disks(),
            gpus: self.gpus(),
            network: self
                .step(Step::Network, |_| network::interfaces())
                .unwrap_or_else(Finding::unknown),
            rating: Rating {
                tier: Finding::unknown("not judged yet"),
                criteria: Vec::new(),
            },
            benchmarks,
        };
        profile.rating = Rating::of(&profile.benchmarks, &profile.usable_memory());
        profile.seconds = start.elapsed().as_secs_f64();
        profile
    }

    fn facts(&self) -> Facts {
        let root = Path::new("/");
        let read = self.step(Step::Machine, move |_| Facts {
            cpu: CpuFacts::read(root),
            memory: MemoryFacts::read(),
            limits: Limits::read(root),
            virtualization: Virtualization::read(root),
        });
        read.unwrap_or_else(|reason| Facts {
            cpu: CpuFacts::unknown(&reason),
            memory: Finding::unknown(reason.clone()),
            limits: Limits::unknown(&reason),
            virtualization: Virtualization::unknown(&reason),
        })
    }

    fn disks(&self) -> Finding<Vec<crate::DiskFacts>> {
        let directory = self.settings.directory.clone();
        self.step(Step::Disks, move |_| disks::disks(&directory))
            .unwrap_or_else(Finding::unknown)
    }

    fn gpus(&self) -> Gpus {
        let directory = self.settings.gpu_tools.clone();
        let limit = share(Step::Gpus, self.limit()).time;
        self.step(Step::Gpus, move |_| Gpus::read(directory.as_deref(), limit))
            .unwrap_or_else(|reason| Gpus::unknown(&reason))
    }

    fn benchmarks(&self, facts: &Facts) -> BenchmarkResults {
        let HardwareAnalyzerBuilder { seed, is_quick, .. } = self.settings;
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

    fn mongodb(&self) -> MongoResults {
        let Some(uri) = self.settings.mongodb.clone() else {
            return MongoResults::unknown("no MongoDB was named: give its address with `mongodb`");
        };
        let grace = share(Step::Mongodb, self.limit()).grace;
        self.step(Step::Mongodb, move |allowance| {
            mongodb::measure(allowance, grace, &uri)
        })
        .unwrap_or_else(|reason| MongoResults::unknown(&reason))
    }

    fn kato(&self) -> KatoResults {
        let Some(url) = self.settings.kato.clone() else {
            return KatoResults::unknown("no KATO server was named: give its address with `kato`");
        };
        self.step(Step::Kato, move |allowance| kato::measure(allowance, &url))
            .unwrap_or_else(|reason| KatoResults::unknown(&reason))
    }

    fn limit(&self) -> Duration {
        let usual = LIMITS[usize::from(self.settings.is_quick)];
        self.settings.time_limit.unwrap_or(usual)
    }

    fn step<T: Send + 'static>(
        &self,
        step: Step,
        work: impl FnOnce(&Allowance) -> T + Send + 'static,
    ) -> Result<T, String> {
        let share = share(step, self.limit());
        self.tell(StepEvent::Started {
            step,
            limit: share.time + share.grace,
        });
        let start = Instant::now();
        let result = step::run(
            step,
            share.time,
            share.grace,
            &self.settings.cancellation,
            work,
        );
        self.tell(StepEvent::Finished {
            step,
            took: start.elapsed(),
            gave_up: result.is_err(),
        });
        result
    }

    fn tell(&self, event: StepEvent) {
        if let Some(listener) = &self.settings.on_step {
            listener(event);
        }
    }
}

/// What is read before anything is measured.
struct Facts {
    cpu: CpuFacts,
    memory: Finding<MemoryFacts>,
    limits: Limits,
    virtualization: Virtualization,
}

impl Facts {
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
