//! The command `kato runs`: lists, shows, renames, clones, exports, imports and deletes training
//! runs.
//!
//! ```text
//! kato runs list --in my-runs
//! kato runs clone wiki wiki_tuned --in my-runs
//! kato runs export wiki wiki-export --in my-runs
//! ```

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Subcommand;
use kato_model::RunName;
use kato_runs::{Runs, RunsError};

use crate::backend::Backend;
use crate::inspect::show;
use crate::patience::patiently;
use crate::runs::{Deleted, Exported, RunList, RunView, confirm, runs_in};
use crate::writable::check_file;

/// Manages training runs: lists, shows, renames, clones, exports, imports and deletes them.
///
/// A run is a knowledge base in the directory given by --in or one level deeper, or a file
/// NAME.kato-run.json of a run whose nodes are on a KATO server; in a MongoDB, every run there.
/// Symbolic links and names that begin with a dot are passed over.
/// RUN is its name, its id or the beginning of one, or a path of its directory or file: any, or the
/// end of the one that list shows. Reading works also while a run is trained, and shows its last
/// commit; a change needs the run for itself, as an export from a MongoDB does, and is done as a
/// whole or not at all, also when this program is killed. A deletion in a MongoDB, or of a run on a
/// server, that was killed is finished by deleting again. A run on a server is neither cloned nor
/// exported.
///
/// With --json every answer is one JSON object on standard output. list, discover: runs, an array
/// of runs. show, record, rename, clone, import: a run, with manifest (its run.json), location,
/// is_recorded, disk_bytes and problem. export: exported, the directory, and manifest. delete:
/// deleted, the run as it was.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Directory around the knowledge bases, or mongodb:URI (mongodb alone takes the URI from
    /// KATO_MONGODB_URI).
    #[arg(
        long = "in",
        value_name = "DIR|mongodb:URI",
        default_value = ".",
        global = true,
        value_parser = Backend::or_directory
    )]
    place: Backend,
    /// Print one JSON object to standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All runs, one a line.
    List,
    /// The runs that nobody recorded, one a line.
    Discover,
    /// Everything known of a run.
    Show {
        /// Name, id or the beginning of one, or a path of the run's directory or file.
        run: String,
    },
    /// Write the run.json of a run that has none, and give it an id; in a MongoDB, the same in its
    /// record.
    Record {
        /// Name, id or the beginning of one, or a path of the run's directory or file.
        run: String,
    },
    /// Give a run another name, unless it is in a MongoDB or on a server; its directory stays.
    Rename {
        /// Name, id or the beginning of one, or a path of the run's directory or file.
        run: String,
        /// The new name: 1 to 32 letters, digits and underscores.
        name: RunName,
    },
    /// Copy a run into one of its own, which can be trained on. In a directory it shares the files
    /// of what was learned so far, and has none of the index, the counts and the occurrences.
    Clone {
        /// Name, id or the beginning of one, or a path of the run's directory or file.
        run: String,
        /// The name of the copy: 1 to 32 letters, digits and underscores.
        name: RunName,
    },
    /// Write a run to a new directory: run.json, the patterns of each level as JSON Lines, and the
    /// position.
    Export {
        /// Name, id or the beginning of one, or a path of the run's directory or file.
        run: String,
        /// The directory, which must not exist.
        #[arg(value_name = "OUT")]
        out: PathBuf,
    },
    /// Make a run from an exported one.
    Import {
        /// The directory that `export` wrote.
        #[arg(value_name = "EXPORT")]
        export: PathBuf,
        /// The run's name here. Default: the name that it had.
        #[arg(long, value_name = "NAME")]
        name: Option<RunName>,
    },
    /// Delete a run with all that it learned, of one on a server its files here alone. Asks for its
    /// name.
    Delete {
        /// Name, id or the beginning of one, or a path of the run's directory or file.
        run: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// Asks the place of the runs, and says on standard error when that takes its time.
fn ask<T>(args: &Args, question: impl FnOnce(&Runs) -> Result<T, RunsError>) -> Result<T> {
    let runs = runs_in(&args.place)?;
    let answer = patiently(&format!("waiting for {}", args.place), || question(&runs));
    Ok(answer?)
}

/// Runs the subcommand and shows its answer.
pub(crate) fn run(args: &Args) -> Result<()> {
    let json = args.json;
    match &args.command {
        Command::List => show(&RunList::new(ask(args, Runs::list)?), json),
        Command::Discover => show(&RunList::new(ask(args, Runs::discover)?), json),
        Command::Show { run } => {
            let run = ask(args, |runs| runs.show(run))?;
            let problem = run.problem.clone();
            show(&RunView(run), json)?;
            // What is shown of a run that cannot be read is little, and no answer.
            match problem {
                Some(problem) => bail!("{problem}"),
                None => Ok(()),
            }
        }
        Command::Record { run } => show(&RunView(ask(args, |runs| runs.record(run))?), json),
        Command::Rename { run, name } => {
            show(&RunView(ask(args, |runs| runs.rename(run, name))?), json)
        }
        Command::Clone { run, name } => {
            show(&RunView(ask(args, |runs| runs.clone_run(run, name))?), json)
        }
        Command::Export { run, out } => {
            // Else the error would name a directory beside it, which nobody has asked for.
            if !out.exists() {
                check_file("OUT", out)?;
            }
            let archive = ask(args, |runs| runs.export(run, out))?;
            show(&Exported::of(&archive), json)
        }
        Command::Import { export, name } => {
            let run = ask(args, |runs| runs.import(export, name.as_ref()))?;
            show(&RunView(run), json)
        }
        Command::Delete { run, yes } => {
            let run = ask(args, |runs| runs.show(run))?;
            if !yes {
                confirm(&run)?;
            }
            // By its id: the run that was shown, and no other that has got its name meanwhile.
            let deleted = ask(args, |runs| runs.delete(run.manifest.id.as_str()))?;
            show(&Deleted { deleted }, json)
        }
    }
}
