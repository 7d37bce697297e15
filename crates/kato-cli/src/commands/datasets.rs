//! The command `kato datasets`: what datasets there are, what a source holds, some of its
//! documents, its statistics.
//!
//! ```text
//! kato datasets list
//! kato datasets info wikitext
//! kato datasets head corpus.jsonl --limit 3
//! kato datasets sample hf://Salesforce/wikitext/wikitext-2-raw-v1:test --seed 7
//! kato datasets stats corpus/ --text-unit line
//! ```

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Subcommand;

use crate::datasets::{DatasetInfo, DatasetList, DatasetStats, Documents, Rate};
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::meter::Meter;
use crate::numbers::rate;
use crate::patience::patiently;
use crate::source::{SOURCE_HELP, SourceArgs};

/// Looks at datasets before training on them: what there is, what a source holds, some of its
/// documents, its statistics.
///
/// With --json every answer is one JSON object on standard output. list: rate and datasets. info: sources,
/// files, bytes, rows, rows_are_counted, problem, text_field, ignored, manifest, estimate and network. head,
/// sample: documents and network. stats: records, documents, passed_over, not_sampled, blank, short,
/// filtered, bad, complete, text_bytes, characters, lengths, repeats, bytes_read, seconds,
/// text_bytes_per_second, network and bad_records. Progress goes to standard error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The datasets that have a key, with the time to learn those whose rows are known.
    List(ListArgs),
    /// What a source consists of: files, sizes, validators, revision, rows, time; no document is
    /// read.
    Info(InfoArgs),
    /// The first documents of a source.
    Head(HeadArgs),
    /// Documents from a random place of a source, in random order.
    ///
    /// One stretch is read, mostly of about 8 MiB of text; --window reads more of them and draws from
    /// all. Standard input cannot be drawn from.
    Sample(SampleArgs),
    /// Rows, documents, lengths and speed; reads all, or --max-rows.
    ///
    /// Records that cannot be read are skipped and counted, unless --on-bad says otherwise. An
    /// interrupted run tells what it has found so far.
    Stats(StatsArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    rate: RateArgs,
    /// TOML file with datasets of your own. Default: the one that KATO_DATASETS names.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
struct InfoArgs {
    #[command(flatten)]
    from: FromArgs,
    #[command(flatten)]
    rate: RateArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
struct HeadArgs {
    #[command(flatten)]
    from: FromArgs,
    #[command(flatten)]
    shown: ShownArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
struct SampleArgs {
    #[command(flatten)]
    from: FromArgs,
    #[command(flatten)]
    shown: ShownArgs,
    /// Decides the place and the order.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "shuffle"
    )]
    seed: u64,
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
struct StatsArgs {
    #[command(flatten)]
    from: FromArgs,
    /// Also tell which documents, paragraphs and lines stand there more than once, and how much
    /// text goes without them.
    #[arg(long)]
    repeats: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, clap::Args)]
struct FromArgs {
    /// What to read; see below.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    args: SourceArgs,
}

#[derive(Debug, clap::Args)]
struct ShownArgs {
    /// How many documents.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Show whole texts, not a line of each.
    #[arg(long)]
    full: bool,
}

#[derive(Debug, clap::Args)]
struct RateArgs {
    /// Documents learned a second. Default: measured on this machine, by learning synthetic documents
    /// of about 2.1 kB (500 GPT-2 tokens) into memory, with the default settings of `kato train`.
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
}

/// Runs `kato datasets`.
pub(crate) fn run(args: &mut Args) -> Result<()> {
    args.command.complete();
    answer(&args.command)
}

impl Command {
    /// Fills in what a command reads by default.
    fn complete(&mut self) {
        match self {
            Self::List(_) | Self::Info(_) => {}
            Self::Head(args) => args.from.args.read_little(),
            Self::Sample(args) => {
                args.from.args.shuffle_by(args.seed);
                args.from.args.read_little();
            }
            Self::Stats(args) => {
                args.from.args.skip_bad();
                args.from.args.allow_nothing();
            }
        }
    }
}

/// Runs the subcommand and shows its answer.
fn answer(command: &Command) -> Result<()> {
    match command {
        Command::List(args) => {
            let registry = crate::source::registry(args.registry.as_deref())?;
            let list = patiently("measuring how fast this machine learns", || {
                anyhow::Ok(DatasetList::of(&registry, args.rate.get()?))
            })?;
            show(&list, args.json)
        }
        Command::Info(InfoArgs { from, rate }) => {
            let sources = from.args.resolve(&from.sources)?;
            let info = patiently("listing the sources", || {
                DatasetInfo::of(&sources, || rate.get())
            })?;
            show(&info, from.json)
        }
        Command::Head(HeadArgs { from, shown }) => documents(from, shown),
        Command::Sample(SampleArgs { from, shown, .. }) => documents(from, shown),
        Command::Stats(StatsArgs {
            from,
            repeats,
            quiet,
        }) => {
            let stop = stop_on_interrupt();
            let sources = from.args.resolve(&from.sources)?;
            let mut meter = Meter::new(*quiet);
            // The outcome is looked at after the bar is gone, so that an error stands on a line of
            // its own.
            let stats = DatasetStats::read(&sources, *repeats, &stop, &mut meter);
            meter.finish();
            show(&stats?, from.json)?;
            // After the statistics of what was read: an interrupted run says what it has found.
            if stop.is_stopped() {
                bail!("interrupted; the rest was not read: give the same command again for all");
            }
            Ok(())
        }
    }
}

/// Shows the first documents of the order that the arguments ask for.
fn documents(from: &FromArgs, shown: &ShownArgs) -> Result<()> {
    let sources = from.args.resolve(&from.sources)?;
    let documents = patiently("reading the sources", || {
        Documents::read(&sources, shown.limit, shown.full)
    })?;
    show(&documents, from.json)
}

impl RateArgs {
    /// Returns the rate that was given, or else measures it.
    fn get(&self) -> Result<Rate> {
        self.rate.map(Rate::given).map_or_else(Rate::measure, Ok)
    }
}
