//! Reading a text of vectors: blocks are parsed in parallel and joined in order.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::bad_line::{BadLine, BadReason};
use crate::blocks::{Block, BlockError, Blocks};
use crate::cosine::norm;
use crate::element::Number;
use crate::error::EmbeddingsError;
use crate::head::{Head, read_head};
use crate::line::{Line, read_line};
use crate::options::{OnBadLine, Options};
use crate::ordered::{Next, in_order};
use crate::words::{Inserted, Words};

/// Bad lines that may be passed over.
const MAX_BAD_LINES: usize = 100_000;

/// Everything that a text holds.
#[derive(Debug)]
pub(crate) struct Table<E> {
    pub(crate) dims: usize,
    pub(crate) words: Words,
    pub(crate) elements: Vec<E>,
    pub(crate) norms: Vec<f64>,
    pub(crate) lines: u64,
    pub(crate) duplicates: u64,
    pub(crate) bad_lines: Vec<BadLine>,
}

/// Reads a text, plain or compressed, that lies in `file`.
pub(crate) fn read_text<E: Number>(
    path: &Path,
    file: &[u8],
    options: &Options,
    workers: NonZeroUsize,
) -> Result<Table<E>, EmbeddingsError> {
    let mut blocks = Blocks::of(file).map_err(EmbeddingsError::read(path))?;
    let first = blocks.next().map_err(|error| broken(path, error))?;
    let first = first.ok_or_else(|| EmbeddingsError::not_vectors(path, "it is empty"))?;
    let head = read_head(path, &first.text, options)?;
    let mut join = Join {
        path,
        options,
        head,
        table: Table {
            dims: head.dims,
            words: Words::default(),
            elements: Vec::new(),
            norms: Vec::new(),
            lines: head.n_lines,
            duplicates: 0,
            bad_lines: Vec::new(),
        },
        n_filled: 0,
    };
    if options.max_words == Some(0) {
        return Ok(join.table);
    }
    let mut skipped = head.n_bytes;
    let mut next = Some(Ok(first));
    let draw = || {
        let drawn = next.take().or_else(|| blocks.next().transpose())?;
        Some((drawn, std::mem::take(&mut skipped)))
    };
    let mut is_complete = true;
    in_order(
        workers,
        draw,
        |(block, skipped)| block.map(|block| parse(&block, skipped, head.dims, options)),
        |parsed| {
            let next = join.add(parsed.map_err(|error| broken(path, error))?)?;
            is_complete = matches!(next, Next::Go);
            Ok(next)
        },
    )?;
    if is_complete {
        join.compare_with_header()?;
    }
    join.table.elements.shrink_to_fit();
    Ok(join.table)
}

fn broken(path: &Path, error: BlockError) -> EmbeddingsError {
    match error {
        BlockError::LineTooLong => EmbeddingsError::not_vectors(
            path,
            "a line is longer than 64 MiB; if it is binary, convert it to text",
        ),
        BlockError::Corrupt(byte_offset, source) => EmbeddingsError::Corrupt {
            path: path.to_owned(),
            byte_offset,
            source,
        },
    }
}

/// What a block holds. Numbers of lines count from 0 at its beginning.
struct Parsed<E> {
    n_lines: u64,
    n_blank: u64,
    words: String,
    /// Line of each word, and where it ends in `words`.
    places: Vec<(u64, usize)>,
    elements: Vec<E>,
    norms: Vec<f64>,
    bad: Vec<BadLine>,
}

fn parse<E: Number>(
    block: &Block<'_>,
    skipped: usize,
    dims: usize,
    options: &Options,
) -> Parsed<E> {
    let mut parsed = Parsed {
        n_lines: 0,
        n_blank: 0,
        words: String::new(),
        places: Vec::new(),
        elements: Vec::new(),
        norms: Vec::new(),
        bad: Vec::new(),
    };
    let mut start = skipped;
    for end in memchr::memchr_iter(b'\n', &block.text[skipped..])
        .map(|at| skipped + at + 1)
        .chain([block.text.len()])
    {
        if start == end {
            break;
        }
        let line = parsed.n_lines;
        match read_line(&block.text[start..end], dims, options, &mut parsed.elements) {
            Ok(Line::Blank) => parsed.n_blank += 1,
            Ok(Line::LeftOut) => {}
            Ok(Line::Word(word)) => {
                parsed.words.push_str(word);
                parsed.places.push((line, parsed.words.len()));
                let vector = &parsed.elements[parsed.elements.len() - dims..];
                parsed.norms.push(norm(vector));
            }
            // More would end the reading anyway.
            Err(_) if parsed.bad.len() > MAX_BAD_LINES => {}
            Err(reason) => parsed.bad.push(BadLine {
                line,
                byte_offset: block.offset + start as u64,
                reason,
            }),
        }
        parsed.n_lines += 1;
        start = end;
    }
    parsed
}

/// Joins what the blocks hold.
struct Join<'a, E> {
    path: &'a Path,
    options: &'a Options,
    head: Head,
    table: Table<E>,
    /// Lines that are neither blank nor of the head.
    n_filled: u64,
}

impl<E: Number> Join<'_, E> {
    fn add(&mut self, parsed: Parsed<E>) -> Result<Next, EmbeddingsError> {
        let lines_before = self.table.lines;
        let mut bad = parsed.bad.into_iter().peekable();
        let mut start = 0;
        let vectors = parsed.elements.chunks_exact(self.table.dims);
        for ((&(line, end), vector), &norm) in parsed.places.iter().zip(vectors).zip(&parsed.norms)
        {
            while let Some(bad_line) = bad.next_if(|bad_line| bad_line.line < line) {
                self.pass_over(lines_before, bad_line)?;
            }
            let word = &parsed.words[start..end];
            start = end;
            match self.table.words.insert(word) {
                Inserted::Known => self.table.duplicates += 1,
                Inserted::Full => {
                    return Err(EmbeddingsError::TooLarge {
                        path: self.path.to_owned(),
                    });
                }
                Inserted::New => {
                    self.table.elements.extend_from_slice(vector);
                    self.table.norms.push(norm);
                    if self.options.max_words == Some(self.table.words.len()) {
                        self.table.lines = lines_before + line + 1;
                        return Ok(Next::Stop);
                    }
                }
            }
        }
        for bad_line in bad {
            self.pass_over(lines_before, bad_line)?;
        }
        self.table.lines += parsed.n_lines;
        self.n_filled += parsed.n_lines - parsed.n_blank;
        Ok(Next::Go)
    }

    fn pass_over(&mut self, lines_before: u64, bad_line: BadLine) -> Result<(), EmbeddingsError> {
        let line = BadLine {
            line: lines_before + bad_line.line + 1,
            ..bad_line
        };
        self.list(line)
    }

    fn list(&mut self, line: BadLine) -> Result<(), EmbeddingsError> {
        let path = || self.path.to_owned();
        if self.options.on_bad_line == OnBadLine::Fail {
            return Err(EmbeddingsError::BadLine { path: path(), line });
        }
        if self.table.bad_lines.len() == MAX_BAD_LINES {
            return Err(EmbeddingsError::TooManyBadLines {
                path: path(),
                limit: MAX_BAD_LINES,
                last: line,
            });
        }
        self.table.bad_lines.push(line);
        Ok(())
    }

    /// A text that was cut off between two lines shows only here.
    fn compare_with_header(&mut self) -> Result<(), EmbeddingsError> {
        match self.head.announced {
            Some(announced) if announced != self.n_filled => self.list(BadLine {
                line: self.head.n_lines,
                byte_offset: 0,
                reason: BadReason::HeaderCount {
                    announced,
                    found: self.n_filled,
                },
            }),
            _ => Ok(()),
        }
    }
}
