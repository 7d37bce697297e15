//! Sequential order: file by file, part by part.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::decoded::DecodedReader;
use super::{Corpus, Draw, ReadOptions, RecordLocation};
use crate::bad_record::{BadReason, Fault, SkippedExtent};
use crate::cursor::{Mark, Position};
use crate::document::Place;
use crate::extent::Extent;
use crate::records::{RecordReader, Sink, Step};
use crate::workers::{ChunkStream, Workers};

/// Reads the files of a corpus one after the other, decoding parts ahead where there are threads.
pub(super) struct Sequential {
    current: Option<OpenPart>,
    /// Parts that are being decoded ahead, in order.
    planned: VecDeque<PrefetchedPart>,
    /// The part behind the last one planned.
    plan_at: PartId,
    /// The parts of the files from the current one to the last one planned: every part is opened
    /// and planned by them, in turns.
    cuts: BTreeMap<usize, Arc<[Extent]>>,
    /// A file whose parts could not be determined; the fault is met again, and reported, when the
    /// file's turn comes.
    unplanned: Option<usize>,
    /// Whether the position is the end of a part, and so lies in front of every record that begins
    /// in the next one.
    is_between: bool,
    /// Whether the input that the current file belongs to has shown some text, or may have: what lies
    /// in front of where reading began is not known.
    has_records: bool,
    /// Where accepting what was drawn moves the position.
    next: PendingMove,
    /// Bytes on disk of the files in front of the current one.
    bytes_behind: u64,
}

/// A part of a file, by the numbers of both. Ordered as the parts are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct PartId {
    file: usize,
    part: usize,
}

/// A part that is being decoded ahead.
struct PrefetchedPart {
    id: PartId,
    records: ChunkStream,
}

/// The file being read.
struct OpenPart {
    parts: Arc<[Extent]>,
    part: usize,
    reader: Box<dyn RecordReader>,
    /// What lies in front of the part, where the part's records are counted from its beginning.
    base: Mark,
}

/// Where the position goes once what was drawn is accepted.
#[derive(Clone, Copy)]
enum PendingMove {
    Stay,
    Mark(Mark),
    File,
}

impl Sequential {
    /// Creates a reader that begins at a position.
    pub(super) fn new(corpus: &Corpus, position: Position) -> Self {
        let done = match position {
            Position::InFile { file_index, .. } => {
                usize::try_from(file_index).unwrap_or(usize::MAX)
            }
            Position::InWindow { .. } => 0,
        };
        let behind = corpus.files.iter().take(done);
        // Of an input that was read in part nobody knows any more whether it has shown text.
        let begins_input = match position {
            Position::InFile { mark, .. } => {
                let is_new_input = done == 0 || corpus.is_last_of_input(done - 1);
                // A file of nothing has a record of nothing.
                let is_numbered = corpus.files.get(done).is_some_and(|it| it.is_numbered());
                is_new_input && mark.byte_offset == 0 && (mark.record == 0 || !is_numbered)
            }
            Position::InWindow { .. } => false,
        };
        Self {
            current: None,
            planned: VecDeque::new(),
            plan_at: PartId::default(),
            cuts: BTreeMap::new(),
            unplanned: None,
            is_between: false,
            has_records: !begins_input,
            next: PendingMove::Stay,
            bytes_behind: behind.filter_map(|file| file.size).sum(),
        }
    }

    /// Reads the record behind the position; [`accept`](Self::accept) then moves the position
    /// behind it.
    pub(super) fn draw(
        &mut self,
        corpus: &Corpus,
        position: &mut Position,
        mut workers: Option<&mut Workers>,
        options: ReadOptions,
        sink: &mut Sink<'_>,
    ) -> Draw {
        loop {
            let Some((file, mark)) = in_file(corpus, *position) else {
                return Draw::End;
            };
            if self.current.is_none() {
                let workers = workers.as_deref_mut();
                let opened = self.open_or_pass(corpus, file, mark, position, workers, options);
                if let Err(fault) = opened {
                    return self.bad(file, fault, PendingMove::File);
                }
            }
            let Some(current) = &mut self.current else {
                continue;
            };
            let (text_start, id_start) = (sink.text.len(), sink.id.len());
            let step = current.reader.read(sink);
            let read_to = current.absolute(current.reader.mark());
            self.has_records |= has_text(&step, &sink.text[text_start..]);
            if matches!(step, Step::Bad(_) | Step::Broken(_)) {
                // It may have been appended in part.
                sink.text.truncate(text_start);
                sink.id.truncate(id_start);
            }
            match step {
                Step::Record => {
                    self.next = PendingMove::Mark(read_to);
                    let place = current.place(corpus, file, read_to);
                    return Draw::Record(RecordLocation {
                        file,
                        mark: read_to,
                        place,
                    });
                }
                Step::Bad(mut fault) => {
                    current.number(corpus, file, &mut fault);
                    if options.skips_files {
                        fault.lost = SkippedExtent::RestOfFile;
                        return self.bad(file, fault, PendingMove::File);
                    }
                    return self.bad(file, fault, PendingMove::Mark(read_to));
                }
                Step::Broken(mut fault) => {
                    current.number(corpus, file, &mut fault);
                    return self.bad(file, fault, PendingMove::File);
                }
                Step::End => {
                    if let Err(fault) = self.end_part(corpus, file, read_to, position) {
                        return self.bad(file, fault, PendingMove::File);
                    }
                }
            }
        }
    }

    /// Closes a part that was read and moves the position behind it; an error where its file ends
    /// otherwise than it should.
    fn end_part(
        &mut self,
        corpus: &Corpus,
        file: usize,
        read_to: Mark,
        position: &mut Position,
    ) -> Result<(), Fault> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let part = current.parts[current.part];
        self.is_between = true;
        // A part of lines ends with the line that reaches its end, so a reader that stopped before
        // it has met the end of the file.
        let is_short = part.end == u64::MAX || read_to.byte_offset < part.end;
        if corpus.files[file].is_numbered() {
            // Its ends are records. Whether the file has changed was checked when it was opened.
            *position = at(
                file,
                Mark {
                    record: part.end,
                    ..read_to
                },
            );
        } else if is_short {
            let fault = corpus.check_end(file, part, read_to);
            let fault = fault.or_else(|| self.nothing_in_input(corpus, file));
            fault.map_or(Ok(()), Err)?;
            self.next_file(corpus, position);
        } else {
            // The last line may reach beyond the part's end: reading goes on behind the line.
            *position = at(file, read_to);
        }
        Ok(())
    }

    /// Moves the position behind what was drawn last.
    pub(super) fn accept(&mut self, corpus: &Corpus, position: &mut Position) {
        match std::mem::replace(&mut self.next, PendingMove::Stay) {
            PendingMove::Stay => {}
            PendingMove::Mark(mark) => {
                if let Position::InFile { mark: current, .. } = position {
                    *current = mark;
                }
            }
            PendingMove::File => self.next_file(corpus, position),
        }
    }

    /// Moves the position over at most `records` records that are found by number, as those of Parquet
    /// files, without decoding them;
    /// returns how many.
    ///
    /// Stops at the first file of another format, whose records cannot be counted without reading
    /// them.
    pub(super) fn skip_records(
        &mut self,
        corpus: &Corpus,
        position: &mut Position,
        records: u64,
    ) -> Result<u64, (usize, Fault)> {
        let mut passed = 0;
        // In a shard, rows that belong to others lie between those that count; and with a part
        // open, its reader would stay behind the position.
        while let Some((file, mark)) = in_file(corpus, *position)
            && corpus.files[file].is_numbered()
            && corpus.selection.shard.is_none()
            && self.current.is_none()
            && passed < records
        {
            let n_rows = corpus.files[file].n_records(&corpus.selection);
            let n_rows = n_rows.map_err(|fault| (file, fault))?;
            let step = n_rows.saturating_sub(mark.record).min(records - passed);
            passed += step;
            self.has_records |= step > 0;
            *position = at(
                file,
                Mark {
                    record: mark.record + step,
                    ..mark
                },
            );
            if mark.record + step >= n_rows {
                self.next_file(corpus, position);
            }
        }
        Ok(passed)
    }

    /// Returns how many bytes on disk lie behind the position, roughly.
    pub(super) fn bytes_read(&self) -> u64 {
        let read = self
            .current
            .as_ref()
            .map_or(0, |current| current.reader.raw_bytes());
        self.bytes_behind + read
    }

    /// Opens the part of the file in which the position lies, or moves the position to the next file
    /// where there is none.
    fn open_or_pass(
        &mut self,
        corpus: &Corpus,
        file: usize,
        mark: Mark,
        position: &mut Position,
        workers: Option<&mut Workers>,
        options: ReadOptions,
    ) -> Result<(), Fault> {
        if self.open(corpus, file, mark, workers, options)? {
            return Ok(());
        }
        match self.nothing_in_input(corpus, file) {
            Some(fault) => Err(fault),
            None => {
                self.next_file(corpus, position);
                Ok(())
            }
        }
    }

    /// Opens the part of the file in which the position lies; returns false when there is none.
    fn open(
        &mut self,
        corpus: &Corpus,
        file: usize,
        mark: Mark,
        workers: Option<&mut Workers>,
        options: ReadOptions,
    ) -> Result<bool, Fault> {
        let is_between = std::mem::take(&mut self.is_between);
        let is_parallel = workers.is_some();
        let parts = self.parts_of(corpus, file, is_parallel)?;
        let reached = match corpus.files[file].is_numbered() {
            true => mark.record,
            false => mark.byte_offset,
        };
        // The end alone decides: a long line may have reached over several parts, which then hold
        // no record.
        let is_next = |(part, extent): &(usize, &Extent)| {
            extent.end > reached && is_in_shard(corpus, file, *part)
        };
        let Some((part, extent)) = parts.iter().enumerate().find(is_next) else {
            return Ok(false);
        };
        let extent = *extent;
        // Inside a part, the position says where a record begins and how many came before it. Where
        // the part before ended, a record may have reached into this one: its reader skips that
        // remainder itself, because it may have been decoded ahead.
        let is_inside = reached > extent.start && !is_between;
        let from = is_inside.then_some(mark);
        // A reader that starts at a mark counts on from it. One that starts at the beginning of a
        // part counts from 0, and `base` adds what came before. Rows of Parquet have the numbers
        // that they have in the file.
        let base = match from.is_none() && corpus.counts_from_part(file) {
            true => mark,
            false => Mark::default(),
        };
        let id = PartId { file, part };
        let reader: Box<dyn RecordReader> = match workers {
            None => corpus.files[file].records(&corpus.selection, extent, from)?,
            Some(workers) => {
                let records = self.decoded(corpus, id, extent, from, workers);
                self.plan(corpus, workers, options);
                Box::new(DecodedReader::new(records))
            }
        };
        self.current = Some(OpenPart {
            parts,
            part,
            reader,
            base,
        });
        Ok(true)
    }

    /// Returns the records of a part, which may have been decoded ahead.
    fn decoded(
        &mut self,
        corpus: &Corpus,
        id: PartId,
        extent: Extent,
        from: Option<Mark>,
        workers: &mut Workers,
    ) -> ChunkStream {
        // Parts in front of this one were passed over, as when a bad record costs the rest of its
        // file. Dropping them cancels their decoding.
        while self.planned.front().is_some_and(|planned| planned.id < id) {
            self.planned.pop_front();
        }
        let is_planned = self.planned.front().is_some_and(|planned| planned.id == id);
        // What was decoded ahead begins with the part's first record, which does not serve a
        // position inside the part.
        let planned = self.planned.pop_front();
        if let Some(planned) = planned.filter(|_| is_planned && from.is_none()) {
            return planned.records;
        }
        self.planned.clear();
        self.plan_at = PartId {
            part: id.part + 1,
            ..id
        };
        decode(corpus, id.file, extent, from, workers)
    }

    /// Starts decoding parts behind the current one, as many as the threads may have waiting.
    fn plan(&mut self, corpus: &Corpus, workers: &mut Workers, options: ReadOptions) {
        let wanted = workers.number().saturating_mul(options.prefetch);
        while self.planned.len() < wanted && self.plan_at.file < corpus.files.len() {
            let PartId { file, part } = self.plan_at;
            // Not tried again on every call: the fault is reported when the file's turn comes.
            if self.unplanned == Some(file) {
                return;
            }
            let Ok(parts) = self.parts_of(corpus, file, true) else {
                self.unplanned = Some(file);
                return;
            };
            match parts.get(part) {
                None => {
                    self.plan_at = PartId {
                        file: file + 1,
                        part: 0,
                    }
                }
                Some(extent) => {
                    if is_in_shard(corpus, file, part) {
                        let records = decode(corpus, file, *extent, None, workers);
                        self.planned.push_back(PrefetchedPart {
                            id: self.plan_at,
                            records,
                        });
                    }
                    self.plan_at.part += 1;
                }
            }
        }
    }

    /// Returns the parts of a file, which are kept until the file was read.
    fn parts_of(
        &mut self,
        corpus: &Corpus,
        file: usize,
        is_parallel: bool,
    ) -> Result<Arc<[Extent]>, Fault> {
        if let Some(parts) = self.cuts.get(&file) {
            return Ok(Arc::clone(parts));
        }
        // One thread that reads everything needs no cuts; the records are the same either way.
        let cut_lines = is_parallel || corpus.selection.shard.is_some();
        let parts = corpus.files[file].cut(&corpus.selection, cut_lines)?;
        let parts: Arc<[Extent]> = parts.into();
        self.cuts.insert(file, Arc::clone(&parts));
        Ok(parts)
    }

    /// Returns a fault if a file is the last of an input that has shown no text.
    fn nothing_in_input(&self, corpus: &Corpus, file: usize) -> Option<Fault> {
        // A shard may have none of an input.
        let is_missing = !self.has_records
            && !corpus.selection.allows_empty
            && corpus.selection.shard.is_none()
            && corpus.is_last_of_input(file);
        is_missing.then(|| Fault::for_file(BadReason::NoText))
    }

    /// Returns a fault, and remembers where accepting it goes.
    fn bad(&mut self, file: usize, fault: Fault, next: PendingMove) -> Draw {
        // The position stays until the fault is accepted: where it becomes an error, the cursor
        // lies in front of it, and the run can be resumed there under another policy.
        self.next = next;
        Draw::Bad { file, fault }
    }

    /// Moves the position to the beginning of the next file.
    fn next_file(&mut self, corpus: &Corpus, position: &mut Position) {
        let read = self
            .current
            .take()
            .map_or(0, |current| current.reader.raw_bytes());
        self.is_between = false;
        if let Some((file, _)) = in_file(corpus, *position) {
            corpus.files[file].forget_parquet();
            self.cuts = self.cuts.split_off(&(file + 1));
            self.bytes_behind += corpus.files[file].size.unwrap_or(read);
            self.has_records &= !corpus.is_last_of_input(file);
            *position = at(file + 1, Mark::default());
        }
    }
}

impl OpenPart {
    /// Returns a mark of the reader as a mark in the file.
    fn absolute(&self, mark: Mark) -> Mark {
        Mark {
            record: self.base.record + mark.record,
            line: self.base.line + mark.line,
            byte_offset: mark.byte_offset,
        }
    }

    /// Returns the place of the record that was read up to a mark of the file.
    fn place(&self, corpus: &Corpus, file: usize, read_to: Mark) -> Place {
        // In a shard, the lines of other shards' parts are not counted.
        match is_numbered(corpus, file) {
            true => Place::Record(read_to.record),
            false => Place::Byte(self.reader.begins_at()),
        }
    }

    /// Gives a fault the numbers that it has in the file, or none where they are not known.
    fn number(&self, corpus: &Corpus, file: usize, fault: &mut Fault) {
        let is_numbered = is_numbered(corpus, file);
        let shift = |number: Option<u64>, base: u64| {
            number.filter(|_| is_numbered).map(|number| number + base)
        };
        fault.record = shift(fault.record, self.base.record);
        fault.line = shift(fault.line, self.base.line);
    }
}

/// Returns file and mark of a position, or `None` at the end of the corpus.
fn in_file(corpus: &Corpus, position: Position) -> Option<(usize, Mark)> {
    match position {
        Position::InFile { file_index, mark } => {
            let file = usize::try_from(file_index).ok()?;
            (file < corpus.files.len()).then_some((file, mark))
        }
        Position::InWindow { .. } => None,
    }
}

/// Returns the position at a mark of a file.
fn at(file: usize, mark: Mark) -> Position {
    Position::InFile {
        file_index: file as u64,
        mark,
    }
}

/// Returns whether a step, and the text that it has read, show that there is some.
fn has_text(step: &Step, text: &str) -> bool {
    match step {
        Step::Record => !text.trim_start().is_empty(),
        // What is bad is there, too.
        Step::Bad(_) | Step::Broken(_) => true,
        Step::End => false,
    }
}

/// Returns whether a part belongs to the shard.
fn is_in_shard(corpus: &Corpus, file: usize, part: usize) -> bool {
    // The file's number is added, so that files of one part each are spread over the shards too.
    corpus.shares_parts_with(file as u64 + part as u64)
}

/// Returns whether it is known how many records of the file come before a given one.
fn is_numbered(corpus: &Corpus, file: usize) -> bool {
    corpus.selection.shard.is_none() || !corpus.files[file].has_cuttable_lines(&corpus.selection)
}

/// Starts decoding a part of a file on another thread.
fn decode(
    corpus: &Corpus,
    file: usize,
    extent: Extent,
    from: Option<Mark>,
    workers: &mut Workers,
) -> ChunkStream {
    let (file, selection) = (
        Arc::clone(&corpus.files[file]),
        Arc::clone(&corpus.selection),
    );
    workers.decode(move || file.records(&selection, extent, from))
}
