//! What is whole and what is lost of a damaged knowledge base, and what opening made of it.

use std::fmt;
use std::iter::Sum;
use std::path::PathBuf;

use serde_json::Value;

use crate::{Rescue, StoreError};

/// A part of a knowledge base in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// Segments.
    pub segments: u64,
    /// Patterns of all nodes, segment by segment: one that several segments hold counts in each.
    pub patterns: u64,
    /// Learn calls of all nodes: the sum of the frequencies.
    pub learns: u64,
}

impl Held {
    /// Returns whether nothing was learned.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.patterns == 0
    }

    /// Returns what is left without another part.
    pub(super) fn without(self, other: Self) -> Self {
        Self {
            segments: self.segments.saturating_sub(other.segments),
            patterns: self.patterns.saturating_sub(other.patterns),
            learns: self.learns.saturating_sub(other.learns),
        }
    }
}

impl Sum for Held {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            segments: sum.segments.saturating_add(part.segments),
            patterns: sum.patterns.saturating_add(part.patterns),
            learns: sum.learns.saturating_add(part.learns),
        })
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let Self {
            segments,
            patterns,
            learns,
        } = *self;
        write!(
            f,
            "{segments} segment{} with {patterns} pattern{} of {learns} learn call{}",
            plural(segments),
            plural(patterns),
            plural(learns)
        )
    }
}

/// A file that is damaged or missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedFile {
    /// The file.
    pub path: PathBuf,
    /// The inconsistency that was found.
    pub reason: String,
    /// What it held, as the manifest says; `None` or nothing for what is no segment.
    pub held: Option<Held>,
}

impl DamagedFile {
    pub(super) fn new(path: PathBuf, reason: impl Into<String>, held: Option<Held>) -> Self {
        Self {
            path,
            reason: reason.into(),
            held,
        }
    }

    /// Returns the damage that is told as an error.
    pub(super) fn into_error(self) -> StoreError {
        StoreError::corrupt(&self.path, self.reason)
    }
}

impl fmt::Display for DamagedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged: {}", self.path.display(), self.reason)
    }
}

/// A commit as its manifest describes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Commit {
    /// Its number.
    pub n_commits: u64,
    /// The training position that was committed with it.
    pub checkpoint: Value,
    /// What it holds.
    pub held: Held,
}

/// The damage of a knowledge base whose newest commit is not whole; see
/// [`EmbeddedStore::damage`](crate::EmbeddedStore::damage).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Damage {
    /// The files that are damaged or missing, at least one.
    pub files: Vec<DamagedFile>,
    /// The newest commit as it was; `None` when no whole manifest describes it.
    pub newest: Option<Commit>,
    /// The segments in which no damage was found, of those that the newest whole manifest names.
    pub whole: Held,
    /// The commit before the newest one, if no damage of it was found.
    pub older: Option<Commit>,
    /// Files of segments that no whole manifest names, in order. What they are cannot be told when
    /// the newest manifest is lost.
    pub unnamed: Vec<PathBuf>,
    /// The ways out of it.
    pub(super) rescue: Rescue,
}

impl Damage {
    /// Returns what the damaged segments held.
    #[must_use]
    pub fn lost(&self) -> Held {
        self.files.iter().filter_map(|file| file.held).sum()
    }

    /// Returns the error of opening, which says what is whole, what is lost and what to do.
    pub(super) fn into_error(self) -> StoreError {
        let mut reason = format!("{self}. Nothing was changed");
        if let Some(older) = &self.older {
            let held = match older.held.is_nothing() {
                true => ", but holds nothing".to_owned(),
                false => format!(": {}", older.held),
            };
            reason += &format!(". Commit {} before it is whole{held}", older.n_commits);
            // The first commit of a run names no corpus, which the lost one may.
            let newest = self.newest.as_ref();
            let names_corpus = |commit: &Commit| !commit.checkpoint.is_null();
            if names_corpus(older) || newest.is_some_and(names_corpus) {
                reason +=
                    "; `kato train --resume --go-back` with its corpus learns again what is lost";
            }
        }
        StoreError::corrupt_with(&self.files[0].path, reason, self.rescue)
    }
}

/// Says what is wrong, what is lost and what is whole, without names of files.
impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.files[0].reason)?;
        match self.files.len() - 1 {
            0 => {}
            n => write!(f, ", and {n} more damaged")?,
        }
        match &self.newest {
            Some(newest) => write!(f, ". Lost of commit {}: {}", newest.n_commits, self.lost())?,
            None => f.write_str(". Lost: the newest commit, whose number no manifest tells")?,
        }
        write!(f, ". Whole: {}", self.whole)?;
        match (&self.newest, self.unnamed.len()) {
            (Some(_), _) | (None, 0) => Ok(()),
            (None, n) => write!(f, ", and segments that no manifest names: {n}"),
        }
    }
}

/// A report that opening found damage and opened a commit all the same.
///
/// What was opened has the checkpoint that belongs to it: training that goes on
/// from there comes to the same result. `Display` says what was damaged, what is lost, and where
/// the files are that were moved aside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The files that are damaged or missing, at least one.
    pub files: Vec<DamagedFile>,
    /// Number of the commit that was opened.
    pub n_commits: u64,
    /// Commits that were given up: 0 when nothing is lost, as a second copy took the place of what
    /// is damaged; `None` when the number of the newest cannot be read.
    pub lost_commits: Option<u64>,
    /// What the newest commit held beyond the one that was opened; `None` when that cannot be read.
    pub lost: Option<Held>,
    /// Directory to which a writer moved the files that no longer belong to the knowledge base,
    /// damaged or whole; `None` for a reader, and when there were none.
    pub moved_to: Option<PathBuf>,
}

impl Recovery {
    /// Returns whether the newest commit was opened, and nothing is lost.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.lost_commits == Some(0)
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            write!(f, "{file}; ")?;
        }
        let n_commits = self.n_commits;
        match (self.is_lossless(), self.lost) {
            (true, _) => write!(f, "nothing is lost: commit {n_commits} is whole without it")?,
            (false, Some(lost)) => write!(
                f,
                "went back to commit {n_commits}, the last one that is whole; lost: {lost}"
            )?,
            (false, None) => write!(
                f,
                "went back to commit {n_commits}, the last one that is whole; how much is lost cannot be read"
            )?,
        }
        match &self.moved_to {
            Some(dir) => write!(
                f,
                "; what was damaged or no longer belongs to it was moved to {}",
                dir.display()
            ),
            None => Ok(()),
        }
    }
}
