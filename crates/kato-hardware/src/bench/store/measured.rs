//! The measurement of the embedded store.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use kato_model::naming::{LiteralTable, NameScratch, name_of_ids};
use kato_model::{LearnBatch, PatternName, SymbolTable};
use kato_random::SplitMix64;
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::json;

use super::{LENGTHS, StoreResults};
use crate::Allowance;
use crate::bench::room;
use crate::bench::text::Words;
use crate::figure::{Measured, MeasurementMethod, Unit};
use crate::meter::{Meter, NO_TIME, figure, windows};

/// Patterns between two commits.
const BATCH: usize = 20_000;
/// Most patterns that are made, because their names are kept in memory to be looked up.
const MAX_PATTERNS: usize = 400_000;
/// Room on the disk that so many patterns take, with a margin.
const ROOM: u64 = 96 << 20;
/// Most bytes that a pattern takes on the disk while segments are merged.
const PATTERN: u64 = 200;
/// Patterns that are looked up between two looks at the clock.
const LOOKUP_BATCH_SIZE: usize = 64;

/// Measures the store in a directory of its own below the one given.
pub(crate) fn measure(allowance: &Allowance, directory: &Path, seed: u64) -> StoreResults {
    match try_measure(allowance, directory, seed) {
        Ok(results) => results,
        Err(reason) => StoreResults::unknown(&reason),
    }
}

/// Measures the store.
///
/// # Errors
///
/// The reason why nothing can be measured.
fn try_measure(allowance: &Allowance, directory: &Path, seed: u64) -> Result<StoreResults, String> {
    // Declared first and so dropped last: after the stores in it have closed their files.
    let dir = tempfile::Builder::new()
        .prefix(".kato-hardware-")
        .tempdir_in(directory)
        .map_err(|error| {
            format!(
                "no directory can be made in {} ({error}): name one that can be written to with `directory`",
                directory.display()
            )
        })?;
    let room = room::in_directory(directory, ROOM)?;
    // The least room that is accepted, 16 MiB, is enough for two batches of either length.
    let most = MAX_PATTERNS.min((room / PATTERN) as usize);
    let mut source = Source::new(seed);
    let [n_short, n_long] = LENGTHS;
    let place = dir.path().join("short");
    let short = Filled::new(&allowance.part(0.4), &place, n_short, most, &mut source)?;
    let read = figure(&allowance.part(0.4), |allowance| {
        short.read(allowance, seed)
    });
    let place = dir.path().join("long");
    let long = Filled::new(&allowance.part(0.9), &place, n_long, most / 2, &mut source)?;
    Ok(StoreResults {
        write: short.write,
        stage: short.stage,
        stage_long: long.stage,
        commit_latency: short.commit_latency,
        read,
        pattern_bytes: short.pattern_bytes,
        long_pattern_bytes: long.pattern_bytes,
    })
}

/// Source of patterns, made of words.
struct Source {
    words: Words,
    vocabulary: Arc<SymbolTable>,
    fragments: LiteralTable,
    random: SplitMix64,
}

impl Source {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix64::from_seed(seed);
        let words = Words::new(&mut random);
        let mut vocabulary = SymbolTable::new();
        for word in words.all() {
            vocabulary.push(word);
        }
        Self {
            fragments: LiteralTable::new(words.all()),
            vocabulary: Arc::new(vocabulary),
            words,
            random,
        }
    }

    /// Makes a batch of patterns: their names, and the tokens of all of them one after the other.
    fn patterns(&mut self, n_tokens: usize) -> Result<(Vec<PatternName>, Vec<u32>), String> {
        let tokens: Vec<u32> = (0..BATCH * n_tokens)
            .map(|_| self.words.draw(&mut self.random) as u32)
            .collect();
        let mut scratch = NameScratch::default();
        let names = tokens
            .chunks(n_tokens)
            .map(|tokens| {
                name_of_ids(&self.fragments, tokens, &mut scratch).map_err(failure_reason)
            })
            .collect::<Result<_, _>>()?;
        Ok((names, tokens))
    }
}

/// A store that was filled, with the figures of filling it.
struct Filled {
    store: EmbeddedStore,
    names: Vec<PatternName>,
    write: Measured,
    stage: Measured,
    commit_latency: Measured,
    pattern_bytes: Measured,
}

impl Filled {
    /// Fills a new store with patterns of so many tokens, until the time is up or there are enough.
    fn new(
        allowance: &Allowance,
        dir: &Path,
        n_tokens: usize,
        most: usize,
        source: &mut Source,
    ) -> Result<Self, String> {
        let store = EmbeddedStore::create(dir, &["node0"], json!({"chunk_size": n_tokens}));
        let store = store.map_err(failure_reason)?;
        let meter = || Meter::start().note(format!("commits of {BATCH} patterns"));
        let meters = [meter(), meter(), meter(), meter()];
        let mut names = Vec::new();
        let (mut staging, mut writing) = (Vec::new(), Vec::new());
        let mut committing = Vec::new();
        while !allowance.is_over() && names.len() + BATCH <= most {
            // Made before the time is taken, because naming is measured by a step of its own.
            let (batch_names, tokens) = source.patterns(n_tokens)?;
            let start = Instant::now();
            let mut batch = LearnBatch::with_vocabulary(1, Arc::clone(&source.vocabulary));
            for (name, tokens) in batch_names.iter().zip(tokens.chunks(n_tokens)) {
                batch.learn_tokens(*name, tokens);
            }
            let staged = store.stage(batch.seal()).map_err(failure_reason)?;
            let stage = start.elapsed().as_secs_f64();
            let start = Instant::now();
            store
                .commit(vec![staged], json!(null))
                .map_err(failure_reason)?;
            let commit = start.elapsed().as_secs_f64();
            staging.push((BATCH as f64, stage));
            writing.push((BATCH as f64, stage + commit));
            committing.push(commit);
            names.extend(batch_names);
        }
        // What was cut short may be one batch, and its figures would not show it.
        if allowance.is_stopped() {
            return Err(crate::step::cancelled());
        }
        if names.is_empty() {
            return Err(NO_TIME.to_owned());
        }
        let distinct = store.count_patterns(0).map_err(failure_reason)? as f64;
        // Where the size is not known, the 0 becomes an unknown figure below.
        let bytes = store.disk_bytes().unwrap_or(0) as f64;
        let [write, stage, commit, amount] = meters;
        Ok(Self {
            store,
            names,
            write: write.rate(Unit::PerSecond, MeasurementMethod::Direct, &writing),
            // Staged segments are not flushed before the commit, so the cache takes them.
            stage: stage.rate(Unit::PerSecond, MeasurementMethod::Cached, &staging),
            commit_latency: commit.latency(MeasurementMethod::Direct, &committing),
            pattern_bytes: amount.amount(Unit::Bytes, bytes / distinct),
        })
    }

    /// Measures look-ups by name, in random order.
    fn read(&self, allowance: &Allowance, seed: u64) -> Result<Measured, String> {
        let mut random = SplitMix64::from_seed(seed);
        let meter = Meter::start().note(format!("of {} patterns", self.names.len()));
        let found = windows(allowance, || {
            for _ in 0..LOOKUP_BATCH_SIZE {
                let name = &self.names[random.below(self.names.len())];
                let pattern = self.store.pattern(0, name).map_err(failure_reason)?;
                black_box(pattern.ok_or("a pattern that was written is not found")?);
            }
            Ok::<_, String>(LOOKUP_BATCH_SIZE as f64)
        })?;
        Ok(meter.rate(Unit::PerSecond, MeasurementMethod::Cached, &found))
    }
}

/// Returns the reason of a failure.
fn failure_reason(error: impl std::fmt::Display) -> String {
    format!("the embedded store failed: {error}")
}
