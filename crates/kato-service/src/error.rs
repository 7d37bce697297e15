//! The errors of the service, by what the caller can do about them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use kato_advice::{ErrorClass, ErrorKind};
use kato_engine::EngineError;
use kato_engine::config::ConfigError;
use kato_head::HeadError;
use kato_prediction::Cancelled;
use kato_prediction::disk::IndexFileError;
use kato_store::StoreError;

use crate::loss::DataLoss;

/// The reason why the service did not do what it was asked. Session and node are as before the
/// call, where a variant says nothing else.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// There is no such session, or it has expired.
    #[error("find session {session_id:?}: it is unknown or has expired; create a new one")]
    SessionNotFound {
        /// The id asked for.
        session_id: String,
    },
    /// Settings of a new session are refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The short-term memory is empty.
    #[error("learn from an empty short-term memory: observe something first")]
    EmptyStm,
    /// The engine refused it. Of a sequence that is refused on the way the node keeps what it learned
    /// before; its [`Receipt`](crate::Receipt) brings the error.
    #[error(transparent)]
    Engine(EngineError),
    /// What a node has learned cannot be read. Other nodes are not concerned.
    #[error("node {node_id:?} cannot be read; other nodes are not concerned")]
    Node {
        /// The node.
        node_id: String,
        /// The cause.
        source: EngineError,
    },
    /// An operation of a node ended half-way, and the node is loaded again, with what was
    /// acknowledged. What this request was to do may have been done or not. Other nodes are not
    /// concerned.
    #[error(
        "use node {node_id:?}: an operation ended half-way, and the node is loaded again; try again"
    )]
    NodeInterrupted {
        /// The node.
        node_id: String,
        /// The cause.
        source: StorageFailure,
    },
    /// A prediction was ended before it was done, by [`Cancel`](kato_prediction::Cancel).
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The patterns of a node cannot be counted.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// What is counted of nodes takes more memory than it may.
    #[error(
        "count the patterns of a node: the counts may take {limit} bytes of memory; ask for fewer levels, or have the server allow more"
    )]
    HeadMemoryFull {
        /// The most.
        limit: usize,
    },
    /// There is no node of an id.
    #[error("count the patterns of node {node_id:?}: there is no such node")]
    UnknownNode {
        /// The id.
        node_id: String,
    },
    /// Two levels are one node.
    #[error("count the patterns of node {node_id:?} as two levels: name it once")]
    RepeatedNode {
        /// The id that came second.
        node_id: String,
    },
    /// A request asks for more than there may be.
    #[error("answer {found} {what}: the limit is {limit}; ask for fewer")]
    AskedTooMuch {
        /// What is asked for.
        what: &'static str,
        /// How many.
        found: usize,
        /// The most.
        limit: usize,
    },
    /// A node fits into memory only with an index on the disk, which cannot be written.
    #[error("write the index of a node that does not fit into memory without one")]
    Index {
        /// Why not.
        source: IndexFileError,
    },
    /// A lifetime is less than zero.
    #[error("let a session live for {ttl_seconds} seconds: send 0 or more")]
    TtlNegative {
        /// The lifetime that was sent.
        ttl_seconds: i64,
    },
    /// The idempotency key belongs to another request.
    #[error("use idempotency key {key:?} again: it belongs to another request; make up a new one")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// The idempotency key has a wrong form.
    #[error("use an idempotency key: it must be 1 to 255 visible ASCII characters")]
    KeyInvalid,
    /// There are as many sessions as are allowed, and all of them were used lately.
    #[error(
        "create a session: there are {limit} already, the most that is allowed; delete some or try again later"
    )]
    TooManySessions {
        /// The most.
        limit: usize,
    },
    /// There are as many nodes as are allowed.
    #[error(
        "make another node: there are {limit} already, the most that is allowed; use one of them"
    )]
    TooManyNodes {
        /// The most.
        limit: usize,
    },
    /// The names and genes of nodes take as much memory as they may.
    #[error(
        "keep more of nodes: their names and genes may take {limit} bytes of memory; use nodes that there are, with fewer genes"
    )]
    NodeMemoryFull {
        /// The most.
        limit: usize,
    },
    /// A node, or in memory what all of them have learned, takes as much memory as it may.
    #[error(
        "learn more: what was learned takes {found} bytes of memory, and may take {limit}; {way_out}, or have the server allow more"
    )]
    KnowledgeMemoryFull {
        /// The bytes that it takes.
        found: usize,
        /// The most.
        limit: usize,
        /// What makes room for more, such as that an index is waited for.
        way_out: &'static str,
    },
    /// Sessions take as much memory as they may.
    #[error(
        "take in more: the sessions take {limit} bytes of memory already, the most that is allowed; clear or delete some, or try again later"
    )]
    MemoryFull {
        /// The most.
        limit: usize,
    },
    /// A session takes as much memory as one may.
    #[error(
        "keep more of a session: it takes {found} bytes of memory, and one may take {limit}; learn from it, clear it or use another one"
    )]
    SessionMemoryFull {
        /// The bytes that it takes.
        found: usize,
        /// The most.
        limit: usize,
    },
    /// Something that would be kept is larger than allowed.
    #[error("keep {found} {what}: the limit is {limit}; send less")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The amount that there is.
        found: usize,
        /// The amount that is allowed.
        limit: usize,
    },
    /// A batch has more sequences than are allowed.
    #[error("learn a batch of {found} sequences: the limit is {limit}; send several batches")]
    BatchTooLarge {
        /// Sequences of the batch.
        found: usize,
        /// The most.
        limit: usize,
    },
    /// A sequence of a batch has no event.
    #[error("learn sequence number {idx} (from 0) of a batch: it has no event; leave it out")]
    EmptySequence {
        /// Position in the batch.
        idx: usize,
    },
    /// The record of a training run was replaced by somebody else.
    #[error(
        "replace version {version} of the record of run {run}: it has version {found}, so another trainer is at work; read it again"
    )]
    RunReplaced {
        /// The run.
        run: String,
        /// Its version; 0 where there is none.
        found: u64,
        /// The version that was to be replaced.
        version: u64,
    },
    /// The record of a training run is too large.
    #[error("keep a record of a training run: it may have {limit} bytes")]
    RunTooLarge {
        /// Bytes at most.
        limit: usize,
    },
    /// There are as many records of training runs as there may be.
    #[error("keep the record of another training run: there are {limit} already")]
    TooManyRuns {
        /// The most.
        limit: usize,
    },
    /// The service is shutting down.
    #[error("change anything: the service is shutting down; try again after its restart")]
    Closed,
    /// The journal cannot be written: no write is taken any more. What this request was to do may
    /// have been done or not; opening the service again shows it.
    #[error(
        "make a change durable: storage has failed, and nothing is changed any more; free space or repair it, then restart"
    )]
    StorageFailed {
        /// The first failure.
        source: StorageFailure,
    },
    /// The directory is in use already.
    #[error("open the service's directory {}: another process uses it, or this one does already; stop or close that first", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory was written by another version.
    #[error("open {}: it has format version {found}, and this version reads {supported}; use the matching release", path.display())]
    Version {
        /// The directory.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The version that can be read.
        supported: u64,
    },
    /// A node's knowledge base cannot be served, as it holds several nodes.
    #[error("serve node {node_id:?} from the knowledge base {}: it holds {found} nodes and must hold one; export the node and import it alone", path.display())]
    SeveralNodes {
        /// The node.
        node_id: String,
        /// Its knowledge base.
        path: PathBuf,
        /// How many nodes that holds.
        found: usize,
    },
    /// Something was lost, and the service does not go on without it.
    #[error(
        "{loss}; put it back from a copy, or go on without it for good (`accept_losses`; `serve --accept-losses`)"
    )]
    Lost {
        /// The loss.
        loss: DataLoss,
    },
    /// The journal cannot be opened.
    #[error("open the journal {}; if a file of it is damaged, restore the service's directory from a copy, or start without what that held (`accept_losses`; `serve --accept-losses`)", path.display())]
    OpenJournal {
        /// Its directory.
        path: PathBuf,
        /// The journal's error.
        source: StorageFailure,
    },
    /// A service in memory has nothing to copy.
    #[error("copy the service: it is in memory alone; keep it in a directory")]
    InMemory,
    /// A directory to be made is there already and holds something.
    #[error("copy the service to {}: it is not empty; choose a new directory", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The disk has too little room for a copy and what must stay free.
    #[error(
        "copy the service to {}: the copy takes about {:.1} MiB, and {:.1} MiB are to stay free, so that learning can go on; {:.1} MiB are free: remove older copies, or let less stay free (`backup_reserve`; `serve --backup-reserve`)",
        path.display(), mib(*needed), mib(*reserve), mib(*free)
    )]
    NoRoom {
        /// The directory of the copy.
        path: PathBuf,
        /// Bytes of the copy, about.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes that are to stay free.
        reserve: u64,
    },
    /// A directory that was to be removed is no copy of a service, or one that is being made.
    #[error("remove {}: it is no copy of a service, or one that is being made", path.display())]
    NotABackup {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds a copy that was not finished.
    #[error("open {}: it holds a copy that was broken off; make another one", path.display())]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// A file or directory cannot be made, read or changed.
    #[error("{action} {}", path.display())]
    Io {
        /// The verb of what was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The journal, a record in it or a copy of it cannot be read or written.
    #[error("{action}")]
    Journal {
        /// The verb of what was tried.
        action: &'static str,
        /// The journal's error.
        source: StorageFailure,
    },
}

/// Returns bytes in MiB.
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl ServiceError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::SessionNotFound { .. } | Self::UnknownNode { .. } => ErrorKind::NotFound,
            Self::NodeInterrupted { .. } | Self::Closed => ErrorKind::Unavailable,
            Self::HeadMemoryFull { .. }
            | Self::NodeMemoryFull { .. }
            | Self::KnowledgeMemoryFull { .. }
            | Self::MemoryFull { .. }
            | Self::SessionMemoryFull { .. } => ErrorKind::OutOfMemory,
            Self::TooManySessions { .. }
            | Self::TooManyNodes { .. }
            | Self::TooManyRuns { .. }
            | Self::NoRoom { .. } => ErrorKind::Full,
            Self::KeyReused { .. } | Self::RunReplaced { .. } => ErrorKind::Conflict,
            Self::InUse { .. } => ErrorKind::Locked,
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::NotEmpty { .. } => ErrorKind::Exists,
            Self::Cancelled(_) => ErrorKind::Interrupted,
            Self::Head(error) => error.kind(),
            Self::Engine(error) | Self::Node { source: error, .. } => error.kind(),
            Self::Index { source } => source.kind(),
            Self::Io { source, .. } => ErrorKind::of_io(source.kind()),
            Self::StorageFailed { source }
            | Self::OpenJournal { source, .. }
            | Self::Journal { source, .. } => source.kind(),
            Self::Lost { .. } => ErrorKind::Corrupt,
            Self::Config(_)
            | Self::RepeatedNode { .. }
            | Self::AskedTooMuch { .. }
            | Self::TtlNegative { .. }
            | Self::KeyInvalid
            | Self::TooLarge { .. }
            | Self::BatchTooLarge { .. }
            | Self::RunTooLarge { .. } => ErrorKind::InvalidArgument,
            Self::EmptyStm | Self::EmptySequence { .. } => ErrorKind::Empty,
            Self::SeveralNodes { .. } | Self::InMemory | Self::NotABackup { .. } => {
                ErrorKind::Unsupported
            }
            Self::Unfinished { .. } => ErrorKind::Corrupt,
        }
    }

    /// Returns what is damaged of a node's knowledge base, without names of files.
    pub(crate) fn damage(&self) -> Option<&str> {
        let (Self::Engine(error) | Self::Node { source: error, .. }) = self else {
            return None;
        };
        let error = match error {
            // The index was damaged as well, or this would have been read from there.
            EngineError::Unreadable { source, .. } => &**source,
            error => error,
        };
        match error {
            EngineError::Store {
                source: StoreError::Corrupt { reason, .. },
                ..
            } => Some(reason),
            _ => None,
        }
    }

    /// Returns whether a knowledge base cannot be read, however long one waits.
    pub(crate) fn is_of_reading(&self) -> bool {
        let is_of_reading = match self {
            // A lost pattern is none of these: the node is loaded again.
            Self::Engine(error) | Self::Node { source: error, .. } => matches!(
                error,
                EngineError::Store { .. } | EngineError::Unreadable { .. }
            ),
            _ => false,
        };
        is_of_reading
            && !matches!(
                self.kind(),
                ErrorKind::OutOfMemory
                    | ErrorKind::Interrupted
                    | ErrorKind::Unavailable
                    | ErrorKind::Locked
                    | ErrorKind::Full
                    | ErrorKind::Conflict
                    | ErrorKind::InvalidArgument
            )
    }

    /// Returns the text of the error with those of all causes.
    pub(crate) fn with_causes(&self) -> String {
        let causes = std::iter::successors(self.source(), |&cause| cause.source());
        let causes = causes.map(|cause| format!(": {cause}"));
        self.to_string() + &causes.collect::<String>()
    }

    /// Names the node of an error that says what the node has learned cannot be read.
    pub(crate) fn of_node(self, node_id: &str) -> Self {
        match self {
            Self::Engine(
                source @ (EngineError::Store { .. }
                | EngineError::Unreadable { .. }
                | EngineError::Load { .. }
                | EngineError::LostPattern { .. }),
            ) => Self::Node {
                node_id: node_id.to_owned(),
                source,
            },
            other => other,
        }
    }

    /// Makes the error of a journal that cannot be read, from an error of its database.
    pub(crate) fn journal(action: &'static str) -> impl FnOnce(fjall::Error) -> Self {
        move |source| Self::Journal {
            action,
            source: StorageFailure::new(source),
        }
    }

    /// Makes the error of a file or directory, from an error of the system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Makes the error of a record in the journal that cannot be read.
    pub(crate) fn corrupt(action: &'static str, reason: impl fmt::Display) -> Self {
        Self::Journal {
            action,
            source: StorageFailure::new(Damaged(reason.to_string())),
        }
    }
}

impl From<EngineError> for ServiceError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::EmptyStm => Self::EmptyStm,
            EngineError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Engine(error),
        }
    }
}

impl From<StorageFailure> for ServiceError {
    fn from(source: StorageFailure) -> Self {
        Self::StorageFailed { source }
    }
}

/// A record that cannot be what was written.
#[derive(Debug, thiserror::Error)]
#[error("a record is damaged: {0}; restore the directory from a copy")]
struct Damaged(String);

/// The cause of a failure of storage, shared by all who meet it.
#[derive(Debug, Clone)]
pub struct StorageFailure(Arc<dyn Error + Send + Sync>);

impl StorageFailure {
    pub(crate) fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }
}

impl StorageFailure {
    /// Returns what has happened: what the operating system said of it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::of_causes(&*self.0)
    }

    /// Returns whether it is about what a file holds or that it is gone, and not about access to files.
    pub(crate) fn is_of_content(&self) -> bool {
        let error = self.of_system();
        error.is_none_or(|error| {
            error.raw_os_error().is_none() || error.kind() == io::ErrorKind::NotFound
        })
    }

    /// Makes the error of a node that must be loaded again.
    pub(crate) fn into_interrupted(self, node_id: &str) -> ServiceError {
        ServiceError::NodeInterrupted {
            node_id: node_id.to_owned(),
            source: self,
        }
    }

    /// Returns what the operating system said, such as `No space left on device (os error 28)`, if
    /// that was the cause. Unlike the whole text of the failure it names no files, so it can be
    /// shown to anybody.
    #[must_use]
    pub fn system_error(&self) -> Option<String> {
        let error = self.of_system()?;
        Some(match error.raw_os_error() {
            Some(_) => error.to_string(),
            None => error.kind().to_string(),
        })
    }

    /// Returns the error of the operating system that was the cause.
    fn of_system(&self) -> Option<&io::Error> {
        let first: &(dyn Error + 'static) = &*self.0;
        let causes = std::iter::successors(Some(first), |&cause| cause.source());
        let mut errors = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
        // It may wrap an error of a library, whose text may name anything.
        errors.find(|error| error.raw_os_error().is_some() || error.get_ref().is_none())
    }
}

impl fmt::Display for StorageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The database tells what the system said as it would tell its own programmers.
        match self.of_system().filter(|_| self.0.is::<fjall::Error>()) {
            Some(error) => fmt::Display::fmt(error, f),
            None => self.0.fmt(f),
        }
    }
}

impl Error for StorageFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.of_system() {
            Some(error) => Some(error),
            None => self.0.source(),
        }
    }
}
