//! Settings of a service.

use std::sync::Arc;
use std::time::Duration;

use kato_engine::{EngineOptions, SessionConfig};
use kato_model::KatoGeneration;

use crate::clock::{Clock, SystemClock};

/// Divisor of the memory of all sessions that gives what one of them may take.
const SESSION_SHARE: usize = 16;

/// The durability of a write when it is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// What changes a node or the record of a run is on the disk (`fdatasync`): it survives a power cut.
    /// What changes sessions alone is handed to the operating system: it survives a kill, and may be lost
    /// by a power cut.
    #[default]
    Disk,
    /// Nearly everything is handed to the operating system: it survives a kill, and may be lost by a
    /// power cut, the latest first. What clears a node or takes patterns back is on the disk.
    Os,
}

/// The settings of a [`Service`](crate::Service): public fields with defaults, and a setter for
/// each.
///
/// ```
/// use kato_service::{Durability, ServiceOptions};
///
/// let options = ServiceOptions::default().with_durability(Durability::Os).with_max_sessions(1_000);
/// assert_eq!(options.session_ttl, 3600);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServiceOptions {
    /// Suffix of processor ids (KATO's `SERVICE_NAME`). Default `kato`.
    pub service_name: String,
    /// Seconds that a session lives without a write, where its maker says nothing. Default 3600.
    pub session_ttl: u64,
    /// Seconds that any session lives at most without a write, whatever its maker asks for.
    /// Default 30 days.
    pub max_session_ttl: u64,
    /// Whether writes make sessions live on (KATO's `SESSION_AUTO_EXTEND`). Default `true`.
    pub auto_extend: bool,
    /// Sessions at most. When there are as many, a new one takes the place of the one that was
    /// used least recently, if that was not within [`session_ttl`](Self::session_ttl). Default
    /// 100,000.
    pub max_sessions: usize,
    /// When a write is acknowledged. Default [`Durability::Disk`].
    pub durability: Durability,
    /// The behaviour of the nodes. `commit_after` does not count: the service decides when to
    /// fold.
    pub engine: EngineOptions,
    /// Settings of sessions where their maker says nothing.
    pub defaults: SessionConfig,
    /// Learns of a node in the journal at which they are folded into its store. Default 250,000.
    pub fold_after_learns: u64,
    /// Time after which learns of a node that are in the journal alone are folded into its store. Default
    /// one minute.
    pub fold_interval: Duration,
    /// The time for which idempotency keys of learn-batches are known, which may be repeated after
    /// a crash of the client, and of retiring, un-retiring and purging; those of other requests are
    /// known for 15 minutes at most. Default 24 hours.
    pub key_retention: Duration,
    /// Sequences of one batch at most. Default 100,000.
    pub max_batch_sequences: usize,
    /// Nodes kept in memory though no session uses them. Default 100. All nodes in memory together
    /// are as many as the process's [descriptors](crate::Descriptors::nodes) allow; beyond that
    /// those go that were not used for longest, sessions or not, and come back when they are used.
    pub max_loaded_nodes: usize,
    /// Bytes at most, as JSON, of what is kept of a client's own for each session and node: node
    /// id and metadata of a session, its settings, genes of a node. Default 64 KiB each.
    pub max_kept_bytes: usize,
    /// Bytes of memory at most that all sessions take together, about; beyond it nothing more is
    /// observed and no session made until others are cleared, deleted or over. One session may take
    /// a sixteenth: every write of a session writes down all of it, so a large one makes even its
    /// smallest write a large one. Default 512 MiB.
    pub max_session_memory: usize,
    /// Nodes at most; those that there are go on. Default 1,000,000.
    pub max_nodes: usize,
    /// Bytes of memory at most that the names and genes of all nodes take together, about; beyond
    /// it no node is made and no genes grow. Default 1 GiB.
    pub max_node_memory: usize,
    /// Bytes of memory at most that the knowledge of the nodes in memory takes together, about:
    /// beyond it those leave memory that were not used for longest, and come back when they are
    /// used. One node may take three quarters, and then learns no more; in a service in memory no
    /// node does, once they take all of it. Nodes that are in use at the same time may take more
    /// together. What lies in an index on the disk is not counted, and the index of a node that takes half
    /// of it is written whatever is new; of one that would take more when it is loaded, before that, and
    /// who needs the node waits for it. Default: no limit.
    pub max_knowledge_memory: usize,
    /// Whether nodes are opened over the indexes beside their knowledge bases, which
    /// [`Service::write_indexes`](crate::Service::write_indexes) writes, and what lies in them stays on
    /// the disk. Answers do not depend on it. Default `true`.
    pub indexes: bool,
    /// New patterns of a node at which its index is written, the next one or the first: those that
    /// were folded into its store, a pattern counted once for each segment that holds it. Default
    /// 500,000.
    pub index_after_patterns: u64,
    /// New patterns of a node at which its next index is written, in percent of those in its index;
    /// the greater number of the two counts. Default 10.
    pub index_after_percent: u32,
    /// Bytes of memory that writing an index takes for sorting; beside them it takes 4 bytes for each
    /// pattern of the node. Two indexes are written at once at most: that of a node that does not fit into memory
    /// before it is opened, and one of a round of [`Service::write_indexes`](crate::Service::write_indexes). Default
    /// 256 MiB.
    pub index_sort_memory: usize,
    /// Bytes of memory at most that the [heads](crate::Service::next) of all nodes take together,
    /// about, and one that is being counted beside them. Those that were not asked for longest make
    /// room, and are counted anew when they are asked. Default 1 GiB.
    pub max_head_memory: usize,
    /// Records of training runs at most. Default 100,000.
    pub max_runs: usize,
    /// Bytes that [`backup`](crate::Service::backup) leaves free on the disk that it copies to.
    /// `None`, the default: as much as the copy takes, 64 MiB at least and 4 GiB at most.
    pub backup_reserve: Option<u64>,
    /// Whether to go on without what is [lost](crate::figures::DataLoss), for good: it is written down
    /// in the directory's file `LOSSES`. All files of the journal are read when it is opened. With one of
    /// a table that is damaged goes the whole table, but for what the journal's log has, and where the
    /// journal cannot be opened without it, the whole journal. A node goes
    /// on without what it lacks when it is used; a knowledge base that is there and cannot be read is
    /// not let go, and must be moved away first. Default `false`: a damaged journal is not opened as a
    /// rule, and a node that lacks knowledge is not served.
    pub accept_losses: bool,
    /// The source of the time. Default: the machine's clock as it is when these options are made,
    /// going on from there.
    pub clock: Arc<dyn Clock>,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            service_name: "kato".to_owned(),
            session_ttl: 3600,
            max_session_ttl: 30 * 24 * 60 * 60,
            auto_extend: true,
            max_sessions: 100_000,
            durability: Durability::Disk,
            engine: EngineOptions::default(),
            defaults: SessionConfig::default(),
            fold_after_learns: 250_000,
            fold_interval: Duration::from_secs(60),
            key_retention: Duration::from_secs(24 * 60 * 60),
            max_batch_sequences: 100_000,
            max_loaded_nodes: 100,
            max_kept_bytes: 64 << 10,
            max_session_memory: 512 << 20,
            max_nodes: 1_000_000,
            max_node_memory: 1 << 30,
            max_knowledge_memory: usize::MAX,
            indexes: true,
            index_after_patterns: 500_000,
            index_after_percent: 10,
            index_sort_memory: 256 << 20,
            max_head_memory: 1 << 30,
            max_runs: 100_000,
            backup_reserve: None,
            accept_losses: false,
            clock: Arc::new(SystemClock::new()),
        }
    }
}

macro_rules! setters {
    ($($with:ident $field:ident: $type:ty,)*) => {
        impl ServiceOptions {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $with(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

setters! {
    with_session_ttl session_ttl: u64,
    with_max_session_ttl max_session_ttl: u64,
    with_auto_extend auto_extend: bool,
    with_max_sessions max_sessions: usize,
    with_durability durability: Durability,
    with_engine engine: EngineOptions,
    with_defaults defaults: SessionConfig,
    with_fold_after_learns fold_after_learns: u64,
    with_fold_interval fold_interval: Duration,
    with_key_retention key_retention: Duration,
    with_max_batch_sequences max_batch_sequences: usize,
    with_max_loaded_nodes max_loaded_nodes: usize,
    with_max_kept_bytes max_kept_bytes: usize,
    with_max_session_memory max_session_memory: usize,
    with_max_nodes max_nodes: usize,
    with_max_node_memory max_node_memory: usize,
    with_max_knowledge_memory max_knowledge_memory: usize,
    with_indexes indexes: bool,
    with_index_after_patterns index_after_patterns: u64,
    with_index_after_percent index_after_percent: u32,
    with_index_sort_memory index_sort_memory: usize,
    with_max_head_memory max_head_memory: usize,
    with_max_runs max_runs: usize,
    with_backup_reserve backup_reserve: Option<u64>,
    with_accept_losses accept_losses: bool,
    with_clock clock: Arc<dyn Clock>,
}

impl ServiceOptions {
    /// Returns the generation of KATO by which nodes and sessions behave.
    #[must_use]
    pub const fn generation(&self) -> KatoGeneration {
        self.engine.generation
    }

    /// Sets the generation of KATO: that of [`engine`](Self::engine).
    #[must_use]
    pub const fn with_generation(mut self, generation: KatoGeneration) -> Self {
        self.engine.generation = generation;
        self
    }

    /// Returns the bytes of memory that one session may take.
    pub(crate) const fn max_memory_of_session(&self) -> usize {
        self.max_session_memory / SESSION_SHARE
    }

    /// Sets [`service_name`](Self::service_name).
    #[must_use]
    pub fn with_service_name(mut self, service_name: impl Into<String>) -> Self {
        self.service_name = service_name.into();
        self
    }
}
