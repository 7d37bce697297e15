//! How reading goes: limits, bad records, threads, and what ends it.

use std::num::NonZeroUsize;

use kato_probe::Probe;

use super::StreamingDatasetLoaderBuilder;
use crate::interrupt::Interrupt;
use crate::mixture::Part;
use crate::options::OnBadRecord;
use crate::order::Order;

/// Decoded text that may wait for the consumer by default, in bytes: 64 MiB.
pub const DEFAULT_PREFETCH_BYTES: usize = 64 << 20;

/// Parts of files that wait for each worker thread by default.
pub(super) const DEFAULT_PREFETCH: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// Least number of worker threads where files are remote: most of them wait for the network.
const REMOTE_WORKERS: usize = 8;

impl StreamingDatasetLoaderBuilder {
    /// Sets the size of the largest record, in bytes: a line, a paragraph, a file read whole, a
    /// row. Default: 64 MiB.
    ///
    /// A longer one is a bad record. While one is read, it takes up to four times this much memory,
    /// on each thread that reads one, beside the window of a decompressor. A page of a Parquet file
    /// may have four times as many bytes, and 64 MiB in any case.
    #[must_use]
    pub fn with_max_record_bytes(mut self, bytes: u64) -> Self {
        self.selection.max_record_bytes = bytes;
        self
    }

    /// Sets what happens to a record that cannot become a document. Default: [`OnBadRecord::Fail`].
    #[must_use]
    pub fn on_bad_record(mut self, policy: OnBadRecord) -> Self {
        self.on_bad_record = policy;
        self
    }

    /// Allows inputs in which no text is found, and a corpus without a document. By default both are
    /// errors: an answer of a server that is empty, or a pipe that was broken off, is no corpus. In
    /// a shard an input without text is passed over while others have some, and in shuffled order one that
    /// is read in several blocks, all blank; a corpus of which options leave out all is no error.
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.selection.allows_empty = true;
        self
    }

    /// Sets how many undrained entries the ledger may hold; one more ends the stream with
    /// [`LoadError::LedgerFull`](crate::LoadError::LedgerFull). Default: 100,000.
    ///
    /// It bounds memory, and it is what stops a run whose every record is skipped because, say, the
    /// field's name is wrong.
    #[must_use]
    pub fn with_ledger_capacity(mut self, entries: usize) -> Self {
        self.ledger_capacity = entries;
        self
    }

    /// Sets the number of threads that fetch and decode files ahead of their turn; 0 reads on the
    /// caller's thread.
    ///
    /// They live as long as the loader. Default: 0 for local files in sequential order, one for
    /// each core in shuffled order, and where files are remote one for each core but at least 8.
    ///
    /// The documents and their order are the same for any number, of at most 1,024.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets how many parts of files, of about 8 MiB of text, are queued for each worker thread.
    /// Default: 2.
    #[must_use]
    pub fn with_prefetch(mut self, parts: NonZeroUsize) -> Self {
        self.prefetch = parts;
        self
    }

    /// Sets how much decoded text may wait for the consumer, in bytes. Default: 64 MiB.
    ///
    /// It bounds memory when the consumer is slower than the source; a small budget slows reading
    /// down and never stops it.
    #[must_use]
    pub fn with_prefetch_bytes(mut self, bytes: usize) -> Self {
        self.prefetch_bytes = bytes;
        self
    }

    /// Sets the probe that records what the loader's threads are doing, as the stage
    /// [`DECODE_STAGE`](crate::DECODE_STAGE). Default: none.
    #[must_use]
    pub fn with_probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Sets a function that says whether reading is to end, as when a user has interrupted the
    /// program.
    ///
    /// It is asked some times a second while the loader waits for a named pipe, for standard input
    /// or for an asynchronous stream of documents, and when a record is bad. Once it returns true
    /// there, the stream ends with [`LoadError::Interrupted`](crate::LoadError::Interrupted).
    #[must_use]
    pub fn with_interrupt(
        mut self,
        is_interrupted: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.interrupt = Interrupt::new(is_interrupted);
        self
    }
}

/// Returns as many threads as pay, for when no number was asked for.
pub(super) fn default_workers(parts: &[Part]) -> usize {
    let corpora = || parts.iter().map(|part| &part.dataset.corpus);
    let mut files = corpora().flat_map(|corpus| corpus.files.iter());
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if files.any(|file| file.is_remote()) {
        cores().max(REMOTE_WORKERS)
    } else if corpora().any(|corpus| corpus.selection.order != Order::Sequential) {
        // A whole window has to be decoded before its first document can be returned.
        cores()
    } else {
        0
    }
}
