//! Measures how long it takes to count texts in the documents that were learned, and to find the spans of a text
//! that come from them, for a comparison with infini-gram on the same tokens.
//!
//! ```sh
//! kato corpus --like FILE --text-size 100MB --seed 1 --out corpus.jsonl
//! cargo run --profile dist -p kato-benches --features programs --bin occurrences_speed -- FOLDER --make corpus.jsonl
//! cargo run --profile dist -p kato-benches --features programs --bin occurrences_speed -- FOLDER
//! ```
//!
//! The first writes the occurrences, `tokenized.0` and `offset.0`, from which infini-gram makes its own, and
//! `questions.json`; the second asks, and writes its answers to `counts.json`. `benches/compare/occurrences.sh` does both in turn. One thread, wall-clock.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use kato_learner::{HierarchicalConceptLearner, HierarchicalNode, LearnerConfig, TextDocument};
use kato_occurrences::{Documents, Occurrences, Position, Writer};
use kato_random::SplitMix64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What stands between two documents in infini-gram's file of tokens.
const BORDER: [u8; 2] = [0xff, 0xff];

/// Texts that are counted, and tokens of the longest.
const N_COUNTED: usize = 10_000;
const LONGEST: usize = 10;

/// Texts of which the spans are found, their tokens, and those of the pieces of documents that they are made of.
const N_TRACED: usize = 1_000;
const TRACED: usize = 500;
const PIECE: usize = 25;

/// Openings that are timed.
const N_OPENINGS: usize = 20;

/// Of so many texts that are counted one is found, in so many places at most.
const FOUND_EVERY: usize = 10;
const PLACES: usize = 10;

/// Count texts in learned documents.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder for the occurrences, the tokens and the questions.
    folder: PathBuf,
    /// Write them first, of a file of JSON lines with a `text`, and ask nothing.
    #[arg(long, value_name = "FILE")]
    make: Option<PathBuf>,
}

/// What is asked, by tokens.
#[derive(Debug, Serialize, Deserialize)]
struct Questions {
    counted: Vec<Vec<u32>>,
    traced: Vec<Vec<u32>>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let figures = match &arguments.make {
        Some(corpus) => make(&arguments.folder, corpus)?,
        None => ask(&arguments.folder)?,
    };
    println!("{figures}");
    Ok(())
}

/// Learns the documents of a file, and keeps where their tokens are.
fn make(folder: &Path, corpus: &Path) -> Result<Value> {
    let levels = [("node0", 5), ("node1", 7), ("node2", 9)];
    let nodes = levels.map(|(name, chunk)| HierarchicalNode::new(name, chunk));
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_config(LearnerConfig::new(nodes.to_vec()))
        .build()?;
    fs::create_dir_all(folder)?;
    let lines: Vec<String> = BufReader::new(File::open(corpus)?)
        .lines()
        .collect::<Result<_, _>>()?;
    let end = lines.len() as u64;
    let documents = Documents::new("made text", levels.len(), end);
    let mut writer = Writer::new(folder, documents)?;
    let mut tokens = BufWriter::new(File::create(folder.join("tokenized.0"))?);
    let mut offsets = BufWriter::new(File::create(folder.join("offset.0"))?);
    let (mut at, mut all) = (0_u64, Vec::new());
    let mut took = Duration::ZERO;
    let mut scratch = learner.new_scratch();
    for (number, line) in (0..).zip(&lines) {
        let document: Value = serde_json::from_str(line)?;
        let text = document["text"].as_str().context("a line has no text")?;
        let plan = learner.plan(&TextDocument::from(text), &mut scratch)?;
        offsets.write_all(&at.to_le_bytes())?;
        tokens.write_all(&BORDER)?;
        for &token in plan.tokens() {
            tokens.write_all(&u16::try_from(token)?.to_le_bytes())?;
        }
        at += 2 * (1 + plan.tokens().len() as u64);
        all.push(plan.tokens().to_vec());
        let began = Instant::now();
        writer.push(number, &number.to_string(), plan, Position::default)?;
        took += began.elapsed();
    }
    tokens.flush()?;
    offsets.flush()?;
    let began = Instant::now();
    let written = writer.finish(Position::new(end, Value::Null))?;
    took += began.elapsed();
    let file = File::create(folder.join("questions.json"))?;
    serde_json::to_writer(file, &questions(&all))?;
    let n_tokens: usize = all.iter().map(Vec::len).sum();
    Ok(json!({
        "tokens": n_tokens,
        "bytes_a_token": written.bytes as f64 / n_tokens as f64,
        "written_in_seconds": took.as_secs_f64(),
    }))
}

/// Draws pieces of documents, the same for the same documents.
fn questions(documents: &[Vec<u32>]) -> Questions {
    let mut random = SplitMix64::from_seed(7);
    let mut piece = |length: usize| loop {
        let document = &documents[random.below(documents.len())];
        if document.len() >= length {
            let start = random.below(document.len() - length + 1);
            break document[start..start + length].to_vec();
        }
    };
    let lengths = (1..=LONGEST).cycle().take(N_COUNTED);
    let counted = lengths.map(&mut piece).collect();
    let traced = (0..N_TRACED).map(|_| (0..TRACED / PIECE).flat_map(|_| piece(PIECE)).collect());
    Questions {
        traced: traced.collect(),
        counted,
    }
}

/// Asks, and returns the figures.
fn ask(folder: &Path) -> Result<Value> {
    let asked = File::open(folder.join("questions.json"))?;
    let questions: Questions = serde_json::from_reader(BufReader::new(asked))?;
    let open = || Occurrences::open(folder)?.context("nothing was made here yet");
    let mut opened = Vec::new();
    for _ in 0..N_OPENINGS {
        let began = Instant::now();
        open()?.count(&questions.counted[0])?;
        opened.push(began.elapsed());
    }
    let occurrences = open()?;
    let (mut counts, mut counted) = (Vec::new(), Vec::new());
    for tokens in &questions.counted {
        let began = Instant::now();
        counts.push(occurrences.count(tokens)?);
        counted.push(began.elapsed());
    }
    serde_json::to_writer(File::create(folder.join("counts.json"))?, &counts)?;
    let (mut n_places, mut found) = (0, Vec::new());
    for tokens in questions.counted.iter().step_by(FOUND_EVERY) {
        let began = Instant::now();
        n_places += occurrences.places(tokens, 0, PLACES)?.len();
        found.push(began.elapsed());
    }
    let mut n_spans = 0;
    let mut traced = Vec::new();
    for tokens in &questions.traced {
        let began = Instant::now();
        n_spans += occurrences.spans(tokens)?.len();
        traced.push(began.elapsed());
    }
    Ok(json!({
        "opened": of_times(opened),
        "counted": of_times(counted),
        "sum_of_counts": counts.iter().sum::<u64>(),
        "found": of_times(found),
        "n_places": n_places,
        "spans": of_times(traced),
        "n_spans": n_spans,
    }))
}

/// Returns the middle and the 99th percentile of times, in microseconds, and how many there are a second.
fn of_times(mut times: Vec<Duration>) -> Value {
    times.sort_unstable();
    let micros = |idx: usize| times[idx.min(times.len() - 1)].as_secs_f64() * 1e6;
    let all: Duration = times.iter().sum();
    json!({
        "p50_us": micros(times.len() / 2),
        "p99_us": micros(times.len() * 99 / 100),
        "a_second": times.len() as f64 / all.as_secs_f64(),
    })
}
