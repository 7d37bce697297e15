//! The lines of a file of questions.

use std::io::{self, BufRead, BufReader, Read};

/// Most bytes of a line, so that a file without line ends does not fill the memory.
pub(super) const MAX_LINE: usize = 16 << 20;

/// The mark that some editors begin a file with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a file, from the next one on.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    n_read: u64,
}

/// A line that is not blank.
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// `None` where it is longer than [`MAX_LINE`].
    pub(super) json: Option<Vec<u8>>,
}

/// What was read of a file.
enum Found {
    Line(Line),
    Blank,
    End,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
            n_read: 0,
        }
    }

    /// Waits for the next line that is not blank, and reads those behind it that are there already, up to `most`
    /// together. None at the end.
    pub(super) fn next_ready(&mut self, most: usize) -> io::Result<Vec<Line>> {
        let mut lines = Vec::new();
        while lines.is_empty() || lines.len() < most && self.input.buffer().contains(&b'\n') {
            match self.read()? {
                Found::Line(line) => lines.push(line),
                Found::Blank => {}
                Found::End => break,
            }
        }
        Ok(lines)
    }

    fn read(&mut self) -> io::Result<Found> {
        let mut json = Vec::new();
        let mut limited = self.input.by_ref().take(MAX_LINE as u64 + 1);
        if limited.read_until(b'\n', &mut json)? == 0 {
            return Ok(Found::End);
        }
        self.n_read += 1;
        let number = self.n_read;
        if json.len() > MAX_LINE && json.last() != Some(&b'\n') {
            self.input.skip_until(b'\n')?;
            return Ok(Found::Line(Line { number, json: None }));
        }
        if number == 1 && json.starts_with(BYTE_ORDER_MARK) {
            json.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(match json.trim_ascii().is_empty() {
            true => Found::Blank,
            false => Found::Line(Line {
                number,
                json: Some(json),
            }),
        })
    }
}
