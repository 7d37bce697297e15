//! Losses: data that was there once and is not, or not as it was. They are reported until they are
//! mended, and listed in a file where they were accepted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use kato_advice::counted;

use crate::ServiceError;

/// Name of the file in the service's directory that lists what was lost.
pub(crate) const FILE: &str = "LOSSES";

/// Something that was lost, or that cannot be shown not to be.
///
/// `Display` names files and nodes and is for the operator; [`summary`](Self::summary) names none
/// and may be shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataLoss {
    /// A part of the journal is gone or damaged.
    #[error("the journal is not whole: {}: {reason}", path.display())]
    Journal {
        /// The file or directory.
        path: PathBuf,
        /// The reason why it counts as lost.
        reason: String,
    },
    /// The journal ends before the last write that was acknowledged.
    #[error(
        "the journal {} ends too early: it lacks {}{}{}",
        path.display(),
        counted(*writes, "acknowledged write"),
        unfinished(*bytes, *is_cut_off),
        match were_flushed {
            true => "; some had been on the disk",
            false => "; all had been handed to the operating system and not to the disk, as `Durability` tells",
        }
    )]
    Tail {
        /// The journal.
        path: PathBuf,
        /// Bytes at its end that were no whole write.
        bytes: u64,
        /// Whether it was opened and they were cut off; where opening was refused, they are still there.
        is_cut_off: bool,
        /// Writes that were acknowledged and are not there, at least.
        writes: u64,
        /// Whether some of them had been flushed to the disk.
        were_flushed: bool,
    },
    /// Nothing shows whether the journal is the one that was there before.
    #[error("{}: {reason}", path.display())]
    Unwitnessed {
        /// The file or directory.
        path: PathBuf,
        /// The reason why nothing shows it.
        reason: String,
    },
    /// The knowledge base of a node lacks what was folded into it.
    #[error(
        "node {node_id:?} has lost knowledge: {} {}, and lessons up to number {folded} had been folded into it",
        path.display(),
        match found {
            None => "is gone".to_owned(),
            Some(found) => format!("ends with lessons number {found}"),
        }
    )]
    KnowledgeBase {
        /// The node.
        node_id: String,
        /// Its knowledge base.
        path: PathBuf,
        /// The last lessons that were folded into it.
        folded: u64,
        /// The last that it has; `None` where it is gone.
        found: Option<u64>,
    },
    /// The journal lacks lessons of a node.
    #[error(
        "node {node_id:?} has lost knowledge: lessons number {first} to {last} are neither in {} nor in the journal, as in a copy that was made file by file while the server ran",
        path.display()
    )]
    Lessons {
        /// The node.
        node_id: String,
        /// Its knowledge base.
        path: PathBuf,
        /// The first that are missing.
        first: u64,
        /// The last that are missing.
        last: u64,
    },
    /// The knowledge base of a node cannot be read, as where it is damaged.
    #[error(
        "node {node_id:?} cannot be read: {reason}; put {} back from a copy, or move it away and go on without it for good (`accept_losses`; `serve --accept-losses`)",
        path.display()
    )]
    Unreadable {
        /// The node.
        node_id: String,
        /// Its knowledge base.
        path: PathBuf,
        /// The reason why it cannot be read, with all causes.
        reason: String,
    },
    /// A part of a node could not be copied into a copy of the service.
    #[error("node {node_id:?} is not whole in this copy: {} could not be copied: {reason}", path.display())]
    NotCopied {
        /// The node, or the name of its knowledge base where the node is not known.
        node_id: String,
        /// The knowledge base or a file of it, relative to the directory of the knowledge bases.
        path: PathBuf,
        /// The reason why it could not be copied.
        reason: String,
    },
    /// Losses that earlier starts found, or that this copy was made with.
    #[error("{} has {} of losses that earlier starts found, or that this copy was made with; remove it once that is dealt with", path.display(), counted(*count, "line"))]
    Earlier {
        /// The list.
        path: PathBuf,
        /// Its lines.
        count: u64,
    },
}

impl DataLoss {
    /// Describes what was lost, without names of files and nodes.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Journal { .. } => "A part of the journal was gone or damaged".to_owned(),
            Self::Tail {
                writes,
                bytes,
                is_cut_off,
                ..
            } => format!(
                "The journal ended too early: it lacks {}{}",
                counted(*writes, "acknowledged write"),
                unfinished(*bytes, *is_cut_off)
            ),
            Self::Unwitnessed { .. } => {
                "Nothing tells whether the journal is the one that was there before".to_owned()
            }
            Self::KnowledgeBase { .. } => {
                "The knowledge base of a node is gone, or older than it should be".to_owned()
            }
            Self::Lessons { .. } => "Lessons of a node are missing".to_owned(),
            Self::Unreadable { .. } => "The knowledge base of a node cannot be read".to_owned(),
            Self::NotCopied { .. } => "A node could not be copied as a whole".to_owned(),
            Self::Earlier { count, .. } => format!(
                "Losses found when the server was started before, or when the copy was made that it was started on: {count}"
            ),
        }
    }

    /// Returns the knowledge base of a loss that ends when it is put back.
    fn knowledge_base(&self) -> Option<&Path> {
        match self {
            Self::KnowledgeBase { path, .. }
            | Self::Lessons { path, .. }
            | Self::Unreadable { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Says what became of the bytes at the end of a journal that are no whole write; nothing where there are none.
fn unfinished(bytes: u64, is_cut_off: bool) -> String {
    match (bytes, is_cut_off) {
        (0, _) => String::new(),
        (bytes, true) => format!(
            ", and opening it cut off {} of an unfinished write",
            counted(bytes, "byte")
        ),
        (bytes, false) => format!(
            ", and ends with {} of an unfinished write",
            counted(bytes, "byte")
        ),
    }
}

/// The losses that a service has found.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// Where losses are written down; `None` in memory.
    list: Option<PathBuf>,
    found: Mutex<Vec<ReportedLoss>>,
}

/// A loss that is reported.
#[derive(Debug)]
struct ReportedLoss {
    loss: DataLoss,
    /// Whether it is in the list, so that nothing mends it.
    is_listed: bool,
}

impl Losses {
    /// Opens the losses of a directory, with what its list says of earlier ones.
    pub(crate) fn open(dir: &Path) -> Result<Self, ServiceError> {
        let path = dir.join(FILE);
        let lines = match fs::read(&path) {
            Ok(text) => text.iter().filter(|&&byte| byte == b'\n').count(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(source) => return Err(ServiceError::io("read", &path)(source)),
        };
        let earlier = (lines > 0).then(|| DataLoss::Earlier {
            path: path.clone(),
            count: lines as u64,
        });
        Ok(Self {
            list: Some(path),
            found: Mutex::new(earlier.into_iter().map(ReportedLoss::listed).collect()),
        })
    }

    /// Returns all losses that are not mended.
    pub(crate) fn all(&self) -> Vec<DataLoss> {
        self.lock()
            .iter()
            .map(|reported| reported.loss.clone())
            .collect()
    }

    /// Reports a loss from now on, until it is mended. Of a knowledge base what was found last counts.
    pub(crate) fn report(&self, loss: DataLoss) {
        let mut found = self.lock();
        if !found.iter().any(|reported| reported.loss == loss) {
            let base = loss.knowledge_base();
            found.retain(|reported| {
                reported.is_listed || base.is_none() || reported.loss.knowledge_base() != base
            });
            found.push(ReportedLoss {
                loss,
                is_listed: false,
            });
        }
    }

    /// Reports a loss that nothing mends, and writes it down, so that a restart does not hide it.
    pub(crate) fn write_down(&self, loss: DataLoss, now: SystemTime) -> Result<(), ServiceError> {
        // Written down first: a loss that cannot be listed must not be gone on with.
        if let Some(path) = &self.list {
            let at = humantime::format_rfc3339_seconds(now);
            append(path, &format!("{at} {loss}\n")).map_err(ServiceError::io("write", path))?;
        }
        let mut found = self.lock();
        // It may have been reported as one that can be mended.
        found.retain(|reported| reported.loss != loss);
        found.push(ReportedLoss::listed(loss));
        Ok(())
    }

    /// Forgets what was reported of a knowledge base, which is whole again.
    pub(crate) fn mended(&self, knowledge_base: &Path) {
        self.lock().retain(|reported| {
            reported.is_listed || reported.loss.knowledge_base() != Some(knowledge_base)
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ReportedLoss>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReportedLoss {
    /// Creates a loss that is in the list.
    const fn listed(loss: DataLoss) -> Self {
        Self {
            loss,
            is_listed: true,
        }
    }
}

/// Appends a line and waits until the disk holds it.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}
