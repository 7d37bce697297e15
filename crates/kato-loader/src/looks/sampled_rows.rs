//! Tells a table by its first rows, whatever its name and the names of its columns.

use crate::records::quotes::Quotes;

/// Bytes of a file whose rows are looked at, at most.
const SAMPLE_BYTES: usize = 64 << 10;

/// Rows that are looked at, at most.
const SAMPLE_ROWS: usize = 100;

/// Rows that make a table, at least: fewer lines of prose may be alike by chance.
const LEAST_ROWS: usize = 6;

/// Rows that make a table of tabs or of two columns, at least: tabs also align what is no table, for some
/// lines, and one delimiter stands in each of some lines by chance.
const LEAST_ROWS_OF_DOUBT: usize = 20;

/// What may stand between fields, and whether fields may be quoted: the likelier first, where the rows
/// are alike by several. Numbers have commas, too.
const DELIMITERS: [(u8, bool); 5] = [
    (b'\t', false),
    (b'|', false),
    (b'|', true),
    (b';', true),
    (b',', true),
];

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
    /// None where a quote is a character.
    quotes: Option<Quotes>,
    is_table: bool,
    n_rows: usize,
    /// Delimiters of each row so far.
    n_delimiters: usize,
    /// Delimiters of all rows that a blank stands behind, as behind the commas of prose.
    n_apart: usize,
    /// Rows whose first field, and whose last, holds something: of code and of indented text, every line
    /// begins or ends with a delimiter.
    n_first: usize,
    n_last: usize,
    /// Rows whose first field, and whose second, is a number; and those whose is a number or quoted.
    n_numbers: [usize; 2],
    n_values: [usize; 2],
    field: Field,
    /// Fields of the row that are strokes, as all are below the header of a table in Markdown.
    n_rules: usize,
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
    fn new((delimiter, is_quoted): (u8, bool)) -> Self {
        Self {
            delimiter,
            quotes: is_quoted.then(|| Quotes::new(delimiter)),
            is_table: true,
            n_rows: 0,
            n_delimiters: 0,
            n_apart: 0,
            n_first: 0,
            n_last: 0,
            n_numbers: [0; 2],
            n_values: [0; 2],
            field: Field::default(),
            n_rules: 0,
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
            self.n_first += usize::from(self.in_row == 0 && self.before != b'\n');
            self.end_field();
            self.in_row += 1;
        } else if ends_row {
            self.n_last += usize::from(self.before != self.delimiter);
            self.end_field();
            self.end_row();
        } else {
            self.field.pass(byte);
        }
        self.is_table &= !self.quotes.as_ref().is_some_and(Quotes::is_broken);
        // A carriage return is a part of the line break behind it.
        if byte != b'\r' {
            self.before = byte;
        }
    }

    /// Counts the field that ends.
    fn end_field(&mut self) {
        let field = std::mem::take(&mut self.field);
        if let Some(n_numbers) = self.n_numbers.get_mut(self.in_row) {
            *n_numbers += usize::from(field.is_number());
            self.n_values[self.in_row] += usize::from(field.is_number() || field.is_quoted);
        }
        self.n_rules += usize::from(field.is_rule());
    }

    /// Compares the row that ends with the first one.
    fn end_row(&mut self) {
        let is_rule = std::mem::take(&mut self.n_rules) == self.in_row + 1;
        self.is_table &= !(is_rule && self.delimiter == b'|');
        if self.n_rows == 0 {
            self.n_delimiters = self.in_row;
        }
        self.is_table &= self.in_row > 0 && self.in_row == self.n_delimiters;
        self.n_rows += 1;
        self.in_row = 0;
        if self.is_pair() && self.quotes.is_some() {
            // Verse has a comma in each line, too. Of a table one column has numbers or quotes, but for its
            // header.
            let is_value = |n_values: &usize| n_values + 1 >= self.n_rows;
            self.is_table &= self.n_values.iter().any(is_value);
        }
    }

    /// Returns whether more bytes may say something else.
    fn may_change(&self) -> bool {
        self.is_table && self.n_rows < SAMPLE_ROWS
    }

    /// Returns the table that the rows are, if they are one.
    fn table(&self) -> Option<Table> {
        let least = match self.delimiter {
            b'\t' => LEAST_ROWS_OF_DOUBT,
            _ if self.is_pair() => LEAST_ROWS_OF_DOUBT,
            _ => LEAST_ROWS,
        };
        let n_close = (self.n_rows * self.n_delimiters).saturating_sub(self.n_apart);
        let is_close = n_close > self.n_apart;
        let has_ends = match self.delimiter {
            _ if self.is_pair() => self.n_first == self.n_rows && self.n_last * 2 > self.n_rows,
            // Some write a bar behind every field, and none in front of the first one.
            b'|' => self.n_first == self.n_rows,
            _ => self.n_first > 0 && self.n_last > 0,
        };
        let is_found = self.n_rows >= least && is_close && has_ends && !self.is_of_numbers();
        (self.is_table && is_found).then_some(Table {
            delimiter: self.delimiter,
            n_fields: self.n_delimiters + usize::from(self.n_last > 0),
            n_rows: self.n_rows,
        })
    }

    /// Returns whether the rows have two fields.
    fn is_pair(&self) -> bool {
        self.n_delimiters == 1
    }

    /// Returns whether each row may be a number that has a comma in it.
    fn is_of_numbers(&self) -> bool {
        let is_number = |n_numbers: &usize| *n_numbers == self.n_rows;
        self.is_pair() && self.delimiter == b',' && self.n_numbers.iter().all(is_number)
    }
}

/// A field that is under way.
#[derive(Clone, Copy, Default)]
struct Field {
    n_bytes: usize,
    n_digits: usize,
    /// Bytes that stand in numbers beside digits.
    n_signs: usize,
    /// Hyphens, colons and blanks.
    n_strokes: usize,
    is_quoted: bool,
}

impl Field {
    /// Passes one byte.
    fn pass(&mut self, byte: u8) {
        self.is_quoted |= self.n_bytes == 0 && byte == b'"';
        if matches!(byte, b'\r' | b'\n') {
            return;
        }
        self.n_bytes += 1;
        self.n_digits += usize::from(byte.is_ascii_digit());
        self.n_signs += usize::from(matches!(
            byte,
            b'.' | b',' | b'-' | b'+' | b'e' | b'E' | b'%' | b' '
        ));
        self.n_strokes += usize::from(matches!(byte, b'-' | b':' | b' '));
    }

    fn is_number(self) -> bool {
        self.n_digits > 0 && self.n_digits + self.n_signs == self.n_bytes
    }

    fn is_rule(self) -> bool {
        self.n_bytes > 0 && self.n_strokes == self.n_bytes
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
        let bars = |n: usize| format!("{n}|\"a|b, c\n");
        assert_eq!(table(&rows(6, bars)), Some(('|', 3, 6)));
        let quoted = |n: usize| format!("{n}|\"a|b,\nc\"|5\n");
        assert_eq!(table(&rows(6, quoted)), Some(('|', 3, 6)));
        let ended = |n: usize| format!("{n}|-|b|\n");
        assert_eq!(table(&rows(6, ended)), Some(('|', 3, 6)));
        // Rows longer than the sample, but for the first ones.
        let long = |n: usize| format!("{n},{},z\n", "x".repeat(n * n * 100));
        assert_eq!(table(&rows(99, long)).map(|(_, fields, _)| fields), Some(3));
    }

    #[test]
    fn two_columns_are_a_table_where_little_else_looks_so() {
        type Row = fn(usize) -> String;
        let cases: [(Row, char); 7] = [
            (
                |n| format!("{}\tGo on, {n}.\n", ["ham", "spam"][n % 2]),
                '\t',
            ),
            (|n| format!("wavs/{n}.wav|\"It was,\" he said.\n"), '|'),
            (|n| format!("{n},the best of times\n"), ','),
            (|n| format!("\"So, {n}, so\",good\n"), ','),
            (|n| format!("the,\"{n}\"\r\n"), ','),
            (|n| format!("word {n};-{n},25\n"), ';'),
            (|n| format!("{n};{n}\n"), ';'),
        ];
        for (row, delimiter) in cases {
            let text = rows(20, row);
            assert_eq!(table(&text), Some((delimiter, 2, 20)), "{text:.80}");
            assert_eq!(table(&rows(19, row)), None, "{text:.80}");
            let header = format!("a{delimiter}b\n");
            assert_eq!(table(&(header + &text)), Some((delimiter, 2, 21)));
        }
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
            // Tables of Markdown, and of what else draws them.
            rows(50, |n| format!("| a | {n} |\n")),
            rows(50, |n| format!("|a|{n}|\n")),
            rows(50, |n| format!("a {n}|\n")),
            rows(50, |n| format!("a | b | {n}\n")),
            "a|b|c\n:-|---|-:\n".to_owned() + &rows(50, |n| format!("a|b|{n}\n")),
            "a|b\n- | -\n".to_owned() + &rows(50, |n| format!("a|{n}\n")),
            rows(50, |n| format!("cat {n} | wc\n")),
            // Two columns, of which none has numbers, and numbers alone.
            rows(50, |n| format!("Wer reitet so spät,{n} Nacht und Wind\n")),
            rows(50, |n| format!("run {n}();stop();\n")),
            rows(50, |n| format!("{n},25\n")),
            rows(50, |n| format!("{n},the best\n")) + "And so on.\n",
            rows(50, |n| format!("\tindented {n}\n")),
            rows(50, |n| format!("So it was, \t{n}\n\n")),
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
