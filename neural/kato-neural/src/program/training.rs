//! What commands that train say and write in the end, whatever they train.

use std::path::Path;

use kato_advice::counted;
use kato_report::Page;
use serde::Serialize;

use super::{CommandFailure, Ended, say, say_json, tell};
use crate::run::{RunEnding, Signals, find_batch, write_text};

/// The file of a run's page.
const PAGE: &str = "report.html";

/// Returns what the exit codes of a program that trains mean, for its help.
#[must_use]
pub fn exit_codes(program: &str) -> String {
    format!(
        "\
Exit codes:
    0  done
    1  error: mend what it names
    2  wrong usage
    4  the system did not answer in time: do the same again later
    5  no room on the disk, or in the memory that may be used
    6  conflict: another process trains the run, it is of another version or model or has other settings,
       or something else is where this was to be
  130  interrupted by Ctrl-C or SIGTERM; a training goes on with `{program} resume`"
    )
}

/// A training that ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedTraining<'a> {
    /// Whose run it is.
    pub program: &'static str,
    /// The folder of the run.
    pub folder: &'a Path,
    /// Why it ended.
    pub ending: RunEnding,
    /// Steps of all processes that trained it.
    pub n_steps: u64,
    /// Epochs that were judged.
    pub n_epochs: u64,
}

impl EndedTraining<'_> {
    /// Writes the page of the run, and prints what came of it: as JSON, or in lines of which `say_figures`
    /// prints those of the program.
    ///
    /// # Errors
    ///
    /// When the page or standard output cannot be written.
    pub fn conclude(
        &self,
        page: Page,
        outcome: &impl Serialize,
        is_json: bool,
        say_figures: impl FnOnce() -> Result<(), CommandFailure>,
    ) -> Result<Ended, CommandFailure> {
        let path = self.folder.join(PAGE);
        write_text(&path, &page.into_html())?;
        if is_json {
            say_json(outcome)?;
        } else {
            let n_epochs = counted(self.n_epochs, "epoch");
            let n_steps = counted(self.n_steps, "step");
            say(format_args!("{}: {n_epochs}, {n_steps}", self.ending))?;
            say_figures()?;
            say(format_args!("the page is {}", path.display()))?;
        }
        Ok(self.ended())
    }

    /// Returns how the command ends, after telling how an interrupted training goes on.
    fn ended(&self) -> Ended {
        if self.ending != RunEnding::Interrupted {
            return Ended::Done;
        }
        let (program, n_steps) = (self.program, counted(self.n_steps, "step"));
        tell(format_args!(
            "stopped after {n_steps}; go on with `{program} resume {}`",
            self.folder.display()
        ));
        Ended::Interrupted
    }
}

/// Searches for the largest batch that fits, as [`find_batch`] does, of no more items than there are to train
/// on, and prints it; `besides` are the flags that accumulating wants besides its own.
///
/// # Errors
///
/// As for [`find_batch`], or when standard output cannot be written to.
pub fn say_largest_batch(
    (n_items, items): (usize, &str),
    (wanted, most): (usize, usize),
    limit_mib: Option<u64>,
    besides: &str,
    signals: &Signals,
    is_json: bool,
) -> Result<Ended, CommandFailure> {
    // The search is over even sizes.
    let most = (n_items - n_items % 2).clamp(2, most);
    // No step has more.
    let wanted = wanted.min(n_items);
    // A signal ends the trial first, which would go on without this process.
    let interrupt = signals.begin_training();
    let found = find_batch(wanted, most, limit_mib, interrupt, &mut |line| tell(line))?;
    if is_json {
        say_json(&found)?;
    } else {
        say(found.to_text(items, wanted, besides))?;
    }
    Ok(Ended::Done)
}
