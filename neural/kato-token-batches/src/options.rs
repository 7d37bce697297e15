//! How documents become batches of tokens, and the settings that decide speed only.

use kato_loader::options::DEFAULT_LEDGER_CAPACITY;
use serde::{Deserialize, Serialize};

use crate::error::TokenBatchError;
use crate::state::TokenBatchState;

/// Most workers, and most windows that each may be ahead: far above what helps, and small enough to
/// multiply.
const MOST_AHEAD: usize = 1024;

/// What the token budget of a batch is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BudgetMeasure {
    /// Sequences × longest sequence: what the batch takes once it is padded. The default, since
    /// such a batch fits either way.
    #[default]
    Padded,
    /// The tokens themselves: what the batch takes where sequences of different lengths lie side by
    /// side.
    Exact,
}

/// The order in which the sequences of a window are cut into batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SequenceOrder {
    /// From short to long; sequences of one length in the order of their documents. The default:
    /// little is padded.
    #[default]
    ByLength,
    /// As the documents come.
    AsRead,
}

/// What becomes of a document with more tokens than a sequence may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LongDocuments {
    /// It is cut into as many full sequences as it fills, and one with what remains. The default:
    /// nothing is lost.
    #[default]
    Split,
    /// Its first tokens become a sequence; those cut off are counted.
    Truncate,
    /// It becomes one sequence all the same, in a batch of its own if that is above the budget.
    Alone,
    /// It is a document that cannot be used: see [`OnBadDocument`].
    Refuse,
}

/// What happens when a document cannot be encoded, or is refused for its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnBadDocument {
    /// The batches end with an error that names the document. The default.
    #[default]
    Fail,
    /// The document becomes a [`BadDocument`](crate::BadDocument), and the batches go on without
    /// it.
    Skip,
}

/// Settings of [`TokenBatches`](crate::TokenBatches).
///
/// Documents are taken in *windows*: a number of consecutive ones, or fewer once their texts reach
/// a number of bytes. Within a window the sequences are put in order and cut into batches, each as
/// large as budget and limits allow; no batch crosses a window. A window should give ten batches or
/// more, since its last one is as small as what is left. (These windows have nothing to do with
/// those in which a loader may shuffle, which decide in what order documents come here.)
///
/// # Examples
///
/// ```
/// use kato_token_batches::TokenBatchOptions;
/// use kato_token_batches::options::LongDocuments;
///
/// let options = TokenBatchOptions::new(16_384)
///     .with_max_sequence_tokens(1_024)
///     .with_long_documents(LongDocuments::Split)
///     .with_shuffle(7)
///     .with_workers(2);
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct TokenBatchOptions {
    pub(crate) shape: Shape,
    pub(crate) on_bad_document: OnBadDocument,
    pub(crate) ledger_capacity: usize,
    pub(crate) n_workers: usize,
    pub(crate) prefetch: usize,
    pub(crate) resume_from: Option<TokenBatchState>,
}

/// The settings that decide what the batches are; stored with a state, so that no number depends on
/// the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    max_tokens: u64,
    pub(crate) budget: BudgetMeasure,
    max_sequences: Option<u64>,
    max_sequence_tokens: Option<u64>,
    pub(crate) long_documents: LongDocuments,
    pub(crate) order: SequenceOrder,
    pub(crate) shuffle: Option<u64>,
    window_documents: u64,
    window_bytes: u64,
}

impl TokenBatchOptions {
    /// Creates options with a budget of `max_tokens` tokens a batch, and everything else by
    /// default.
    #[must_use]
    pub fn new(max_tokens: usize) -> Self {
        Self {
            shape: Shape {
                max_tokens: max_tokens as u64,
                budget: BudgetMeasure::default(),
                max_sequences: None,
                max_sequence_tokens: None,
                long_documents: LongDocuments::default(),
                order: SequenceOrder::default(),
                shuffle: None,
                window_documents: 4096,
                window_bytes: 64 << 20,
            },
            on_bad_document: OnBadDocument::default(),
            ledger_capacity: DEFAULT_LEDGER_CAPACITY,
            n_workers: 1,
            prefetch: 2,
            resume_from: None,
        }
    }

    /// Sets what the budget is compared with. Default: [`BudgetMeasure::Padded`].
    #[must_use]
    pub fn with_budget(mut self, budget: BudgetMeasure) -> Self {
        self.shape.budget = budget;
        self
    }

    /// Sets the largest number of sequences of a batch. Default: as many as the budget allows.
    #[must_use]
    pub fn with_max_sequences(mut self, sequences: usize) -> Self {
        self.shape.max_sequences = Some(sequences as u64);
        self
    }

    /// Sets the largest number of tokens of a sequence, at most the budget: the context length of a
    /// model. Default: the budget.
    #[must_use]
    pub fn with_max_sequence_tokens(mut self, tokens: usize) -> Self {
        self.shape.max_sequence_tokens = Some(tokens as u64);
        self
    }

    /// Sets what becomes of documents with more tokens than a sequence may have. Default:
    /// [`LongDocuments::Split`].
    #[must_use]
    pub fn with_long_documents(mut self, policy: LongDocuments) -> Self {
        self.shape.long_documents = policy;
        self
    }

    /// Sets the order in which the sequences of a window are cut into batches. Default:
    /// [`SequenceOrder::ByLength`].
    #[must_use]
    pub fn with_order(mut self, order: SequenceOrder) -> Self {
        self.shape.order = order;
        self
    }

    /// Shuffles the batches of each window by a seed. Default: they keep the order in which they
    /// were cut, which by length means from short sequences to long ones.
    #[must_use]
    pub fn with_shuffle(mut self, seed: u64) -> Self {
        self.shape.shuffle = Some(seed);
        self
    }

    /// Sets the number of documents of a window. Default: 4,096.
    ///
    /// More of them pad less; after resuming, at most one window of which batches were delivered is encoded
    /// again.
    #[must_use]
    pub fn with_window_documents(mut self, documents: usize) -> Self {
        self.shape.window_documents = documents as u64;
        self
    }

    /// Sets the size of the text, in bytes, at which a window ends before it has all its documents.
    /// Default: 64 MiB.
    ///
    /// It bounds memory where documents are long.
    #[must_use]
    pub fn with_window_bytes(mut self, bytes: usize) -> Self {
        self.shape.window_bytes = bytes as u64;
        self
    }

    /// Sets what happens when a document cannot be encoded. Default: [`OnBadDocument::Fail`].
    #[must_use]
    pub fn on_bad_document(mut self, policy: OnBadDocument) -> Self {
        self.on_bad_document = policy;
        self
    }

    /// Sets how many undrained entries the two ledgers may hold together; more end the batches with
    /// [`TokenBatchError::LedgerFull`]. Default: 100,000.
    #[must_use]
    pub fn with_ledger_capacity(mut self, entries: usize) -> Self {
        self.ledger_capacity = entries;
        self
    }

    /// Sets the number of threads that read and encode; 0 does both on the caller's thread, when a
    /// batch is asked for. Default: 1.
    ///
    /// The batches are the same for any number.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.n_workers = workers;
        self
    }

    /// Sets how many windows each worker may be ahead of the one being delivered, the one that it
    /// is making included. Default: 2.
    #[must_use]
    pub fn with_prefetch(mut self, windows: usize) -> Self {
        self.prefetch = windows;
        self
    }

    /// Continues behind the last batch of an earlier run, whose loader is resumed from
    /// [`state.cursor()`](TokenBatchState::cursor).
    #[must_use]
    pub fn with_state(mut self, state: TokenBatchState) -> Self {
        self.resume_from = Some(state);
        self
    }

    /// Refuses options that no batch can be made with.
    pub(crate) fn check(&self) -> Result<(), TokenBatchError> {
        let shape = &self.shape;
        let is_zero = [
            ("max_tokens", shape.max_tokens == 0),
            ("with_max_sequences", shape.max_sequences == Some(0)),
            (
                "with_max_sequence_tokens",
                shape.max_sequence_tokens == Some(0),
            ),
            ("with_window_documents", shape.window_documents == 0),
            ("with_window_bytes", shape.window_bytes == 0),
            ("with_ledger_capacity", self.ledger_capacity == 0),
            ("with_prefetch", self.n_workers > 0 && self.prefetch == 0),
        ];
        if let Some((option, _)) = is_zero.into_iter().find(|(_, is_zero)| *is_zero) {
            let reason = "it must be at least 1";
            return Err(TokenBatchError::InvalidOption { option, reason });
        }
        let is_vast = [
            ("with_workers", self.n_workers > MOST_AHEAD),
            ("with_prefetch", self.prefetch > MOST_AHEAD),
        ];
        if let Some((option, _)) = is_vast.into_iter().find(|(_, is_vast)| *is_vast) {
            let reason = "it must be at most 1,024";
            return Err(TokenBatchError::InvalidOption { option, reason });
        }
        // A sequence of the largest size must fit into a batch by itself.
        if shape.sequence_limit() > shape.max_tokens() {
            return Err(TokenBatchError::InvalidOption {
                option: "with_max_sequence_tokens",
                reason: "a sequence must fit into the budget of a batch",
            });
        }
        Ok(())
    }
}

impl Shape {
    /// Returns the budget of a batch, in tokens.
    pub(crate) fn max_tokens(&self) -> usize {
        in_memory(self.max_tokens)
    }

    /// Returns the largest number of sequences of a batch.
    pub(crate) fn max_sequences(&self) -> usize {
        self.max_sequences.map_or(usize::MAX, in_memory)
    }

    /// Returns the largest number of tokens of a sequence.
    pub(crate) fn sequence_limit(&self) -> usize {
        in_memory(self.max_sequence_tokens.unwrap_or(self.max_tokens))
    }

    /// Returns the number of documents of a window.
    pub(crate) fn window_documents(&self) -> usize {
        in_memory(self.window_documents)
    }

    /// Returns the size of the text at which a window ends, in bytes.
    pub(crate) fn window_bytes(&self) -> usize {
        in_memory(self.window_bytes)
    }

    /// Returns what is different in `other`, one clause each.
    pub(crate) fn diff(&self, other: &Self) -> Vec<String> {
        let pairs = self.described().into_iter().zip(other.described());
        pairs
            .filter(|((_, was), (_, is))| was != is)
            .map(|((label, was), (_, is))| format!("{label}: was {was}, is {is}"))
            .collect()
    }

    /// Returns every option with its name, as text.
    fn described(&self) -> [(&'static str, String); 8] {
        let limit = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
        [
            (
                "tokens a batch",
                format!("{} ({:?})", self.max_tokens, self.budget),
            ),
            ("sequences a batch", limit(self.max_sequences)),
            ("tokens a sequence", self.sequence_limit().to_string()),
            ("long documents", format!("{:?}", self.long_documents)),
            ("order", format!("{:?}", self.order)),
            (
                "shuffle",
                self.shuffle
                    .map_or("none".to_owned(), |seed| format!("seed {seed}")),
            ),
            ("documents a window", self.window_documents.to_string()),
            ("bytes a window", self.window_bytes.to_string()),
        ]
    }
}

/// Returns a limit as a length in memory, where nothing is longer than the longest.
fn in_memory(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
