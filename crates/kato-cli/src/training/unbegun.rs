//! Takes back what a run made that failed before it learned anything.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use kato_runs::{TrainingRun, TrainingTarget};
use kato_scheduler::{Backend as _, Checkpoint};
use kato_store::PatternStore as _;

use crate::notice;
use crate::parents::MissingParents;

/// A directory in which nothing is.
#[derive(Debug)]
pub(crate) struct Unbegun {
    dir: PathBuf,
    /// Whether the run makes it.
    is_missing: bool,
    above: MissingParents,
}

impl Unbegun {
    /// Looks at a directory; `None` where one is there that is not seen to be empty.
    pub(crate) fn at(dir: PathBuf) -> Option<Self> {
        let is_missing = !dir.exists();
        let is_empty = || fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none());
        (is_missing || is_empty()).then(|| Self {
            above: MissingParents::of(&dir),
            dir,
            is_missing,
        })
    }

    /// Removes what the run has made.
    fn restore(&self) -> io::Result<()> {
        if self.is_missing {
            fs::remove_dir_all(&self.dir)?;
            self.above.remove();
            return Ok(());
        }
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }
}

/// Leaves the directory of a run that learned nothing as it was: the same command is the way on, and not
/// --resume, which would want the corpus as it was.
pub(crate) fn forget(begun: Option<Unbegun>, ledger: &Path, run: &TrainingRun) {
    let position = run
        .store()
        .map(|store| Checkpoint::from_json(&store.checkpoint()));
    let is_empty = match position {
        Some(Ok(None)) => true,
        // Its position may be behind documents that failed.
        Some(Ok(Some(checkpoint))) => checkpoint.counters.documents == 0,
        Some(Err(_)) | None => false,
    };
    let Some(begun) = begun.filter(|_| is_empty) else {
        return;
    };
    // The list goes with the directory, and why nothing was learned stands nowhere else.
    if let Some(first) = first_line(ledger) {
        notice::say(format_args!(
            "nothing was learned, and nothing is left: begin again, without --resume; the first that failed: {first}"
        ));
    }
    // While the run has the lock, so that nobody else begins there. Its error is the one to tell.
    drop(begun.restore());
}

/// Says of a run that could not learn what was to be added what is the way on. Where nothing of it was learned, a
/// directory or a MongoDB is complete as before, and --resume would find nothing to do. Elsewhere the run has both
/// corpora by now, and another --add would be refused.
pub(crate) fn tell_not_added(run: &TrainingRun, is_of_corpus: bool) {
    let position = match run.target() {
        TrainingTarget::Directory(store) => store.checkpoint(),
        TrainingTarget::Mongodb(store) => store.checkpoint(),
        TrainingTarget::Server(nodes) => nodes.checkpoint(),
        _ => return,
    };
    let Ok(Some(position)) = Checkpoint::from_json(&position) else {
        return;
    };
    notice::say(match (position.complete, is_of_corpus) {
        (true, _) => {
            "nothing was added, and the run is complete as before: mend or leave out what failed, then add again, without --resume"
        }
        (false, true) => {
            "what was to be added is a part of the run by now: go on with --resume and --skip-errors, without --add and SOURCE, \
             which leaves out what cannot be read or learned, and lists it; a larger --max-errors leaves out more"
        }
        (false, false) => {
            "what was to be added is a part of the run by now: go on with --resume, without --add and SOURCE"
        }
    });
}

/// Returns the first line of a file; `None` where there is none.
fn first_line(file: &Path) -> Option<String> {
    let file = BufReader::new(fs::File::open(file).ok()?);
    file.lines().next()?.ok()
}
