//! Measures how long a prediction takes at growing numbers of patterns, with the full scan beside
//! it, and what memory a pattern takes.
//!
//! ```sh
//! cargo run --profile dist -p kato-benches --features programs --bin predict_latency -- --kb KB --patterns 100000,1000000,10000000
//! ```
//!
//! `KB` is a knowledge base that `train` made. One node's patterns are loaded into an index up to
//! each number; one in 2,000 is held out, and states are cut from the held-out patterns: their
//! first symbols, and beyond their length those of the next. So states look like the text, and what
//! they come from is not in the index. One thread; times are wall-clock.
//!
//! With `--over-index` the node is asked over the index that `kato index` has written, all of it; then
//! `--ask` names another knowledge base, of other text, to cut states from. Page faults of a
//! prediction stand beside the times (on Linux), and what its search did: entries of lists walked,
//! patterns read, patterns scored.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints a table"
)]

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use kato_model::Event;
use kato_prediction::{PatternIndex, PredictionConfig, SymbolId};
use kato_store::visit::{SourceSymbols, SymbolRef, VisitedPattern};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore, PatternVisitor};

/// Patterns of which one is held out to ask with.
const HELD_OUT: usize = 2_000;

/// Time predictions over a node of a knowledge base.
#[derive(Debug, Parser)]
struct Arguments {
    /// Directory of a trained knowledge base.
    #[arg(long)]
    kb: PathBuf,
    /// The node whose patterns are indexed.
    #[arg(long, default_value = "node0")]
    node: String,
    /// Numbers of patterns.
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    patterns: Vec<usize>,
    /// Symbols of the states.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 5, 10, 45])]
    lengths: Vec<usize>,
    /// States of each length.
    #[arg(long, default_value_t = 1_000)]
    states: usize,
    /// States that are also answered by the full scan, and compared.
    #[arg(long, default_value_t = 20)]
    scans: usize,
    /// Least similarity of a prediction.
    #[arg(long, default_value_t = 0.1)]
    recall_threshold: f64,
    /// Most predictions of an answer.
    #[arg(long, default_value_t = 100)]
    max_predictions: usize,
    /// Ask over the index on the disk instead of loading patterns.
    #[arg(long)]
    over_index: bool,
    /// Ask every state once before it is timed, so that what it reads is mapped and compared with its
    /// checksums.
    #[arg(long, requires = "over_index")]
    warm: bool,
    /// Threads of one prediction over an index.
    #[arg(long, default_value_t = NonZeroUsize::MIN, requires = "over_index")]
    threads: NonZeroUsize,
    /// Knowledge base that states are cut from. Default: the one that is asked.
    #[arg(long, value_name = "KB", requires = "over_index")]
    ask: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let store = EmbeddedStore::open_read_only(&arguments.kb)?;
    let node_idx = KnowledgeBase::new(&store, &arguments.node)?.node_idx();
    let config = PredictionConfig {
        recall_threshold: arguments.recall_threshold,
        max_predictions: arguments.max_predictions,
        ..PredictionConfig::default()
    };
    println!(
        "| patterns | symbols of the state | p50 | p90 | p99 | max | listed | read | scored | faults | full scan p50 | ratio |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    if arguments.over_index {
        return measure_over_index(&arguments, &store, node_idx, &config);
    }
    for &limit in &arguments.patterns {
        let began = Instant::now();
        let mut loader = Loader::new(limit);
        store.visit(node_idx, &mut loader)?;
        // As after opening: searched in its final form, and counted without the room that growing
        // has left.
        loader.index.seal();
        let loading = began.elapsed();
        let index = loader.index;
        if loader.held_out.is_empty() {
            bail!("{} holds too few patterns to hold some out", arguments.node);
        }
        for &length in &arguments.lengths {
            let states = states(&loader.held_out, length, arguments.states);
            print_row(&index, &states, &config, arguments.scans)
                .with_context(|| format!("states of {length} symbols"))?;
        }
        eprintln!(
            "{} patterns, {} symbols: loaded in {:.2} s, {:.1} bytes a pattern in all",
            index.n_patterns(),
            index.n_symbols(),
            loading.as_secs_f64(),
            index.heap_bytes() as f64 / index.n_patterns() as f64,
        );
    }
    Ok(())
}

/// Measures a node over its index on the disk.
fn measure_over_index(
    arguments: &Arguments,
    store: &EmbeddedStore,
    node_idx: usize,
    config: &PredictionConfig,
) -> Result<()> {
    let began = Instant::now();
    let index = kato_prediction::disk::open(store)?
        .context("there is no index: write it with `kato index`")?;
    let frozen = index.nodes().nth(node_idx).flatten();
    let frozen = frozen.context("the node has emotives, so it has no index")?;
    let index = PatternIndex::over(frozen).with_threads(arguments.threads);
    let opening = began.elapsed();
    let mut loader = Loader::new(usize::MAX);
    loader.keeps_none = true;
    match &arguments.ask {
        None => store.visit(node_idx, &mut loader)?,
        Some(kb) => {
            let other = EmbeddedStore::open_read_only(kb)?;
            let node_idx = KnowledgeBase::new(&other, &arguments.node)?.node_idx();
            other.visit(node_idx, &mut loader)?;
        }
    }
    if loader.held_out.is_empty() {
        bail!("{} holds too few patterns to ask with", arguments.node);
    }
    for &length in &arguments.lengths {
        let states = states(&loader.held_out, length, arguments.states);
        if arguments.warm {
            for state in &states {
                drop(index.predict(state, config));
            }
        }
        print_row(&index, &states, config, arguments.scans)
            .with_context(|| format!("states of {length} symbols"))?;
    }
    eprintln!(
        "{} patterns, {} symbols: opened in {:.2} ms, {} bytes in memory beside the map",
        index.n_patterns(),
        index.n_symbols(),
        opening.as_secs_f64() * 1e3,
        index.heap_bytes(),
    );
    if index.is_damaged() {
        bail!("the index is damaged: write it again with `kato index`");
    }
    Ok(())
}

/// Returns the page faults of the process so far, those that read the disk among them; 0 where the
/// system does not tell.
fn page_faults() -> u64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
        return 0;
    };
    // After the name, which may hold anything, the fields are numbers: minor faults are the 8th of
    // those, major ones the 10th.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |idx: usize| fields.get(idx).and_then(|field| field.parse::<u64>().ok());
    number(7).unwrap_or(0) + number(9).unwrap_or(0)
}

/// Measures states of one length, and prints a row of the table.
fn print_row(
    index: &PatternIndex,
    states: &[Vec<Event>],
    config: &PredictionConfig,
    n_scans: usize,
) -> Result<()> {
    let mut times = Vec::with_capacity(states.len());
    let mut scans = Vec::new();
    let mut n_faults = 0;
    for (number, state) in states.iter().enumerate() {
        let faults = page_faults();
        let began = Instant::now();
        let answer = index.predict(state, config);
        times.push(began.elapsed());
        n_faults += page_faults() - faults;
        if number < n_scans {
            let began = Instant::now();
            let scanned = index.predict_by_full_scan(state, config);
            scans.push(began.elapsed());
            // A fast answer that is wrong would be worth nothing.
            if answer != scanned {
                bail!("the index and the full scan differ for {state:?}");
            }
        }
    }
    let first = times.first().copied().unwrap_or_default();
    // After the times, as counting is no part of an answer.
    let mut work = [0; 3];
    for state in states {
        let (_, of_state) = index.predict_with_work(state, config);
        work[0] += of_state.n_listed;
        work[1] += of_state.n_read;
        work[2] += of_state.n_scored;
    }
    let [n_listed, n_read, n_scored] = work.map(|sum| sum as f64 / states.len() as f64);
    times.sort_unstable();
    scans.sort_unstable();
    let p50 = quantile(&times, 0.5);
    let scan = quantile(&scans, 0.5);
    println!(
        "| {} | {} | {} | {} | {} | {} | {n_listed:.0} | {n_read:.0} | {n_scored:.0} | {:.0} | {} | {:.0} |",
        index.n_patterns(),
        states[0].len(),
        milliseconds(p50),
        milliseconds(quantile(&times, 0.9)),
        milliseconds(quantile(&times, 0.99)),
        milliseconds(quantile(&times, 1.0)),
        n_faults as f64 / states.len() as f64,
        milliseconds(scan),
        scan.as_secs_f64() / p50.as_secs_f64(),
    );
    eprintln!(
        "first of {} symbols: {}",
        states[0].len(),
        milliseconds(first)
    );
    Ok(())
}

/// Returns the smallest time that this share of the times, which are sorted, does not exceed.
fn quantile(times: &[Duration], share: f64) -> Duration {
    let rank = (times.len() as f64 * share).ceil() as usize;
    times
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

/// Returns a time as text.
fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Cuts states of one length from held-out patterns.
fn states(held_out: &[Vec<String>], length: usize, n_states: usize) -> Vec<Vec<Event>> {
    (0..n_states)
        .map(|number| {
            // Every state begins with another pattern. A long one goes on with those behind it, as
            // text does.
            let patterns = held_out.iter().cycle().skip(number % held_out.len());
            let symbols = patterns.flatten().take(length);
            symbols
                .map(|symbol| Event::new([symbol.as_str()]))
                .collect()
        })
        .collect()
}

/// Visitor that takes in patterns up to a number, and holds some out.
struct Loader {
    index: PatternIndex,
    limit: usize,
    n_seen: usize,
    held_out: Vec<Vec<String>>,
    /// Whether the patterns that are not held out are left out as well.
    keeps_none: bool,
    /// Symbols of the index by symbols of the source, for those met so far.
    ids: Vec<Option<SymbolId>>,
    symbols: Vec<SymbolId>,
}

impl Loader {
    /// Creates a visitor with an empty index.
    fn new(limit: usize) -> Self {
        Self {
            index: PatternIndex::new(),
            limit,
            n_seen: 0,
            held_out: Vec::new(),
            keeps_none: false,
            ids: Vec::new(),
            symbols: Vec::new(),
        }
    }

    /// Returns the index's symbol for one of the source.
    fn id(&mut self, source: &SourceSymbols<'_>, symbol: u32) -> Option<SymbolId> {
        if let Some(id) = self.ids[symbol as usize] {
            return Some(id);
        }
        let id = match source.get(symbol)? {
            SymbolRef::Text(text) => self.index.intern(text),
            SymbolRef::Name(name) => self.index.intern_name(&name),
        };
        self.ids[symbol as usize] = id.ok();
        self.ids[symbol as usize]
    }
}

impl PatternVisitor for Loader {
    fn source(&mut self, source: &SourceSymbols<'_>, _n_patterns: u64) -> ControlFlow<()> {
        // Every source numbers its symbols anew.
        self.ids.clear();
        self.ids.resize(source.len(), None);
        ControlFlow::Continue(())
    }

    fn pattern(
        &mut self,
        source: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        if self.index.n_patterns() >= self.limit {
            return ControlFlow::Break(());
        }
        self.n_seen += 1;
        if self.n_seen.is_multiple_of(HELD_OUT) {
            let symbols = pattern
                .symbols
                .iter()
                .filter_map(|&symbol| source.get(symbol));
            self.held_out
                .push(symbols.map(|symbol| symbol.to_string()).collect());
            return ControlFlow::Continue(());
        }
        if self.keeps_none {
            return ControlFlow::Continue(());
        }
        // One buffer for all patterns, taken out because `id` needs all of `self`.
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.clear();
        symbols.extend(
            pattern
                .symbols
                .iter()
                .filter_map(|&symbol| self.id(source, symbol)),
        );
        let inserted = self.index.insert(
            pattern.name,
            &symbols,
            pattern.event_lengths(),
            pattern.frequency,
        );
        self.symbols = symbols;
        match inserted {
            Ok(_) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
