//! Asks all units of a knowledge base's occurrences.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use kato_columns::files::{FileError, lock, remove};

use crate::header::{Header, Position, name, read_chain, units_dir};
use crate::page::Page;
use crate::spans::{Span, spans};
use crate::unit::{Rows, Unit};
use crate::{LessonShape, OccurrencesError, TokenPlace, TracedSpan, Written};

/// Places that are looked up together.
const AT_ONCE: usize = 1 << 10;

/// The occurrences of a knowledge base.
#[derive(Debug)]
pub struct Occurrences {
    pub(crate) units: Vec<Unit>,
}

/// Occurrences that are to be removed, and that nobody writes meanwhile. Dropping it leaves them as they are.
#[derive(Debug)]
pub struct Removal {
    dir: PathBuf,
    /// Where they are now.
    at: PathBuf,
    _lock: File,
}

impl Removal {
    /// Returns their directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Moves them into a directory that goes with this process, as by a [`ScratchDir`]: a crash before their
    /// removal, and behind what they are removed for, then leaves nothing of them.
    ///
    /// [`ScratchDir`]: kato_store::scratch::ScratchDir
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`] when they cannot be moved; they are then where they were.
    pub fn set_aside(&mut self, scratch: impl AsRef<Path>) -> Result<(), OccurrencesError> {
        let at = scratch.as_ref().join("occurrences");
        fs::rename(&self.at, &at).map_err(FileError::io("move", &self.at))?;
        self.at = at;
        Ok(())
    }

    /// Moves them back to where they were.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`] when they cannot be moved.
    pub fn put_back(self) -> Result<(), OccurrencesError> {
        let moved = fs::rename(&self.at, &self.dir);
        Ok(moved.map_err(FileError::io("move", &self.at))?)
    }

    /// Removes them, whole or not.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`] when they cannot be removed.
    pub fn remove(self) -> Result<(), OccurrencesError> {
        // First of all: without the first unit nobody reads the others.
        remove(self.at.join(name(&Position::default())))?;
        Ok(remove(&self.at)?)
    }
}

impl Occurrences {
    /// Returns whether their directory is there, whatever it holds.
    #[must_use]
    pub fn are_kept(kb: impl AsRef<Path>) -> bool {
        let kb = kb.as_ref();
        units_dir(kb).is_dir()
    }

    /// Keeps others from writing those that are there until they are [removed](Removal::remove), as where documents
    /// are taken out of what was learned; `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`] when somebody writes them.
    pub fn removal(kb: impl AsRef<Path>) -> Result<Option<Removal>, OccurrencesError> {
        let dir = units_dir(kb.as_ref());
        if !dir.is_dir() {
            return Ok(None);
        }
        let lock = lock(&dir)?;
        Ok(Some(Removal {
            at: dir.clone(),
            dir,
            _lock: lock,
        }))
    }

    /// Opens what is there; `None` if nothing is.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError`] when it cannot be used.
    pub fn open(kb: impl AsRef<Path>) -> Result<Option<Self>, OccurrencesError> {
        let kb = kb.as_ref();
        let dir = units_dir(kb);
        let (mut chain, error) = read_chain(&dir);
        // Behind them are others where a writer was cut off that began anew, or began to go on.
        let is_like_first = |header: &&Header| {
            (&header.source, header.levels) == (&chain[0].source, chain[0].levels)
        };
        let n_alike = chain.iter().take_while(is_like_first).count();
        if let Some(error) = error.filter(|_| n_alike == chain.len()) {
            return Err(error);
        }
        chain.truncate(n_alike);
        let open = |header: Header| Unit::open(&dir.join(header.name()), header);
        let units: Vec<Unit> = chain.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok((!units.is_empty()).then_some(Self { units }))
    }

    /// Returns the position behind the last document.
    #[must_use]
    pub fn end(&self) -> Option<&Position> {
        self.units.last().map(|unit| &unit.header.to)
    }

    /// Returns what they are of, as their writer was told.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.units.first().map(|unit| &*unit.header.source)
    }

    /// Returns how many documents, tokens and learn calls they hold.
    #[must_use]
    pub fn written(&self) -> Written {
        Written::of(self.units.iter().map(|unit| &unit.header))
    }

    /// Returns how often the documents hold a sequence of tokens, within one document each time; of none, how
    /// many tokens they have.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::Damaged`].
    pub fn count(&self, tokens: &[u32]) -> Result<u64, OccurrencesError> {
        if tokens.is_empty() {
            return Ok(self.written().tokens);
        }
        let mut sum = 0;
        for unit in &self.units {
            sum += unit.read(|| unit.find(tokens))?.map_or(0, Rows::len);
        }
        Ok(sum)
    }

    /// Returns the places that hold a sequence, without the first `after` of them and `limit` at most.
    ///
    /// They are in the order of the corpus in large (parts of whole documents, with some 16 million tokens at
    /// most or one document more, unless their writer was told otherwise), and within it in that of what follows them, which costs nothing but what is listed.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::Damaged`].
    pub fn places(
        &self,
        tokens: &[u32],
        after: u64,
        limit: usize,
    ) -> Result<Vec<TokenPlace>, OccurrencesError> {
        let mut places = Vec::new();
        let mut page = Page::new(after, limit);
        for unit in &self.units {
            if page.is_full() {
                break;
            }
            let (found, next) = unit.read(|| {
                let mut page = page;
                let rows = page.take(unit.find(tokens).unwrap_or_default());
                (list(unit, &[(rows, tokens.len())]), page)
            })?;
            page = next;
            places.extend(found);
        }
        Ok(places)
    }

    /// Returns how often the documents taught a pattern of this shape, and the places, without the first
    /// `after` of them and `limit` at most. The [call](TokenPlace::call) of a place is that of a parent, above the
    /// pattern's own level. All places of its tokens are looked at.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::Damaged`].
    pub fn lessons(
        &self,
        shape: &LessonShape,
        after: u64,
        limit: usize,
    ) -> Result<(u64, Vec<TokenPlace>), OccurrencesError> {
        let (mut sum, mut places) = (0, Vec::new());
        let mut page = Page::new(after, limit);
        let length = shape.tokens.len() as u64;
        for unit in &self.units {
            let (n_found, found, next) = unit.read(|| {
                let mut page = page;
                let rows = unit.find(&shape.tokens).unwrap_or_default();
                let (mut n_found, mut listed) = (0, Vec::new());
                for start in (rows.start..rows.end).step_by(AT_ONCE) {
                    let end = start.saturating_add(AT_ONCE as u64).min(rows.end);
                    let mut found = unit.places(&(start..end).collect::<Vec<u64>>());
                    found.retain(|&place| unit.is_lesson(place, shape));
                    let found_before = n_found;
                    n_found += found.len() as u64;
                    let taken = page.take(Rows {
                        start: found_before,
                        end: n_found,
                    });
                    let taken = (taken.start..taken.end)
                        .map(|number| found[(number - found_before) as usize]);
                    listed.extend(taken.map(|place| (place, length)));
                }
                (n_found, unit.describe(&listed, shape.level() + 1), page)
            })?;
            page = next;
            sum += n_found;
            places.extend(found);
        }
        Ok((sum, places))
    }

    /// Returns the spans of a text that the documents hold and that are part of no longer one, in the order of
    /// the text.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::Damaged`].
    pub fn spans(&self, tokens: &[u32]) -> Result<Vec<Span>, OccurrencesError> {
        let spans = spans(&self.units, tokens)?.into_iter();
        Ok(spans.map(|held| held.span).collect())
    }

    /// Returns the [spans](Self::spans) of a text of at least so many tokens, each with its
    /// [places](Self::places) without the first `after` of them and `limit` at most.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::Damaged`].
    pub fn trace(
        &self,
        tokens: &[u32],
        min_tokens: usize,
        after: u64,
        limit: usize,
    ) -> Result<Vec<TracedSpan>, OccurrencesError> {
        let mut held = spans(&self.units, tokens)?;
        held.retain(|held| held.span.tokens.len() >= min_tokens);
        let mut traced: Vec<TracedSpan> = Vec::with_capacity(held.len());
        let mut pages = vec![Page::new(after, limit); held.len()];
        traced.extend(held.iter().map(|held| TracedSpan {
            span: held.span.clone(),
            places: Vec::new(),
        }));
        for (idx, unit) in self.units.iter().enumerate() {
            let taken = held.iter().zip(&mut pages);
            let taken =
                taken.map(|(held, page)| (page.take(held.rows[idx]), held.span.tokens.len()));
            let taken: Vec<(Rows, usize)> = taken.collect();
            if taken.iter().all(|(rows, _)| rows.len() == 0) {
                continue;
            }
            let mut found = unit.read(|| list(unit, &taken))?.into_iter();
            for (traced, (rows, _)) in traced.iter_mut().zip(&taken) {
                traced
                    .places
                    .extend(found.by_ref().take(rows.len() as usize));
            }
        }
        Ok(traced)
    }
}

/// Describes the places of rows of sequences, each with its length, in their order.
fn list(unit: &Unit, sequences: &[(Rows, usize)]) -> Vec<TokenPlace> {
    let rows = sequences.iter().flat_map(|(rows, _)| rows.start..rows.end);
    let places = unit.places(&rows.collect::<Vec<u64>>());
    let lengths = sequences
        .iter()
        .flat_map(|&(rows, length)| std::iter::repeat_n(length as u64, rows.len() as usize));
    let places: Vec<(u64, u64)> = places.into_iter().zip(lengths).collect();
    unit.describe(&places, 0)
}
