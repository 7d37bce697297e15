//! The command `kato history`: what recorded runs took, beside each other and beside what was
//! foretold.
//!
//! ```text
//! kato train corpus.jsonl --kb my-kb --history runs.db
//! kato history list --history runs.db
//! kato history accuracy --history runs.db
//! kato history forecast --levels 5,7,9 --documents 1000000 --history runs.db
//! ```

#[cfg(feature = "history")]
use std::path::PathBuf;

#[cfg(not(feature = "history"))]
use anyhow::Context;
#[cfg(feature = "history")]
use clap::Subcommand;

#[cfg(feature = "history")]
/// Looks at the runs that `kato train --history` has recorded: lists and compares them, finds
/// similar ones, says how good forecasts were, and foretells the time of another.
///
/// RUN is an id, or the beginning of one. The file is a SQLite database: several programs may
/// record into it at once. A record is kept until it is removed, whatever becomes of what was
/// learned.
///
/// With --json every answer is one JSON object on standard output; plot, which answers with the names of the files,
/// and list --csv do not take it. list, compare: rows. show: run_id, recorded, settings, corpus, machine, estimate, outcome
/// and notes. similar: similar, each with similarity and run. accuracy: seconds, disk_bytes and memory_bytes, each with
/// runs, mean_percent, median_percent, worst_percent, bias_percent, intervals, covered and trend, or null; runs, how many were looked
/// at; without_estimate, how many of them had none; corrections of the next forecasts on this machine, each with
/// made_by, backend, and factor, width and runs of every quantity. forecast: seconds with value, low and high, learns,
/// runs, learns_of, leave_one_out_percent and left_out, with time, machine, backend and workers. import: imported, and
/// remove: removed, with ids.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// The file of the history.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "kato-history.db",
        global = true
    )]
    history: PathBuf,
    /// Print one JSON object to standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[cfg(feature = "history")]
#[derive(Debug, Subcommand)]
enum Command {
    /// Runs beside each other, newest first.
    List {
        #[command(flatten)]
        filter: Filter,
        /// Write all columns as CSV to this file instead; `-` for standard output.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Everything known of a run.
    Show {
        /// Its id, or the beginning of it.
        run: String,
    },
    /// These runs beside each other.
    Compare {
        /// Their ids, or the beginnings of them.
        #[arg(required = true)]
        runs: Vec<String>,
    },
    /// Runs whose settings are most like these.
    Similar {
        #[command(flatten)]
        settings: Settings,
        /// So many at most.
        #[arg(long, value_name = "N", default_value_t = 10)]
        limit: usize,
    },
    /// How good forecasts were, whether their intervals held, and whether they get better.
    Accuracy {
        #[command(flatten)]
        filter: Filter,
    },
    /// Foretells the time of a run from the times of recorded runs, also of such with other settings. Times
    /// are compared by learn calls: --learns says how many a document of this run makes. Runs of other machines
    /// and into other kinds of place are left out, and counted.
    Forecast {
        #[command(flatten)]
        settings: Settings,
        /// Documents of the run.
        #[arg(long = "documents", alias = "samples", value_name = "N", value_parser = crate::numbers::from_one::<u64>)]
        samples: u64,
        /// Learn calls of a document. Default: those of the largest run with the same chunk sizes.
        #[arg(long, value_name = "N")]
        learns: Option<f64>,
        /// Foretell a run on the machine and into the kind of place of this recorded one. Default: this machine,
        /// and the kind of place of its largest run with the same chunk sizes, else of its newest.
        #[arg(long, value_name = "RUN")]
        like: Option<String>,
    },
    /// Record the runs of the Python original: of its database, or of a snapshot (.json).
    Import {
        /// The file.
        file: PathBuf,
    },
    /// Write plots of the runs as SVG into a directory.
    Plot {
        /// The directory.
        dir: PathBuf,
        #[command(flatten)]
        filter: Filter,
    },
    /// Remove a run from the history; what it learned stays.
    Remove {
        /// Its id, or the beginning of it.
        run: String,
    },
}

#[cfg(feature = "history")]
/// Which runs.
#[derive(Debug, clap::Args)]
struct Filter {
    /// Of this corpus.
    #[arg(long, value_name = "NAME")]
    corpus: Option<String>,
    /// With these chunk sizes.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    levels: Vec<u64>,
    /// Of at least so many documents.
    #[arg(long = "min-documents", alias = "min-samples", value_name = "N")]
    min_samples: Option<u64>,
    /// So many of the newest.
    #[arg(long = "limit", alias = "last", value_name = "N")]
    last: Option<u64>,
}

#[cfg(feature = "history")]
/// Settings of a run.
#[derive(Debug, clap::Args)]
struct Settings {
    /// Chunk size of each level.
    #[arg(long, value_name = "N,…", value_delimiter = ',', required = true)]
    levels: Vec<u64>,
    /// Workers.
    #[arg(long, value_name = "N")]
    workers: Option<u64>,
    /// Batch size.
    #[arg(long, value_name = "N")]
    batch: Option<u64>,
}

#[cfg(not(feature = "history"))]
/// Looks at the runs that `kato train --history` has recorded: lists and compares them, finds
/// similar ones, says how good forecasts were, and foretells the time of another.
///
/// Not in this build: it needs `--features history`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is asked, which only a build with the feature understands.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    asked: Vec<String>,
}

/// Runs `kato history`.
#[cfg(not(feature = "history"))]
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let asked = args.asked.join(" ");
    crate::history::missing().with_context(|| format!("kato history {asked}"))
}

#[cfg(feature = "history")]
pub(crate) use answers::run;

#[cfg(feature = "history")]
mod answers {
    //! The answers of the subcommands.

    use std::fs::File;
    use std::io::Write;
    use std::path::Path;

    use anyhow::{Context, Result, bail};
    use kato_planner::history::import::{original_runs, original_snapshot};
    use kato_planner::history::record::RunSettings;
    use kato_planner::history::{RunFilter, TrainingHistory};

    use super::{Args, Command, Filter, Settings};
    use crate::history::{
        AccuracyView, Asked, ComparisonView, Imported, Removed, RunsView, SimilarView, forecast,
        write_plots,
    };
    use crate::inspect::show;
    use crate::output::stdout;
    use crate::writable::{check_directory, check_replaceable, write_text};

    impl Filter {
        fn filter(&self) -> RunFilter {
            let mut filter = RunFilter::default();
            filter.corpus = self.corpus.clone();
            filter.chunk_sizes = Some(self.levels.clone()).filter(|levels| !levels.is_empty());
            filter.min_samples = self.min_samples;
            filter.limit = self.last;
            filter
        }
    }

    impl Settings {
        fn settings(&self) -> RunSettings {
            let mut settings = RunSettings::new(self.levels.iter().copied());
            settings.workers = self.workers;
            settings.batch_size = self.batch;
            settings
        }
    }

    /// Runs the subcommand and shows its answer.
    pub(crate) fn run(args: &Args) -> Result<()> {
        let (path, json) = (&args.history, args.json);
        if path.is_dir() {
            bail!("--history {} is a directory: name a file", path.display());
        }
        if let Command::Import { file } = &args.command {
            return show(&import(path, file)?, json);
        }
        let mut history = TrainingHistory::open_existing(path)?;
        match &args.command {
            Command::List { filter, csv } => {
                let comparison = history.compare(&[], &filter.filter())?;
                match csv {
                    None => show(&ComparisonView(comparison), json),
                    Some(file) if file.as_os_str() == "-" => {
                        Ok(stdout().write_all(comparison.to_csv().as_bytes())?)
                    }
                    Some(file) => {
                        check_replaceable("--csv", file)?;
                        write_text(file, &comparison.to_csv())
                    }
                }
            }
            Command::Show { run } => show(&RunsView(history.run(run)?), json),
            Command::Compare { runs } => show(
                &ComparisonView(history.compare(runs, &RunFilter::default())?),
                json,
            ),
            Command::Similar { settings, limit } => {
                let similar = history.similar(&settings.settings(), *limit)?;
                show(&SimilarView { similar }, json)
            }
            Command::Accuracy { filter } => {
                show(&AccuracyView::of(&history, &filter.filter())?, json)
            }
            Command::Forecast {
                settings,
                samples,
                learns,
                like,
            } => {
                let asked = Asked {
                    settings: settings.settings(),
                    samples: *samples,
                    learns_a_sample: *learns,
                    like: like.as_deref(),
                };
                show(&forecast(&history, &asked)?, json)
            }
            Command::Plot { dir, filter } => {
                check_directory("DIR", dir)?;
                let mut runs = history.runs(&filter.filter())?;
                runs.reverse();
                let mut out = stdout();
                for path in write_plots(&runs, dir)? {
                    writeln!(out, "{}", path.display())?;
                }
                Ok(())
            }
            Command::Remove { run } => {
                let removed = history.remove(run)?;
                show(&Removed { removed }, json)
            }
            Command::Import { .. } => Ok(()),
        }
    }

    /// Imports a database or a snapshot into a history, which is made where it is missing.
    fn import(path: &Path, file: &Path) -> Result<Imported> {
        File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let is_snapshot = file
            .extension()
            .is_some_and(|extension| extension == "json");
        // Before the history is made, so that none is where nothing can be imported.
        let runs = match is_snapshot {
            true => vec![original_snapshot(file)?],
            false => original_runs(file)?,
        };
        let imported = TrainingHistory::open(path)?.import(runs)?;
        Ok(Imported { imported })
    }
}
