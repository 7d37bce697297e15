//! Management of the runs of a place.

use std::path::{Path, PathBuf};

use kato_model::RunName;

use crate::directory::DirectoryPlace;
use crate::{Archive, Run, RunPlace, RunsError};

/// The runs of a place.
///
/// A run is asked for by its name, its id or a beginning of it that no other run has, or a path of its
/// directory or file: any, or the end of the one that is listed. Nothing here touches another run than
/// the one that was asked for.
#[derive(Debug)]
pub struct Runs {
    place: Box<dyn RunPlace>,
}

impl Runs {
    /// Opens the runs of a data directory: knowledge bases in its sub-directories and theirs (two
    /// levels), and the state files of runs whose nodes are on a server (`NAME.kato-run.json`) in
    /// the directory and its sub-directories.
    ///
    /// Names that begin with a dot and symbolic links are passed over, and nothing is looked for in
    /// a knowledge base. One without `run.json` is a run as well, named after its directory.
    ///
    /// # Errors
    ///
    /// [`RunsError::NoPlace`] when this is no directory, or is a knowledge base itself.
    pub fn in_directory(dir: impl Into<PathBuf>) -> Result<Self, RunsError> {
        Ok(Self::at(DirectoryPlace::open(dir.into())?))
    }

    /// Opens the runs of a MongoDB, and databases of nodes there that no run of ours has.
    /// Credentials in the address show nowhere else.
    ///
    /// A run's manifest is kept with its record there. Databases are named after their run, so none
    /// can be renamed; and one that is trained cannot be exported, because there are no snapshots.
    ///
    /// # Errors
    ///
    /// When the address cannot be read.
    #[cfg(feature = "mongodb")]
    pub fn in_mongodb(uri: &str) -> Result<Self, RunsError> {
        Ok(Self::at(crate::mongodb::MongoPlace::connect(uri)?))
    }

    /// Returns the runs of any place.
    pub fn at(place: impl RunPlace + 'static) -> Self {
        Self {
            place: Box::new(place),
        }
    }

    /// Lists all runs, ordered by name and id. Reads what each says of itself and its last commit,
    /// but no pattern.
    ///
    /// # Errors
    ///
    /// When the place cannot be read. One run that cannot be read is no error but has a
    /// [`problem`](Run::problem).
    pub fn list(&self) -> Result<Vec<Run>, RunsError> {
        self.place.list()
    }

    /// Lists the runs that have no manifest of their own.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn discover(&self) -> Result<Vec<Run>, RunsError> {
        let mut runs = self.list()?;
        runs.retain(|run| !run.is_recorded);
        Ok(runs)
    }

    /// Returns the one run that is asked for.
    ///
    /// # Errors
    ///
    /// [`RunsError::Unknown`], [`RunsError::Ambiguous`], and when the place cannot be read.
    pub fn show(&self, wanted: &str) -> Result<Run, RunsError> {
        find(self.list()?, wanted)
    }

    /// Writes down what is known of a run that has no manifest, and gives it an id of its own; a
    /// run that has one stays as it is.
    ///
    /// # Errors
    ///
    /// Those of [`show`](Self::show); for a run that has none [`RunsError::InUse`] while it is
    /// trained in a directory or into a server, [`RunsError::Unsupported`] for databases that no
    /// run of ours has, and when it cannot be written.
    pub fn record(&self, wanted: &str) -> Result<Run, RunsError> {
        let run = self.show(wanted)?;
        let name = run.manifest.name.clone();
        self.write(run, &name)
    }

    /// Gives a run another name, and keeps its id; with its own name it does what
    /// [`record`](Self::record) does. A knowledge base stays in its directory, so that commands which
    /// name that go on working.
    ///
    /// # Errors
    ///
    /// Those of [`show`](Self::show); [`RunsError::NameTaken`] when another run has the name,
    /// [`RunsError::InUse`] while it is trained,
    /// [`RunsError::Unsupported`] for a run on a server or in a MongoDB, which is known there by the name;
    /// and when the manifest cannot be written.
    pub fn rename(&self, wanted: &str, name: &RunName) -> Result<Run, RunsError> {
        let runs = self.list()?;
        let run = find(runs.clone(), wanted)?;
        if run.manifest.name != *name {
            refuse_taken(&runs, name)?;
        }
        self.write(run, name)
    }

    /// Copies a run into one of its own, which can be trained on. In a directory the two share what
    /// they have learned so far: their segment files are linked, not copied, where the file system
    /// can do that.
    ///
    /// # Errors
    ///
    /// Those of [`show`](Self::show); [`RunsError::NameTaken`] and [`RunsError::Exists`];
    /// [`RunsError::InUse`] while the run is trained; [`RunsError::Unsupported`] for a run on a server
    /// and for databases that no run of ours has; and when something cannot be read or written.
    pub fn clone_run(&self, wanted: &str, name: &RunName) -> Result<Run, RunsError> {
        let runs = self.list()?;
        let run = find(runs.clone(), wanted)?;
        refuse_taken(&runs, name)?;
        self.place.clone_run(&run, name)?;
        self.show(name.as_str())
    }

    /// Exports a run to a directory that does not exist yet, as its last commit left it; in a
    /// directory also while it is trained.
    ///
    /// # Errors
    ///
    /// Those of [`show`](Self::show); [`RunsError::Unsupported`] for a run on a server,
    /// [`RunsError::InUse`] for one in a MongoDB that is trained, and those of [`Archive::export`].
    pub fn export(&self, wanted: &str, out: impl AsRef<Path>) -> Result<Archive, RunsError> {
        self.place.export(&self.show(wanted)?, out.as_ref())
    }

    /// Makes a run from an exported one, under its own name or another; in a directory everything appears
    /// at once.
    ///
    /// # Errors
    ///
    /// [`RunsError::NameTaken`], [`RunsError::Exists`], and those of [`Archive::open`] and
    /// [`Archive::import_into`].
    pub fn import(
        &self,
        archive: impl AsRef<Path>,
        name: Option<&RunName>,
    ) -> Result<Run, RunsError> {
        let archive = Archive::open(archive)?;
        let name = name.unwrap_or(&archive.manifest().name);
        refuse_taken(&self.list()?, name)?;
        self.place.import(&archive, name)?;
        self.show(name.as_str())
    }

    /// Deletes a run with all that it learned, and returns what it was. Of a run on a server the
    /// files that keep its position are deleted, with its manifest; the nodes and the list of what
    /// was skipped stay. A deletion of such a run, or in a MongoDB, that was cut off is finished by
    /// deleting again.
    ///
    /// # Errors
    ///
    /// Those of [`show`](Self::show); [`RunsError::InUse`] while it is trained,
    /// [`RunsError::Unsupported`] for databases that no run of ours has, and when it cannot be removed.
    pub fn delete(&self, wanted: &str) -> Result<Run, RunsError> {
        let run = self.show(wanted)?;
        self.place.delete(&run)?;
        Ok(run)
    }

    /// Writes a run's manifest down under a name, unless there is nothing to change.
    fn write(&self, run: Run, name: &RunName) -> Result<Run, RunsError> {
        if run.is_recorded && run.manifest.name == *name {
            return Ok(run);
        }
        let mut manifest = run.manifest.clone().renamed(name);
        if !run.is_recorded {
            manifest.id = crate::RunId::generate();
        }
        self.place.record(&run, &manifest)?;
        // By its id, because several directories may lead to runs of one name.
        find(self.list()?, manifest.id.as_str())
    }
}

/// Returns the run that is meant: by name or id, by place, by the beginning of an id, in this
/// order.
fn find(mut runs: Vec<Run>, wanted: &str) -> Result<Run, RunsError> {
    // However it is written: from the root, or with dots. What is not there is no place.
    let place = std::fs::canonicalize(wanted).ok();
    let is_there = |path: &Path| place.is_some() && std::fs::canonicalize(path).ok() == place;
    let meant: [&dyn Fn(&Run) -> bool; 3] = [
        &|run| run.manifest.name.as_str() == wanted || run.manifest.id.as_str() == wanted,
        &|run| {
            run.location
                .path()
                .is_some_and(|path| path.ends_with(wanted) || is_there(path))
        },
        &|run| run.manifest.id.as_str().starts_with(wanted),
    ];
    // The first way that fits any run decides, so that a full name is never ambiguous because ids
    // begin with it. An empty text is the beginning of every id, and asks for none.
    let first = meant
        .iter()
        .filter(|_| !wanted.is_empty())
        .find_map(|is_meant| {
            let found = (0..runs.len()).filter(|&idx| is_meant(&runs[idx]));
            let found: Vec<usize> = found.collect();
            (!found.is_empty()).then_some(found)
        });
    match first.as_deref() {
        Some(&[only]) => Ok(runs.swap_remove(only)),
        Some(several) => Err(RunsError::Ambiguous {
            wanted: wanted.to_owned(),
            matches: several.iter().map(|&idx| runs[idx].in_words()).collect(),
        }),
        None => Err(RunsError::unknown(wanted, &runs)),
    }
}

/// Refuses a name that a run has.
fn refuse_taken(runs: &[Run], name: &RunName) -> Result<(), RunsError> {
    if runs.iter().any(|run| run.manifest.name == *name) {
        return Err(RunsError::NameTaken {
            name: name.to_string(),
        });
    }
    Ok(())
}
