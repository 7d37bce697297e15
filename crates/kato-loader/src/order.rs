//! The order in which the records of a corpus come: a pure function of its files, a seed, an epoch
//! and a shard.

use serde::{Deserialize, Serialize};

use crate::error::LoadError;

/// Text that is shuffled together by default, in bytes: 64 MiB.
pub const DEFAULT_WINDOW_BYTES: u64 = 64 << 20;

/// In which order the records of a corpus are read.
///
/// The order is a pure function of the files, of how they are cut into records, of these settings and
/// of the number of shards. Neither the number of threads nor sizes of batches nor interruptions have a
/// part in it.
///
/// **Shuffled** order has two stages:
///
/// 1. The corpus is cut into *blocks* that can be read on their own: runs of rows of a Parquet row
///    group, about 8 MiB of text each (whole row groups where a remote file has no page index);
///    stretches of 8 MiB of JSON Lines and of text read by line, uncompressed and in UTF-8, and of
///    such CSV and TSV, which is read once to find where rows begin, where it is a remote file only if
///    it is larger than a window; and of [`Records`](crate::Records). Every other file is one block.
///    Blocks are put into a random order over the whole corpus.
/// 2. Blocks that follow each other in that order make a *window* of up to `window_bytes`. The
///    records of a window are put into a random order.
///
/// So records of one block stay within one window, and a window holds records from everywhere. The
/// larger the window, the closer to a uniform shuffle. Streams cannot be shuffled.
///
/// **Memory** is about two windows. What is larger, such as a compressed file that is one block, is
/// held up to 16 windows, or 128 MiB, and its largest record; where there is more, the blocks are read
/// several times, a random share of their records each time, in the same order: larger windows, or
/// smaller files, save time then.
///
/// # Examples
///
/// ```
/// use kato_loader::{Order, StreamingDatasetLoader, TextUnit};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("lines.txt");
/// std::fs::write(&path, "0\n1\n2\n3\n4\n5\n6\n7\n")?;
/// let read = |order, workers| {
///     let builder = StreamingDatasetLoader::builder().with_input(&path).with_text_unit(TextUnit::Line);
///     let loader = builder.with_order(order).with_workers(workers).build()?;
///     loader.map(|document| Ok(document?.text)).collect::<Result<Vec<_>, kato_loader::LoadError>>()
/// };
/// let shuffled = read(Order::shuffled(7), 0)?;
/// assert_ne!(shuffled, read(Order::Sequential, 0)?);
/// assert_ne!(shuffled, read(Order::shuffled(7).with_epoch(1), 0)?);
/// assert_eq!(shuffled, read(Order::shuffled(7), 4)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Order {
    /// File by file, record by record. The default.
    #[default]
    Sequential,
    /// Blocks in random order, records in random order within windows.
    Shuffled {
        /// Decides the order.
        seed: u64,
        /// Number of the pass over the corpus, from 0: every epoch has an order of its own.
        epoch: u64,
        /// Text that is shuffled together, in bytes; at least one block.
        window_bytes: u64,
    },
}

impl Order {
    /// Creates a shuffled order from a seed: epoch 0, windows of 64 MiB.
    #[must_use]
    pub fn shuffled(seed: u64) -> Self {
        Self::Shuffled {
            seed,
            epoch: 0,
            window_bytes: DEFAULT_WINDOW_BYTES,
        }
    }

    /// Sets the epoch, for another pass over the corpus. Sequential order is the same in every
    /// epoch.
    #[must_use]
    pub fn with_epoch(mut self, new: u64) -> Self {
        if let Self::Shuffled { epoch, .. } = &mut self {
            *epoch = new;
        }
        self
    }

    /// Sets the size of the windows, in bytes of text. Sequential order has no windows.
    #[must_use]
    pub fn with_window_bytes(mut self, bytes: u64) -> Self {
        if let Self::Shuffled { window_bytes, .. } = &mut self {
            *window_bytes = bytes;
        }
        self
    }

    /// Refuses an order that cannot be read.
    pub(crate) fn check(self) -> Result<(), LoadError> {
        match self {
            Self::Shuffled {
                window_bytes: 0, ..
            } => Err(LoadError::InvalidOption {
                option: "with_order",
                reason: "a window needs at least 1 byte",
            }),
            Self::Sequential | Self::Shuffled { .. } => Ok(()),
        }
    }
}

/// One of several parts of a corpus, for machines that share it.
///
/// Together, the shards of one order hold every record exactly once; of a mixture that
/// [stops](crate::WhenExhausted::Stop) each ends by itself. In shuffled order a shard
/// takes every n-th window, in sequential order every n-th block of a file (see [`Order`]), and reads
/// no others. Where there would be fewer blocks than shards, files of lines
/// and sources of one's own are cut into smaller ones, eight for each shard; with what cannot be cut among
/// them, such as a stream or a compressed file, every shard reads all and takes every n-th record. One that
/// is left without a record is an [error](crate::LoadError::EmptyShard) unless it is
/// [allowed](crate::StreamingDatasetLoaderBuilder::allow_empty).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Creates shard `index`, counted from 0, of `count`. A loader refuses an index that is not
    /// below `count`.
    #[must_use]
    pub fn new(index: u64, count: u64) -> Self {
        Self { index, count }
    }

    /// Returns the number of this shard, from 0.
    #[must_use]
    pub fn index(self) -> u64 {
        self.index
    }

    /// Returns the number of shards that the corpus is cut into.
    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }

    /// Returns whether the unit with this number belongs to the shard.
    pub(crate) fn contains(self, number: u64) -> bool {
        number % self.count == self.index
    }

    /// Refuses a shard that does not exist.
    pub(crate) fn check(self) -> Result<(), LoadError> {
        if self.index < self.count {
            return Ok(());
        }
        Err(LoadError::InvalidOption {
            option: "with_shard",
            reason: "shards are numbered from 0 and below their count",
        })
    }
}
