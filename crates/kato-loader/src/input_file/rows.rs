//! Finds where the rows of a table begin, to cut it into parts.

use super::InputFile;
use crate::bad_record::Fault;
use crate::byte_stream::ByteStream;
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::looks::HEAD_BYTES;
use crate::options::{Compression, CorpusOptions, Format};
use crate::order::Order;
use crate::records::csv::quotes_of;
use crate::records::quotes::Quotes;

impl InputFile {
    /// Returns whether the file is a table that is cut into parts: where its parts are read out of
    /// turn, and reading it once more to find them costs little, or less than to hold it.
    pub(super) fn has_cuttable_rows(&self, selection: &CorpusOptions, size: u64) -> bool {
        let Order::Shuffled { window_bytes, .. } = selection.order else {
            return false;
        };
        let held = match self.is_remote() {
            true => window_bytes,
            false => 0,
        };
        matches!(self.format, Format::Csv | Format::Tsv)
            && size > selection.extent_bytes.max(held)
            && self.is_seekable()
            && self.has_compression(Compression::None)
    }

    /// Cuts a table where rows begin, at the first one behind each multiple of the usual size. What
    /// looks like the end of a row may stand in a quoted field, so the file is read from its top.
    pub(super) fn cut_rows(
        &self,
        selection: &CorpusOptions,
        size: u64,
    ) -> Result<Vec<Extent>, Fault> {
        // What has no header is one part, so that it is told once.
        let top = Extent {
            end: HEAD_BYTES as u64,
            ..Extent::whole(size)
        };
        drop(self.records(selection, top, None)?);
        let mut stream = ByteStream::open(self.open(0, u64::MAX)?, self.how(selection), 0)?;
        let mut rows = Rows::new(self.format, selection, stream.offset());
        while !stream.available().is_empty() || stream.fill()? {
            let available = stream.available();
            available.iter().for_each(|&byte| rows.pass(byte));
            let n_passed = available.len();
            stream.consume(n_passed);
        }
        let starts = self.row_starts.get_or_init(|| rows.starts.into());
        let begins = std::iter::once(0).chain(starts.iter().map(|mark| mark.byte_offset));
        let mut extents: Vec<_> = begins.map(Extent::from_byte).collect();
        for at in 1..extents.len() {
            extents[at - 1].end = extents[at].start;
        }
        for extent in &mut extents {
            extent.text_bytes = extent.end.min(size).saturating_sub(extent.start);
        }
        Ok(extents)
    }

    /// Returns where the rows of a part begin, with their number and line.
    pub(super) fn start_of_rows(&self, extent: Extent) -> Mark {
        let starts = self.row_starts.get().map_or(&[][..], |starts| starts);
        let found = starts.binary_search_by_key(&extent.start, |mark| mark.byte_offset);
        found.map_or_else(|_| Mark::default(), |at| starts[at])
    }
}

/// The rows of a table as they pass by.
struct Rows {
    /// None where fields are not quoted.
    quotes: Option<Quotes>,
    /// Where the next byte stands: behind so many rows, the header not counted, and line breaks.
    at: Mark,
    /// Whether a row has begun and not ended.
    is_in_row: bool,
    has_header: bool,
    step: u64,
    /// Where the next part may begin.
    next: u64,
    /// Where the parts behind the first one begin.
    starts: Vec<Mark>,
}

impl Rows {
    /// Begins at the top of a file, whose first byte of text stands at an offset.
    fn new(format: Format, selection: &CorpusOptions, byte_offset: u64) -> Self {
        let step = selection.extent_bytes;
        Self {
            quotes: quotes_of(format, selection),
            at: Mark {
                byte_offset,
                ..Mark::default()
            },
            is_in_row: false,
            has_header: false,
            step,
            next: step,
            starts: Vec::new(),
        }
    }

    /// Passes one byte, as the reader of rows takes it.
    fn pass(&mut self, byte: u8) {
        let is_break = matches!(byte, b'\n' | b'\r');
        if !is_break && !self.is_in_row {
            self.is_in_row = true;
            if self.has_header && self.at.byte_offset >= self.next {
                self.starts.push(self.at);
                self.next = (self.at.byte_offset / self.step + 1) * self.step;
            }
        }
        // A break within quotes is one of the field.
        let ends_field = self.quotes.as_mut().is_none_or(|quotes| quotes.pass(byte));
        if is_break && ends_field && self.is_in_row {
            self.is_in_row = false;
            self.at.record += u64::from(self.has_header);
            self.has_header = true;
        }
        self.at.line += u64::from(byte == b'\n');
        self.at.byte_offset += 1;
    }
}

#[cfg(test)]
#[cfg(feature = "remote")]
mod tests {
    use std::fmt::Write as _;

    use kato_hub_standin::{HubStandin, PlainFile};

    use crate::{Order, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};

    const ROWS: usize = 1000;

    fn table() -> String {
        let mut table = "n,text\n".to_owned();
        for n in 0..ROWS {
            writeln!(table, "{n},\"row\n{n}\"").unwrap();
        }
        table
    }

    /// Opens a table in blocks of some 1,000 bytes.
    fn open(input: &str, order: Order) -> StreamingDatasetLoaderBuilder {
        let mut builder = StreamingDatasetLoader::builder()
            .with_input(input)
            .with_order(order)
            .with_workers(0);
        builder.selection.extent_bytes = 1000;
        builder
    }

    fn texts(builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
        let documents = builder.build().unwrap();
        documents.map(|document| document.unwrap().text).collect()
    }

    #[test]
    fn a_table_behind_a_network_is_cut_where_a_window_does_not_hold_it() {
        let table = table();
        let folder = tempfile::tempdir().unwrap();
        let local = folder.path().join("table.csv");
        std::fs::write(&local, &table).unwrap();
        let local = local.to_str().unwrap();
        let file = PlainFile::new(table.clone());
        let standin = HubStandin::builder()
            .file("table.csv", file)
            .start()
            .unwrap();
        let remote = standin.file_url("table.csv");
        let order = Order::shuffled(7).with_window_bytes(2000);
        assert_eq!(texts(open(&remote, order)), texts(open(local, order)));
        // A window that holds it costs no request more.
        let n_requests = standin.requests().len();
        let whole = texts(open(&remote, Order::shuffled(7)));
        assert_eq!(whole.len(), ROWS);
        assert!(standin.requests().len() <= n_requests + 2);
    }

    #[test]
    fn a_table_behind_a_network_goes_on_where_it_was_left() {
        let file = PlainFile::new(table());
        let standin = HubStandin::builder()
            .file("table.csv", file)
            .start()
            .unwrap();
        let remote = standin.file_url("table.csv");
        let mut loader = open(&remote, Order::Sequential).build().unwrap();
        let seen: Vec<_> = loader.by_ref().take(900).collect();
        assert_eq!(seen.len(), 900);
        let cursor = loader.cursor();
        let n_requests = standin.requests().len();
        let rest = texts(open(&remote, Order::Sequential).with_cursor(cursor));
        assert_eq!(rest.len(), ROWS - 900);
        assert_eq!(rest[0], "row\n900");
        let requests = standin.requests();
        let ranges = requests[n_requests..]
            .iter()
            .filter_map(|seen| seen.range.as_deref());
        let starts: Vec<_> = ranges
            .filter(|range| !range.starts_with("bytes=0-"))
            .collect();
        assert!(!starts.is_empty(), "{requests:?}");
    }
}
