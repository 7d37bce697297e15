//! Tells a table by its first rows, whatever its name and the names of its columns.

use crate::records::quotes::Quotes;

/// Bytes of a file whose rows are looked at, at most.
const SAMPLE_BYTES: usize = 64 << 10;

/// Rows that are looked at, at most.
const SAMPLE_ROWS: usize = 100;

/// Rows that make a table, at least: fewer lines of prose may be alike by chance.
const LEAST_ROWS: usize = 6;

/// Rows that make a table of tabs, at least: tabs also align what is no table, for some lines.
const LEAST_ROWS_OF_TABS: usize = 20;

/// Delimiters in each row of a table, at least: a line of verse often has one comma.
const LEAST_DELIMITERS: usize = 2;

/// What may stand between fields: the likelier first, where the rows are alike by several. Numbers
/// have commas, too.
const DELIMITERS: [u8; 3] = [b'\t', b';', b','];

/// A table that plain text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) delimiter: u8,
    /// Fields of each row.
    pub(crate) n_fields: usize,
    /// Rows that were looked at.
    pub(crate) n_rows: usize,
}

/// The first rows of a text, which are told from prose by what is alike in all of them.
///
/// The sample ends at a number of rows or bytes and at nothing else, so that it is the same however
/// the bytes arrive. Prose shows in its first lines, so of a stream no more is awaited than these.
pub(crate) struct SampledRows {
    by_delimiter: [Rows; DELIMITERS.len()],
    n_bytes: usize,
}

/// The rows as one delimiter cuts them.
struct Rows {
    delimiter: u8,
    /// None for tabs: a quote is a character there.
    quotes: Option<Quotes>,
    is_table: bool,
    n_rows: usize,
    /// Delimiters of each row so far.
    n_delimiters: usize,
    /// Delimiters of all rows that a blank stands behind, as behind the commas of prose.
    n_apart: usize,
    /// Whether the first field of some row, and the last of some, holds something: of code and of
    /// indented text, every line begins or ends with a delimiter.
    has_first: bool,
    has_last: bool,
    /// Delimiters of the row that is under way, and the byte in front.
    in_row: usize,
    before: u8,
    /// Whether that byte is a delimiter: in quotes it is none.
    is_behind: bool,
}

impl SampledRows {
    /// Creates a sample in front of the first row.
    pub(crate) fn new() -> Self {
        Self {
            by_delimiter: DELIMITERS.map(Rows::new),
            n_bytes: 0,
        }
    }

    /// Follows more bytes; returns whether those behind them matter, too.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> bool {
        let bytes = &bytes[..bytes.len().min(SAMPLE_BYTES - self.n_bytes)];
        self.n_bytes += bytes.len();
        for rows in &mut self.by_delimiter {
            for &byte in bytes {
                if !rows.may_change() {
                    break;
                }
                rows.pass(byte);
            }
        }
        self.n_bytes < SAMPLE_BYTES && self.by_delimiter.iter().any(Rows::may_change)
    }

    /// Ends the last row, behind which nothing is.
    pub(crate) fn end(&mut self) {
        for rows in &mut self.by_delimiter {
            if rows.before != b'\n' {
                rows.pass(b'\n');
            }
            // What is open now nothing closes.
            rows.is_table &= !rows.quotes.as_ref().is_some_and(Quotes::is_open);
        }
    }

    /// Returns the table that the rows are, if they are one.
    pub(crate) fn table(&self) -> Option<Table> {
        self.by_delimiter.iter().find_map(Rows::table)
    }
}

impl Rows {
    /// Creates rows in front of the first one.
    fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            quotes: (delimiter != b'\t').then(|| Quotes::new(delimiter)),
            is_table: true,
            n_rows: 0,
            n_delimiters: 0,
            n_apart: 0,
            has_first: false,
            has_last: false,
            in_row: 0,
            before: b'\n',
            is_behind: false,
        }
    }

    /// Passes one byte.
    fn pass(&mut self, byte: u8) {
        // Behind a delimiter that is not quoted, and behind such a line break, a field begins.
        let begins_field = match &mut self.quotes {
            Some(quotes) => quotes.pass(byte),
            None => byte == self.delimiter || byte == b'\n',
        };
        let ends_row = byte == b'\n' && begins_field;
        self.n_apart += usize::from(self.is_behind && matches!(byte, b' ' | b'\t'));
        self.is_behind = byte == self.delimiter && begins_field;
        if self.is_behind {
            self.has_first |= self.in_row == 0 && self.before != b'\n';
            self.in_row += 1;
        } else if ends_row {
            self.has_last |= self.before != self.delimiter;
            self.end_row();
        }
        self.is_table &= !self.quotes.as_ref().is_some_and(Quotes::is_broken);
        // A carriage return is a part of the line break behind it.
        if byte != b'\r' {
            self.before = byte;
        }
    }

    /// Compares the row that ends with the first one.
    fn end_row(&mut self) {
        if self.n_rows == 0 {
            self.n_delimiters = self.in_row;
        }
        self.is_table &= self.in_row >= LEAST_DELIMITERS && self.in_row == self.n_delimiters;
        self.n_rows += 1;
        self.in_row = 0;
    }

    /// Returns whether more bytes may say something else.
    fn may_change(&self) -> bool {
        self.is_table && self.n_rows < SAMPLE_ROWS
    }

    /// Returns the table that the rows are, if they are one.
    fn table(&self) -> Option<Table> {
        let least = match self.delimiter {
            b'\t' => LEAST_ROWS_OF_TABS,
            _ => LEAST_ROWS,
        };
        let n_close = (self.n_rows * self.n_delimiters).saturating_sub(self.n_apart);
        let is_close = n_close > self.n_apart;
        let has_ends = self.has_first && self.has_last;
        (self.is_table && self.n_rows >= least && is_close && has_ends).then_some(Table {
            delimiter: self.delimiter,
            n_fields: self.n_delimiters + 1,
            n_rows: self.n_rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a text in pieces of a size, as far as it matters.
    fn sampled(text: &str, piece: usize) -> Option<Table> {
        let mut rows = SampledRows::new();
        let is_open = text
            .as_bytes()
            .chunks(piece)
            .all(|bytes| rows.follow(bytes));
        if is_open {
            rows.end();
        }
        rows.table()
    }

    /// Returns delimiter, fields and rows, which no cut of the bytes changes.
    fn table(text: &str) -> Option<(char, usize, usize)> {
        let all = [1, 7, 4096].map(|piece| sampled(text, piece));
        assert!(
            all.iter().all(|table| *table == all[0]),
            "{text:.80}: {all:?}"
        );
        all[0].map(|table| (char::from(table.delimiter), table.n_fields, table.n_rows))
    }

    fn rows(n: usize, row: impl Fn(usize) -> String) -> String {
        (0..n).map(row).collect()
    }

    #[test]
    fn rows_that_are_alike_are_a_table() {
        let plain = |n: usize| format!("{n},yes,good\n");
        assert_eq!(table(&rows(6, plain)), Some((',', 3, 6)));
        assert_eq!(table(rows(6, plain).trim_end()), Some((',', 3, 6)));
        assert_eq!(table(&rows(5, plain)), None);
        assert_eq!(table(&rows(9_999, plain)), Some((',', 3, SAMPLE_ROWS)));
        let quoted = |n: usize| format!("{n},\"a, b\nand \"\"c\"\"\",\r\n");
        assert_eq!(
            table(&format!("id,text,note\r\n{}", rows(8, quoted))),
            Some((',', 3, 9))
        );
        let wordy = |n: usize| format!("{n},\"a, b, c, d, e, f\",5\n");
        assert_eq!(table(&rows(6, wordy)), Some((',', 3, 6)));
        let german = |n: usize| format!("{n},5;{n},25;{n},75\n");
        assert_eq!(table(&rows(7, german)), Some((';', 3, 7)));
        let tabs = |n: usize| format!("{n}\t\"a\tb\n");
        assert_eq!(table(&rows(20, tabs)), Some(('\t', 3, 20)));
        assert_eq!(table(&rows(19, tabs)), None);
        // Rows longer than the sample, but for the first ones.
        let long = |n: usize| format!("{n},{},z\n", "x".repeat(n * n * n * 100));
        assert_eq!(table(&rows(99, long)).map(|(_, fields, _)| fields), Some(3));
    }

    #[test]
    fn prose_is_none_however_many_commas_it_has() {
        let cases = [
            rows(50, |n| format!("Red, green, and {n} blue.\n")),
            rows(50, |n| format!("one,two,three{}\n", ",four".repeat(n / 40))),
            // Verse, with a comma in each line and no blank behind it.
            rows(50, |n| format!("Ach,es war {n}\n")),
            rows(50, |n| format!("\"No,\" she said,\"{n},\"\n")),
            rows(50, |n| format!("one,two,{n}\n\n")),
            rows(50, |n| format!("    0x{n},0x10,0x20,\n")),
            rows(50, |n| format!("\t\tindented {n}\n")),
            rows(50, |n| format!("|name{n}|\t\t\tis aligned\n")),
            rows(50, |n| format!("if {n};then;\n")),
            rows(50, |n| format!("a,b,{n}\n")) + "And so on.\n" + &rows(50, |_| "a,b,c\n".into()),
            // Cut off within a quoted field.
            rows(7, |n| format!("a,b,{n}\n")) + "a,b,\"c\nd\n",
            String::new(),
            "\n".repeat(50),
        ];
        for text in cases {
            assert_eq!(table(&text), None, "{text:.80}");
        }
    }
}
