//! The batches themselves: an iterator over the windows of a loader's documents.

use std::error::Error;
use std::fmt;
use std::iter::FusedIterator;
use std::panic::resume_unwind;
use std::vec;

use kato_loader::{BadRecord, Cursor, StreamingDatasetLoader};

use crate::bad_document::BadDocument;
use crate::batch::{Collation, TokenBatch};
use crate::error::TokenBatchError;
use crate::options::TokenBatchOptions;
use crate::pool::{Outcome, Pool, WindowSource};
use crate::state::{Fingerprint, TokenBatchCounts, TokenBatchState};
use crate::window::{Encoding, Window};

/// The documents of a loader as batches of tokens.
///
/// **Order.** The batches are a function of the loader's documents, the encoder and the options;
/// the number of workers, and how far they are ahead, change nothing.
///
/// **Resuming.** Every batch carries the [`TokenBatchState`] behind it.
///
/// **Errors** come in their place: behind the batches of all whole windows in front of them. A
/// window cut short by an error is not delivered, because after resuming it would give other
/// batches. A panic of the encoder is the panic of the `next` that would have returned its window.
///
/// **Memory.** Workers are at most `workers * prefetch` windows ahead, and read nothing more until
/// a window is asked for. Dropping ends them behind the document that each is reading or encoding,
/// and waits for them.
///
/// # Examples
///
/// Stopping and going on:
///
/// ```
/// use std::convert::Infallible;
/// use kato_loader::{StreamingDatasetLoader, TextUnit};
/// use kato_token_batches::{TokenBatchError, TokenBatchOptions, TokenBatches};
///
/// let open = || {
///     let lines = "a b c\na\na b\na b c d\n";
///     StreamingDatasetLoader::builder()
///         .with_reader("lines.txt", lines.as_bytes())
///         .with_text_unit(TextUnit::Line)
/// };
/// let encoder = |text: &str| {
///     let lengths = text.split(' ').map(|word| word.len() as u32);
///     Ok::<_, Infallible>(lengths.collect())
/// };
/// let options = TokenBatchOptions::new(4);
///
/// let mut batches = TokenBatches::new(open().build()?, options.clone(), encoder)?;
/// let first = batches.next().expect("there are several")?;
/// assert_eq!(first.documents, [1, 2]);
/// assert_eq!((&first.tokens[..], &first.offsets[..]), (&[1, 1, 1][..], &[0, 1, 3][..]));
/// assert_eq!(first.padded(0).tokens, [1, 0, 1, 1]);
///
/// let state = first.state;
/// let loader = open().with_cursor(state.cursor().clone()).build()?;
/// let options = options.with_state(state).with_workers(2);
/// let rest = TokenBatches::new(loader, options, encoder)?;
/// let documents = rest.map(|batch| Ok(batch?.documents));
/// let documents = documents.collect::<Result<Vec<_>, TokenBatchError>>()?;
/// assert_eq!(documents, [[0], [3]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TokenBatches {
    windows: Windows,
    /// The window being delivered.
    current: Option<CurrentWindow>,
    state: TokenBatchState,
    bad_records: Vec<BadRecord>,
    bad_documents: Vec<BadDocument>,
    ledger_capacity: usize,
    bytes_read: u64,
    total_bytes: Option<u64>,
}

/// Where the next window comes from.
enum Windows {
    Inline(Box<WindowSource>),
    Threads(Pool),
    /// There are no more.
    Ended,
}

/// What is left of the window being delivered.
struct CurrentWindow {
    batches: vec::IntoIter<Collation>,
    end: Cursor,
    fingerprint: Fingerprint,
}

impl TokenBatches {
    /// Encodes the documents of a loader and collects their tokens into batches under a budget.
    ///
    /// The encoder turns a text into tokens. It has to give the same tokens for the same text, is
    /// called from several threads at once, and is not asked to add or cut anything: what it
    /// returns is what is trained on.
    ///
    /// # Errors
    ///
    /// When an option is out of range, the threads cannot be started, or the state to resume from
    /// belongs to other options or another position.
    pub fn new<F, E>(
        loader: StreamingDatasetLoader,
        options: TokenBatchOptions,
        encoder: F,
    ) -> Result<Self, TokenBatchError>
    where
        F: Fn(&str) -> Result<Vec<u32>, E> + Send + Sync + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        options.check()?;
        let state = match options.resume_from {
            Some(state) => state.checked(&options.shape, &loader.cursor())?,
            None => TokenBatchState::start(options.shape.clone(), loader.cursor()),
        };
        let (bytes_read, total_bytes) = (loader.bytes_read(), loader.total_bytes());
        let encoding = Encoding {
            encoder: Box::new(move |text| encoder(text).map_err(Into::into)),
            shape: options.shape,
            on_bad_document: options.on_bad_document,
        };
        let source = WindowSource::new(loader, encoding);
        let windows = match options.n_workers {
            0 => Windows::Inline(Box::new(source)),
            n_workers => Windows::Threads(Pool::start(source, n_workers, options.prefetch)?),
        };
        Ok(Self {
            windows,
            current: None,
            state,
            bad_records: Vec::new(),
            bad_documents: Vec::new(),
            ledger_capacity: options.ledger_capacity,
            bytes_read,
            total_bytes,
        })
    }

    /// Returns the position behind the last batch delivered.
    #[must_use]
    pub fn state(&self) -> &TokenBatchState {
        &self.state
    }

    /// Returns what became of the documents so far, those of earlier runs included.
    #[must_use]
    pub fn counts(&self) -> TokenBatchCounts {
        self.state.counts
    }

    /// Takes the loader's ledger entries written since the last call.
    ///
    /// The entries of a window come with its first batch: store them with the
    /// [`state`](Self::state), and a resumed run neither repeats nor loses one.
    pub fn take_bad_records(&mut self) -> Vec<BadRecord> {
        std::mem::take(&mut self.bad_records)
    }

    /// Takes the entries of skipped documents written since the last call, in the manner of
    /// [`take_bad_records`](Self::take_bad_records).
    pub fn take_bad_documents(&mut self) -> Vec<BadDocument> {
        std::mem::take(&mut self.bad_documents)
    }

    /// Returns how many bytes on disk the windows up to the one being delivered took, for a
    /// forecast against [`total_bytes`](Self::total_bytes).
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Returns the sum of the sizes of the loader's files, in bytes, or `None` when it is not
    /// known.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Delivers the next batch, and takes the next window when there is none left.
    fn advance(&mut self) -> Result<Option<TokenBatch>, TokenBatchError> {
        loop {
            if let Some(mut current) = self.current.take()
                && let Some(collation) = current.batches.next()
            {
                return Ok(Some(self.deliver(collation, current)));
            }
            let outcome = match &mut self.windows {
                Windows::Inline(source) => {
                    source.next_window().map_or(Outcome::End, |(_, made)| made)
                }
                Windows::Threads(pool) => pool.next(),
                Windows::Ended => return Ok(None),
            };
            match outcome {
                Outcome::Window(window) => self.open(*window)?,
                Outcome::End if self.state.batches == 0 => return Ok(None),
                // The earlier run delivered batches of a window, and here the corpus ends in front
                // of it.
                Outcome::End => return Err(self.state.other_window()),
                Outcome::Failed(error) => return Err(error),
                Outcome::Panicked(panic) => {
                    // Set before the panic goes on: the caller may catch it and ask again.
                    self.windows = Windows::Ended;
                    resume_unwind(panic);
                }
            }
        }
    }

    /// Makes a window the one being delivered.
    fn open(&mut self, window: Window) -> Result<(), TokenBatchError> {
        let mut batches = window.batches.into_iter();
        if self.state.batches > 0 {
            // Resumed within the window: counts and ledgers of the stored state have it already,
            // and it must come out as it was, or batches would be repeated or lost.
            let delivered = usize::try_from(self.state.batches).unwrap_or(usize::MAX);
            if self.state.window.as_ref() != Some(&window.fingerprint) || delivered >= batches.len()
            {
                return Err(self.state.other_window());
            }
            batches.by_ref().take(delivered).for_each(drop);
        } else {
            self.record(window.bad_records, window.bad_documents)?;
            self.state.counts.add_documents(&window.counts);
        }
        self.bytes_read = window.bytes_read;
        if batches.len() == 0 {
            // A window of nothing but empty or bad documents has no batch behind which its end
            // could be noted.
            self.state.cursor = window.end;
        } else {
            self.state.cursor = window.begin;
            self.current = Some(CurrentWindow {
                batches,
                end: window.end,
                fingerprint: window.fingerprint,
            });
        }
        Ok(())
    }

    /// Enters what was bad in a window into the ledgers, or fails when they are full.
    fn record(
        &mut self,
        bad_records: Vec<BadRecord>,
        bad_documents: Vec<BadDocument>,
    ) -> Result<(), TokenBatchError> {
        // All or nothing: a ledger that holds a part of a window would not agree with any state.
        let waiting = self.bad_records.len() + self.bad_documents.len();
        let entries = waiting + bad_records.len() + bad_documents.len();
        let document = bad_documents.last().map(ToString::to_string);
        let last = document.or_else(|| bad_records.last().map(ToString::to_string));
        if let Some(last) = last
            && entries > self.ledger_capacity
        {
            return Err(TokenBatchError::LedgerFull {
                entries,
                capacity: self.ledger_capacity,
                last,
            });
        }
        self.bad_records.extend(bad_records);
        self.bad_documents.extend(bad_documents);
        Ok(())
    }

    /// Turns the next batch of the current window into one with the position behind it.
    fn deliver(&mut self, collation: Collation, current: CurrentWindow) -> TokenBatch {
        let state = &mut self.state;
        state.counts.batches += 1;
        state.counts.sequences += collation.documents.len() as u64;
        state.counts.tokens += collation.tokens.len() as u64;
        if current.batches.len() == 0 {
            // The last batch of a window: the position is the beginning of the next one, with
            // nothing delivered of it.
            state.cursor = current.end;
            state.batches = 0;
            state.window = None;
        } else {
            state.batches += 1;
            if state.window.is_none() {
                state.window = Some(current.fingerprint.clone());
            }
            self.current = Some(current);
        }
        TokenBatch::new(collation, self.state.clone())
    }
}

impl Iterator for TokenBatches {
    type Item = Result<TokenBatch, TokenBatchError>;

    /// Returns the next batch. After an error there are no more.
    fn next(&mut self) -> Option<Self::Item> {
        let outcome = self.advance();
        if !matches!(outcome, Ok(Some(_))) {
            self.windows = Windows::Ended;
        }
        outcome.transpose()
    }
}

impl FusedIterator for TokenBatches {}

impl fmt::Debug for TokenBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenBatches")
            .field("state", &self.state)
            .field("bytes_read", &self.bytes_read)
            .finish_non_exhaustive()
    }
}
