//! Reads a text of vectors: blocks are parsed in parallel and joined in order.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use kato_probe::in_order;

use crate::bad_line::{BadLine, BadLineReason};
use crate::blocks::{Block, BlockError, Blocks};
use crate::cosine::norm;
use crate::element::Number;
use crate::error::EmbeddingsError;
use crate::head::{Head, read_head};
use crate::line::{Line, read_line};
use crate::options::{OnBadLine, Options};
use crate::words::{Inserted, Words};

/// Bad lines that are listed at most; with more, the file is not one of vectors.
const MAX_BAD_LINES: usize = 100_000;

/// Content of a text.
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

/// Reads a text, plain or compressed, from the bytes of its file.
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
    // The limit is checked after a word was kept, which is too late for a limit of none.
    if options.max_words == Some(0) {
        return Ok(join.table);
    }
    let mut skipped = head.n_bytes;
    let mut next = Some(Ok(first));
    let draw = || {
        // The first block was already taken from `blocks` to read the head, which is skipped in
        // that block alone.
        let drawn = next.take().or_else(|| blocks.next().transpose())?;
        Some((drawn, std::mem::take(&mut skipped)))
    };
    let ended = in_order(
        workers,
        draw,
        |(block, skipped)| block.map(|block| parse(&block, skipped, head, options)),
        |parsed| {
            let parsed = parsed.map_err(|error| broken(path, error));
            match parsed.and_then(|parsed| join.add(parsed)) {
                Ok(wanted) => wanted.map_break(Ok),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        },
    );
    match ended {
        // A header counts all words; a text that was left early has to have fewer.
        ControlFlow::Continue(()) => join.compare_with_header()?,
        ControlFlow::Break(ended) => ended?,
    }
    // A growing vector has up to twice the room that it needs.
    join.table.elements.shrink_to_fit();
    Ok(join.table)
}

/// Returns the error for a block that cannot be read.
fn broken(path: &Path, error: BlockError) -> EmbeddingsError {
    match error {
        BlockError::LineTooLong => EmbeddingsError::not_vectors(
            path,
            "a line is longer than 64 MiB; if it is binary, convert it to text",
        ),
        // The library has no kind for it. Nothing is damaged: the window is larger than is allowed.
        BlockError::Corrupt(_, source) if source.to_string().contains("too much memory") => {
            EmbeddingsError::not_vectors(
                path,
                "it needs a window of more than 128 MiB to decompress, which is not supported; compress it again without `--long` and `--ultra`",
            )
        }
        BlockError::Corrupt(byte_offset, source) => EmbeddingsError::Corrupt {
            path: path.to_owned(),
            byte_offset,
            source,
        },
    }
}

/// Content of a block. Numbers of lines count from 0 at its beginning.
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

/// Parses the lines of a block behind the bytes that the head takes.
fn parse<E: Number>(block: &Block<'_>, skipped: usize, head: Head, options: &Options) -> Parsed<E> {
    let dims = head.dims;
    let has_header = head.announced.is_some();
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
        // The last line may lack its break; if it has one, nothing follows it.
        .chain([block.text.len()])
    {
        if start == end {
            break;
        }
        let line = parsed.n_lines;
        let elements = &mut parsed.elements;
        match read_line(&block.text[start..end], dims, has_header, options, elements) {
            Ok(Line::Blank) => parsed.n_blank += 1,
            Ok(Line::LeftOut) => {}
            Ok(Line::Word(word)) => {
                parsed.words.push_str(word);
                parsed.places.push((line, parsed.words.len()));
                let vector = &parsed.elements[parsed.elements.len() - dims..];
                // Computed here, on the worker, as joining is one thread's work.
                parsed.norms.push(norm(vector));
            }
            // Beyond the limit the reading ends in any case, and a block of garbage has millions of
            // lines.
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

/// State of joining the blocks, in order.
struct Join<'a, E> {
    path: &'a Path,
    options: &'a Options,
    head: Head,
    table: Table<E>,
    /// Lines that are neither blank nor of the head.
    n_filled: u64,
}

impl<E: Number> Join<'_, E> {
    /// Adds the next block.
    fn add(&mut self, parsed: Parsed<E>) -> Result<ControlFlow<()>, EmbeddingsError> {
        let lines_before = self.table.lines;
        let mut bad = parsed.bad.into_iter().peekable();
        let mut start = 0;
        // The head has made sure that a vector has at least one number.
        let vectors = parsed.elements.chunks_exact(self.table.dims);
        for ((&(line, end), vector), &norm) in parsed.places.iter().zip(vectors).zip(&parsed.norms)
        {
            // Bad lines are counted before the words behind them, so that the policy acts at the
            // same line however the text is cut into blocks.
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
                        // Blocks are read ahead; what follows this line in them must leave no trace
                        // in the report.
                        self.table.lines = lines_before + line + 1;
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
        }
        for bad_line in bad {
            self.pass_over(lines_before, bad_line)?;
        }
        self.table.lines += parsed.n_lines;
        self.n_filled += parsed.n_lines - parsed.n_blank;
        Ok(ControlFlow::Continue(()))
    }

    /// Handles a bad line of a block, by its number in the file.
    fn pass_over(&mut self, lines_before: u64, bad_line: BadLine) -> Result<(), EmbeddingsError> {
        let line = BadLine {
            line: lines_before + bad_line.line + 1,
            ..bad_line
        };
        self.list(line)
    }

    /// Lists a bad line, or fails if the policy or the limit says so.
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

    /// Handles a header that announces another number of words than there are lines.
    ///
    /// A text that was cut off between two lines shows only here.
    fn compare_with_header(&mut self) -> Result<(), EmbeddingsError> {
        match self.head.announced {
            Some(announced) if announced != self.n_filled => self.list(BadLine {
                line: self.head.n_lines,
                byte_offset: 0,
                reason: BadLineReason::HeaderCount {
                    announced,
                    found: self.n_filled,
                },
            }),
            _ => Ok(()),
        }
    }
}
