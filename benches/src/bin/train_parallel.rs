//! Measures what the scheduler costs and what a second worker gains.
//!
//! The same documents are learned by a bare loop and by `train_parallel`, alternating in one run;
//! beside that, what handing out one sample costs, and the peak memory of a run.
//!
//! ```text
//! cargo run --profile dist -p kato-benches --features programs --bin train_parallel -- CORPUS.jsonl
//! cargo run --profile dist -p kato-benches --features programs --bin train_parallel -- CORPUS.jsonl --peak-of 8
//! ```

#![expect(clippy::print_stdout, reason = "a bench shows what it finds")]

use std::fs;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_loader::{StreamingDatasetLoader, TextUnit};
use kato_probe::process::{peak_bytes, processor_seconds};
use kato_report::figures::median;
use kato_scheduler::activity::Activity;
use kato_scheduler::backend::{RefusedDocument, WorkSize};
use kato_scheduler::{
    Backend, RunConfiguration, Teacher, TrainError, TrainingOptions, WorkDistribution, Workers,
    train_parallel, train_parallel_with,
};
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::{Whitespace, gpt2};
use serde_json::Value;

/// What the scheduler costs and what a second worker gains.
#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines.
    corpus: PathBuf,
    /// Rounds of bare loop, one worker and two workers.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Samples that are handed out to measure the cost of one.
    #[arg(long, default_value_t = 300_000)]
    documents: u64,
    /// Only train once with this many workers, and print the peak memory.
    #[arg(long)]
    peak_of: Option<NonZeroUsize>,
}

/// Wall-clock time and processor time, in seconds.
#[derive(Debug, Clone, Copy)]
struct Took {
    wall: f64,
    cpu: f64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    if let Some(workers) = args.peak_of {
        let (took, documents) = scheduled(
            &learner,
            &args.corpus,
            workers.get(),
            WorkDistribution::default(),
        )?;
        let peak = peak_bytes().context("the peak memory is not known on this system")?;
        println!(
            "{workers} workers: {documents} documents in {:.2} s, peak memory {:.0} MB",
            took.wall,
            peak as f64 / 1e6
        );
        return Ok(());
    }
    let (mut bare, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
    let mut documents = 0;
    // In turn, so that a machine that slows down slows all three down.
    for _ in 0..args.rounds {
        bare.push(bare_loop(&learner, &args.corpus)?);
        let (took, learned) = scheduled(&learner, &args.corpus, 1, WorkDistribution::default())?;
        one.push(took);
        documents = learned;
        two.push(scheduled(&learner, &args.corpus, 2, WorkDistribution::default())?.0);
    }
    let (bare, one, two) = (medians(&bare)?, medians(&one)?, medians(&two)?);
    println!("{documents} documents; medians of {} rounds", args.rounds);
    println!(
        "bare loop      {:.3} s wall, {:.3} s of processor time",
        bare.wall, bare.cpu
    );
    println!(
        "one worker     {:.3} s wall, {:.3} s of processor time",
        one.wall, one.cpu
    );
    println!(
        "two workers    {:.3} s wall, {:.3} s of processor time",
        two.wall, two.cpu
    );
    println!(
        "two workers are {:.2} times as fast as one",
        one.wall / two.wall
    );
    println!(
        "processor time of one worker beyond the bare loop: {:+.1} %",
        100.0 * (one.cpu / bare.cpu - 1.0)
    );

    let dir = tempfile::tempdir()?;
    let lines = dir.path().join("lines.txt");
    let text: String = (0..args.documents)
        .map(|at| format!("sample number {at} of many\n"))
        .collect();
    fs::write(&lines, text)?;
    for (name, work_size) in [
        ("one at a time", WorkSize::Documents(NonZeroUsize::MIN)),
        ("in batches", WorkSize::Bytes),
    ] {
        let micros = handing_out(&lines, work_size)?;
        println!(
            "handing out a document, {name}: {micros:.2} µs, {:.2} % of the time at 10,000 documents/s",
            // At 10,000 documents/s a document takes 100 µs, of which this is a percentage.
            micros / 100.0 * 100.0
        );
    }
    Ok(())
}

/// Trains as a program without a scheduler would.
fn bare_loop(learner: &HierarchicalConceptLearner, corpus: &Path) -> Result<Took> {
    let dir = tempfile::tempdir()?;
    let store = store(learner, dir.path())?;
    let mut loader = StreamingDatasetLoader::builder()
        .with_input(corpus)
        .build()?;
    // The scheduler's own budget, so that both stage parts of the same size.
    let budget = TrainingOptions::default().memory_budget;
    let clock = Clock::start()?;
    let mut scratch = learner.new_scratch();
    let mut batch = learner.new_batch();
    let mut staged = Vec::new();
    while let Some(documents) = loader.next_batch(512 << 10)? {
        for document in documents.iter() {
            let text = TextDocument {
                document_idx: document.index,
                text: document.text,
                ..TextDocument::default()
            };
            learner.learn(text, &mut batch, &mut scratch)?;
        }
        if batch.heap_bytes() >= budget {
            let full = std::mem::replace(&mut batch, learner.new_batch());
            staged.push(store.stage(full.seal())?);
        }
    }
    staged.push(store.stage(batch.seal())?);
    store.commit(staged, Value::Null)?;
    clock.stop()
}

/// Trains with a number of workers, and returns how many documents were learned as well.
fn scheduled(
    learner: &HierarchicalConceptLearner,
    corpus: &Path,
    workers: usize,
    distribution: WorkDistribution,
) -> Result<(Took, u64)> {
    let dir = tempfile::tempdir()?;
    let store = store(learner, dir.path())?;
    let mut loader = StreamingDatasetLoader::builder()
        .with_input(corpus)
        .build()?;
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::new(workers).context("no workers")?);
    options.distribution = distribution;
    let clock = Clock::start()?;
    let report = train_parallel(&mut loader, learner, &store, &options, |_event| {})?;
    let mut took = clock.stop()?;
    // The report counts distinct patterns, which the bare loop does not do.
    let counting = report.stage_seconds.count_patterns;
    took.wall -= counting;
    took.cpu -= counting;
    Ok((took, report.documents_processed))
}

/// Creates a knowledge base.
fn store(learner: &HierarchicalConceptLearner, dir: &Path) -> Result<EmbeddedStore> {
    let configuration = RunConfiguration::from_learner(learner).to_json();
    let nodes = learner.node_names();
    Ok(EmbeddedStore::create(
        dir.join("kb"),
        &nodes,
        configuration,
    )?)
}

/// Measures how many microseconds a document costs beyond reading it, when learning it costs nothing.
fn handing_out(lines: &Path, work_size: WorkSize) -> Result<f64> {
    let loader = || {
        StreamingDatasetLoader::builder()
            .with_input(lines)
            .with_text_unit(TextUnit::Line)
            .build()
    };
    let start = Instant::now();
    let (mut reading, mut n) = (loader()?, 0);
    match work_size {
        WorkSize::Documents(number) => {
            while reading.next_documents(number)?.is_some() {
                n += 1;
            }
        }
        _ => {
            while let Some(documents) = reading.next_batch(512 << 10)? {
                n += documents.len();
            }
        }
    }
    let reading = start.elapsed().as_secs_f64();
    let learner = HierarchicalConceptLearner::builder(Whitespace::from_texts(["a"]))
        .with_chunk_sizes([2])
        .build()?;
    let nothing = Nothing {
        nodes: vec!["node0".to_owned()],
        configuration: RunConfiguration::from_learner(&learner).to_json(),
        work_size,
    };
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::MIN);
    let start = Instant::now();
    train_parallel_with(&mut loader()?, &learner, &nothing, &options, |_event| {})?;
    let all = start.elapsed().as_secs_f64();
    // Reading happens in both, so that the difference is what handing out costs. Noise can make it
    // negative.
    Ok(1e6 * (all - reading).max(0.0) / n as f64)
}

/// Backend that learns nothing, in no time.
#[derive(Debug)]
struct Nothing {
    nodes: Vec<String>,
    configuration: Value,
    work_size: WorkSize,
}

/// Its teacher.
struct NoTeacher;

impl Backend for Nothing {
    type Part = ();

    fn nodes(&self) -> &[String] {
        &self.nodes
    }
    fn configuration(&self) -> &Value {
        &self.configuration
    }
    fn checkpoint(&self) -> Value {
        Value::Null
    }
    fn work_size(&self, _position: u64) -> WorkSize {
        self.work_size
    }
    fn teacher<'a>(
        &'a self,
        _learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = ()> + 'a>, TrainError> {
        Ok(Box::new(NoTeacher))
    }
    fn commit(&self, _parts: Vec<()>, _checkpoint: Value) -> Result<(), TrainError> {
        Ok(())
    }
    fn learns(&self, _node_idx: usize) -> Result<u64, TrainError> {
        Ok(0)
    }
    fn count_patterns(&self, _node_idx: usize) -> Result<Option<u64>, TrainError> {
        Ok(None)
    }
}

impl Teacher for NoTeacher {
    type Part = ();

    fn learn(&mut self, _: TextDocument<'_>, _: &mut LearnScratch) -> Result<(), LearnError> {
        Ok(())
    }
    fn finish_work(
        &mut self,
        _: Range<u64>,
        _: &Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        Ok(Vec::new())
    }
    fn learns(&self, _node_idx: usize) -> u64 {
        0
    }
    fn heap_bytes(&self) -> usize {
        0
    }
    fn take_part(&mut self) -> Result<Option<()>, TrainError> {
        Ok(None)
    }
}

/// Start of a measurement.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    /// Starts to measure.
    fn start() -> Result<Self> {
        let cpu = processor_seconds().context("needs Linux")?;
        Ok(Self {
            wall: Instant::now(),
            cpu,
        })
    }

    /// Stops, and returns what it took.
    fn stop(self) -> Result<Took> {
        Ok(Took {
            wall: self.wall.elapsed().as_secs_f64(),
            cpu: processor_seconds().context("needs Linux")? - self.cpu,
        })
    }
}

/// Returns the median of each of the two times, which may be of different rounds.
fn medians(took: &[Took]) -> Result<Took> {
    let of = |time: fn(&Took) -> f64| median(took.iter().map(time)).context("no rounds");
    Ok(Took {
        wall: of(|took| took.wall)?,
        cpu: of(|took| took.cpu)?,
    })
}
