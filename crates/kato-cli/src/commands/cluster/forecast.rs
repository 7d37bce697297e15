//! The command `kato cluster forecast`: what a run on many machines would take.

use std::fmt::Write;

use anyhow::Result;
use kato_planner::cluster::{
    Bound, ClusterForecast, ClusterMachine, ClusterRates, ClusterRun, Cuts, ObjectStore,
    PhaseForecast, simulate_best,
};
use kato_report::figures::bytes;
use serde::Serialize;

use crate::byte_size::ByteSize;
use crate::inspect::layout::table;
use crate::inspect::{View, show};
use crate::numbers::{amount, counted, rate};

/// Symbols that a range of a level can have at most.
const MOST_SYMBOLS: f64 = u32::MAX as f64;

/// The run, the machines and what they cost.
#[derive(Debug, clap::Args)]
pub(crate) struct ForecastArgs {
    /// Size of the corpus's text: 1TB.
    #[arg(long = "text-size", alias = "text", value_name = "SIZE", value_parser = crate::byte_size::above_zero)]
    text: ByteSize,
    /// Numbers of machines.
    #[arg(
        long = "machines",
        alias = "workers",
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "10,100,1000",
        value_parser = crate::numbers::from_one::<u64>
    )]
    workers: Vec<u64>,
    /// Tasks. Default: of the numbers that are tried, that with which the run ends first; of at most five billion
    /// tokens each.
    #[arg(long, value_name = "N", value_parser = crate::numbers::from_one::<u64>)]
    tasks: Option<u64>,
    /// Ranges of names. Default: of the numbers that are tried, that with which the run ends first; of at most 2³¹
    /// symbols each.
    #[arg(long, value_name = "N", value_parser = crate::numbers::from_one::<u64>)]
    ranges: Option<u64>,
    /// Number of levels.
    #[arg(
        long = "depth",
        alias = "levels",
        value_name = "N",
        default_value_t = 3,
        value_parser = crate::numbers::from_one::<u64>
    )]
    levels: u64,
    /// Threads of a machine.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = crate::numbers::from_one::<u64>)]
    threads: u64,
    /// Bytes a second that the network of a machine carries.
    #[arg(long, value_name = "SIZE", default_value = "312MB", value_parser = crate::byte_size::above_zero)]
    network: ByteSize,
    /// Price of a machine, in USD an hour.
    #[arg(long, value_name = "USD", default_value_t = 0.357, value_parser = amount)]
    usd_an_hour: f64,
    /// Tokens that a thread learns in a second; `status` tells it of a plan whose tasks have one worker each.
    #[arg(long, value_name = "N", default_value_t = LEARN_RATE, value_parser = rate)]
    learn_rate: f64,
    /// Patterns that a thread merges in a second.
    #[arg(long, value_name = "N", default_value_t = MERGE_RATE, value_parser = rate)]
    merge_rate: f64,
    /// Patterns that a thread seals in a second.
    #[arg(long, value_name = "N", default_value_t = SEAL_RATE, value_parser = rate)]
    seal_rate: f64,
    /// Distinct patterns of all levels for each token.
    #[arg(long, value_name = "N", default_value_t = PATTERNS_A_TOKEN, value_parser = amount)]
    patterns_a_token: f64,
    /// Bytes a second that the store carries for all machines together.
    #[arg(long, value_name = "SIZE", default_value = "100GB", value_parser = crate::byte_size::above_zero)]
    store_rate: ByteSize,
    /// How often a machine dies in an hour.
    #[arg(long, value_name = "N", default_value_t = 0.01, value_parser = amount)]
    deaths: f64,
    /// Decides how long tasks are and when machines die.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

// As measured on one machine: docs/scale-out.md.
const LEARN_RATE: f64 = 4.9e6;
const MERGE_RATE: f64 = 1.9e6;
const SEAL_RATE: f64 = 1.2e6;
const PATTERNS_A_TOKEN: f64 = 0.165;
const TEXT_BYTES_A_TOKEN: f64 = 4.31;
const SLICE_BYTES_A_TOKEN: f64 = 10.7;
const MERGED_BYTES_A_TOKEN: f64 = 9.6;
const SEGMENT_BYTES_A_TOKEN: f64 = 13.0;

/// The forecasts by number of machines.
#[derive(Debug, Serialize)]
struct ForecastView {
    text_bytes: f64,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    n_tasks: u64,
    n_ranges: u64,
    #[serde(flatten)]
    forecast: ClusterForecast,
}

/// Simulates the runs and shows what they take.
pub(crate) fn run(args: &ForecastArgs, as_json: bool) -> Result<()> {
    let text_bytes = args.text.0 as f64;
    let tokens = text_bytes / TEXT_BYTES_A_TOKEN;
    let rates = ClusterRates::new(args.learn_rate, args.merge_rate, args.patterns_a_token)
        .with_bytes(
            ClusterRates::COMPRESSED_BYTES_A_TOKEN,
            SLICE_BYTES_A_TOKEN,
            MERGED_BYTES_A_TOKEN,
        )
        .with_sealing(args.seal_rate, SEGMENT_BYTES_A_TOKEN);
    let machine = ClusterMachine::new(args.threads, args.network.0 as f64, args.usd_an_hour);
    let store = ObjectStore::new();
    let requests = store.requests_a_second;
    let store = store.with_limits(args.store_rate.0 as f64, requests);
    let mut rows = Vec::new();
    for &n_workers in &args.workers {
        let run = ClusterRun::new(tokens, 1)
            .with_workers(n_workers)
            .with_levels(args.levels)
            .with_deaths(args.deaths, 60.0)
            .with_seed(args.seed);
        let cuts = Cuts {
            tasks: args.tasks,
            ranges: args.ranges,
        };
        let (run, forecast) = simulate_best(&run, cuts, &rates, &machine, &store)?;
        rows.push(Row {
            n_tasks: run.n_tasks,
            n_ranges: run.n_ranges,
            forecast,
        });
    }
    show(&ForecastView { text_bytes, rows }, as_json)
}

impl View for ForecastView {
    fn text(&self, _width: usize) -> String {
        let header = [
            "machines",
            "tasks",
            "ranges",
            "learn",
            "merge",
            "seal",
            "in all",
            "bound",
            "lost",
            "moved",
            "requests",
            "USD",
            "kept",
            "USD/month",
        ];
        let rows: Vec<Vec<String>> = self.rows.iter().map(Row::cells).collect();
        let mut text = format!("{} of text\n\n", bytes(self.text_bytes));
        text += &table(&header, &rows);
        for row in &self.rows {
            let symbols = row.forecast.most_symbols_a_range;
            if symbols > MOST_SYMBOLS {
                // Writing into a string cannot fail.
                let _ = writeln!(
                    text,
                    "\nwith {} one would have {symbols:.1e} symbols, and can have {MOST_SYMBOLS:.1e}: give more --ranges",
                    counted(row.n_ranges, "range")
                );
            }
        }
        text += "\nSimulated from rates that were measured on one machine; no cluster of this size was tried. Starting\nmachines and fetching what is published are not counted.\n";
        text
    }
}

impl Row {
    /// Returns the cells of the table.
    fn cells(&self) -> Vec<String> {
        let forecast = &self.forecast;
        let phases = [&forecast.learn, &forecast.merge, &forecast.seal];
        let sum = |of: fn(&PhaseForecast) -> f64| phases.into_iter().map(of).sum::<f64>();
        let bounds = phases.map(|phase| in_words(phase.bound));
        vec![
            forecast.n_workers.to_string(),
            self.n_tasks.to_string(),
            self.n_ranges.to_string(),
            duration(forecast.learn.seconds),
            duration(forecast.merge.seconds),
            duration(forecast.seal.seconds),
            duration(forecast.seconds),
            bounds.join(", "),
            phases
                .iter()
                .map(|phase| phase.n_lost)
                .sum::<u64>()
                .to_string(),
            bytes(sum(|phase| phase.read_bytes + phase.written_bytes)),
            format!("{:.1e}", sum(|phase| phase.n_reads + phase.n_writes)),
            format!("{:.0}", forecast.usd),
            bytes(forecast.stored_bytes),
            format!("{:.0}", forecast.stored_usd_a_month),
        ]
    }
}

/// Returns a time as people say it.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.1} h", seconds / 3600.0),
        seconds => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// Returns a bound in a word.
fn in_words(bound: Bound) -> &'static str {
    match bound {
        Bound::Processor => "processor",
        Bound::Network => "network",
        Bound::StoreBytes => "store",
        Bound::StoreRequests => "requests",
        Bound::Latency => "latency",
        _ => "other",
    }
}
