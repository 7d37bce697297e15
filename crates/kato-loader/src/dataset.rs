//! Reads the records of one corpus, one after the other, in the order asked for.

mod decoded;
mod sequential;
mod shuffled;
mod window;

use std::sync::Arc;

use self::sequential::Sequential;
use self::shuffled::Shuffled;
use crate::bad_record::Fault;
use crate::cursor::{Mark, Position};
use crate::document::Place;
use crate::error::LoadError;
use crate::extent::Extent;
use crate::ignored::IgnoredFile;
use crate::input_file::InputFile;
use crate::inputs::Listing;
use crate::options::CorpusOptions;
use crate::order::Order;
use crate::records::Sink;
use crate::records::dealt::Deal;
use crate::sharing::{Sharing, sharing};
use crate::workers::Workers;

/// Files, the options they are read with, and a position.
pub(crate) struct Dataset {
    pub(crate) corpus: Corpus,
    pub(crate) ignored: Vec<IgnoredFile>,
    position: Position,
    reading: Reading,
}

/// Files and the options they are read with, which together decide the records.
#[derive(Clone)]
pub(crate) struct Corpus {
    pub(crate) files: Arc<[Arc<InputFile>]>,
    pub(crate) selection: Arc<CorpusOptions>,
}

/// How far the reading has come, by order.
enum Reading {
    Sequential(Sequential),
    Shuffled(Shuffled),
}

/// What came next. The dataset stays where it was until [`Dataset::accept`].
pub(crate) enum Draw {
    /// The sink holds a record.
    Record(RecordLocation),
    /// A record, or several, that cannot be read.
    Bad { file: usize, fault: Fault },
    /// There is nothing further.
    End,
}

/// Where a record was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordLocation {
    /// Index of its file.
    pub(crate) file: usize,
    /// The position behind it.
    pub(crate) mark: Mark,
    pub(crate) place: Place,
}

/// Settings that decide how to read, and not which records there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    /// Whether a bad record takes the rest of its file, or block, with it.
    pub(crate) skips_files: bool,
    /// Parts of files that each thread has waiting.
    pub(crate) prefetch: usize,
}

impl Dataset {
    /// Opens a dataset at a position; the default position is the beginning of every order.
    ///
    /// # Errors
    ///
    /// [`LoadError::Unsupported`] and [`LoadError::Footer`] when shuffled order cannot be planned.
    pub(crate) fn new(
        mut listing: Listing,
        mut selection: CorpusOptions,
        position: Position,
    ) -> Result<Self, LoadError> {
        match sharing(&listing.files, &selection) {
            Sharing::Parts(bytes) => selection.extent_bytes = bytes,
            Sharing::Records => {
                for (number, file) in listing.files.iter_mut().enumerate() {
                    let first = number as u64;
                    file.deal = selection.shard.map(|shard| Deal { shard, first });
                }
            }
        }
        let corpus = Corpus {
            files: listing.files.into_iter().map(Arc::new).collect(),
            selection: Arc::new(selection),
        };
        let (reading, position) = match corpus.selection.order {
            Order::Sequential => (
                Reading::Sequential(Sequential::new(&corpus, position)),
                position,
            ),
            Order::Shuffled {
                seed,
                epoch,
                window_bytes,
            } => {
                let shuffled = Shuffled::plan(&corpus, seed, epoch, window_bytes)?;
                let start = Position::InWindow {
                    window: 0,
                    after: None,
                };
                // The default stands for a new run, whatever its order. A stored position in a
                // sequential order that equals it would start at the beginning, too.
                let position = match position == Position::default() {
                    true => start,
                    false => position,
                };
                (Reading::Shuffled(shuffled), position)
            }
        };
        Ok(Self {
            corpus,
            ignored: listing.ignored,
            position,
            reading,
        })
    }

    /// Returns the position behind the last record that was accepted.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Returns the position behind the last record of all.
    pub(crate) fn end(&self) -> Position {
        match &self.reading {
            Reading::Sequential(_) => Position::InFile {
                file_index: self.corpus.files.len() as u64,
                mark: Mark::default(),
            },
            Reading::Shuffled(shuffled) => Position::InWindow {
                window: shuffled.n_windows(),
                after: None,
            },
        }
    }

    /// Reads the next record into the sink; the position stays in front of it.
    pub(crate) fn draw(
        &mut self,
        workers: Option<&mut Workers>,
        options: ReadOptions,
        sink: &mut Sink<'_>,
    ) -> Draw {
        match &mut self.reading {
            Reading::Sequential(sequential) => {
                sequential.draw(&self.corpus, &mut self.position, workers, options, sink)
            }
            Reading::Shuffled(shuffled) => {
                shuffled.draw(&self.corpus, &mut self.position, workers, options, sink)
            }
        }
    }

    /// Moves the position behind what was drawn.
    pub(crate) fn accept(&mut self) {
        match &mut self.reading {
            Reading::Sequential(sequential) => sequential.accept(&self.corpus, &mut self.position),
            Reading::Shuffled(shuffled) => shuffled.accept(&mut self.position),
        }
    }

    /// Moves the position over at most `records` records without decoding them; returns how many.
    pub(crate) fn skip_records(&mut self, records: u64) -> Result<u64, (usize, Fault)> {
        match &mut self.reading {
            Reading::Sequential(sequential) => {
                sequential.skip_records(&self.corpus, &mut self.position, records)
            }
            Reading::Shuffled(shuffled) => {
                Ok(shuffled.skip_records(&self.corpus, &mut self.position, records))
            }
        }
    }

    /// Returns whether every record lies behind the position.
    pub(crate) fn is_exhausted(&self) -> bool {
        match (&self.reading, self.position) {
            (Reading::Sequential(_), Position::InFile { file_index, .. }) => {
                file_index >= self.corpus.files.len() as u64
            }
            (Reading::Shuffled(shuffled), Position::InWindow { window, .. }) => {
                window >= shuffled.n_windows()
            }
            _ => true,
        }
    }

    /// Returns the sum of the sizes of the files, or `None` when that of one is not known.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        self.corpus.files.iter().map(|file| file.size).sum()
    }

    /// Returns how many bytes of the files lie behind the position, roughly.
    pub(crate) fn bytes_read(&self) -> u64 {
        match &self.reading {
            Reading::Sequential(sequential) => sequential.bytes_read(),
            Reading::Shuffled(shuffled) => {
                shuffled.bytes_read(self.position, self.total_bytes().unwrap_or(0))
            }
        }
    }

    /// Returns the number of records by the footers of Parquet files, or `None` when there are
    /// other files.
    pub(crate) fn count_rows(&self) -> Result<Option<u64>, (usize, Fault)> {
        let Corpus { files, selection } = &self.corpus;
        if files.iter().any(|file| !file.is_numbered()) {
            return Ok(None);
        }
        let mut rows = 0_u64;
        for (at, file) in files.iter().enumerate() {
            let n_records = file.n_records(selection).map_err(|fault| (at, fault))?;
            rows = rows.saturating_add(n_records);
        }
        Ok(Some(rows))
    }

    /// Returns the number of records where the files state it, or where the ends of lines do in at most so many
    /// bytes; an error with the number of the file.
    pub(crate) fn count_records(&self, most_bytes: u64) -> Result<Option<u64>, (usize, Fault)> {
        let Corpus { files, selection } = &self.corpus;
        let (mut records, mut may_read) = (0_u64, most_bytes);
        for (at, file) in files.iter().enumerate() {
            let counted = file.count_records(selection, &mut may_read);
            match counted.map_err(|fault| (at, fault))? {
                Some(counted) => records = records.saturating_add(counted),
                None => return Ok(None),
            }
        }
        Ok(Some(records))
    }

    /// Refuses a position that does not exist.
    ///
    /// # Errors
    ///
    /// [`LoadError::InvalidCursor`].
    pub(crate) fn check_position(&self) -> Result<(), LoadError> {
        let invalid = |reason| Err(LoadError::InvalidCursor { reason });
        let files = &self.corpus.files;
        match (&self.reading, self.position) {
            (Reading::Sequential(_), Position::InFile { file_index, mark }) => {
                let index = usize::try_from(file_index).unwrap_or(usize::MAX);
                match files.get(index) {
                    // The end of the corpus is a position, too.
                    None if index == files.len() => Ok(()),
                    None => invalid(format!(
                        "the position is in file {} of a corpus of {}",
                        index.saturating_add(1),
                        files.len()
                    )),
                    Some(file) => match file.size {
                        // Only where offsets are those of the file can this be seen without
                        // reading; other files are found to end too early when they are opened.
                        Some(size) if file.is_plain() && mark.byte_offset > size => {
                            invalid(format!(
                                "the position is at byte {} of `{}`, which has {size}",
                                mark.byte_offset, file.name
                            ))
                        }
                        _ => Ok(()),
                    },
                }
            }
            (Reading::Shuffled(shuffled), Position::InWindow { window, after }) => {
                let n_windows = shuffled.n_windows();
                if window > n_windows || (window == n_windows && after.is_some()) {
                    return invalid(format!(
                        "the position is in window {window} of an order of {n_windows}"
                    ));
                }
                // A window's beginning is where every shard may begin to look for its next one.
                match after.is_some() && !shuffled::is_in_shard(&self.corpus, window) {
                    true => invalid("the position is in another shard".to_owned()),
                    false => Ok(()),
                }
            }
            (Reading::Sequential(_), Position::InWindow { .. }) => invalid(
                "the position is in a shuffled order, and this one is sequential".to_owned(),
            ),
            (Reading::Shuffled(_), Position::InFile { .. }) => invalid(
                "the position is in a sequential order, and this one is shuffled".to_owned(),
            ),
        }
    }
}

impl Corpus {
    /// Returns a fault if a file that was read to its end does not have the size that it was listed
    /// with; `end` is where the records of a part were found to end.
    ///
    /// A file that grew or shrank while it was read has not given the documents that its identity
    /// promises.
    fn check_end(&self, file: usize, part: Extent, end: Mark) -> Option<Fault> {
        let file = &self.files[file];
        // A part that was read to its own end says nothing about the end of the file.
        if part.end != u64::MAX && end.byte_offset >= part.end {
            return None;
        }
        let expected_bytes = file
            .size
            .filter(|size| file.is_plain() && *size != end.byte_offset)?;
        Some(Fault::for_file(crate::bad_record::BadReason::Changed {
            expected_bytes,
            found_bytes: end.byte_offset,
        }))
    }

    /// Returns whether the shard reads all parts, and takes some records of each.
    fn is_dealt(&self) -> bool {
        self.files.first().is_some_and(|file| file.deal.is_some())
    }

    /// Returns whether the shard reads the part, or window, of a number.
    fn shares_parts_with(&self, number: u64) -> bool {
        let shard = self.selection.shard;
        self.is_dealt() || shard.is_none_or(|shard| shard.contains(number))
    }

    /// Returns whether a file is the last of the input that it was found by.
    fn is_last_of_input(&self, file: usize) -> bool {
        let input = |file: &Arc<InputFile>| file.input;
        self.files.get(file + 1).map(input) != self.files.get(file).map(input)
    }

    /// Returns whether records are counted from the beginning of a part of the file, and not from
    /// that of the file.
    fn counts_from_part(&self, file: usize) -> bool {
        !self.files[file].is_numbered()
    }
}
