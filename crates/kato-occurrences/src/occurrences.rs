//! Asks all units of a knowledge base's occurrences.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use kato_columns::files::{FileError, lock, remove};

use crate::header::{Position, name, read_chain, units_dir};
use crate::spans::{Span, spans};
use crate::unit::{Rows, Unit};
use crate::{DocumentRef, LessonShape, OccurrencesError, Written};

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

/// A place of the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenPlace {
    /// The document.
    pub document: DocumentRef,
    /// The number, from 0, of the first token among the document's learned tokens.
    pub token: u64,
    /// The learn call of the lowest level that holds all of it, and the number of its first token in the
    /// document; `None` where it crosses a border of every level.
    pub call: Option<(u64, LessonShape)>,
}

impl Occurrences {
    /// Returns whether any are there, whole or not.
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
        let (chain, error) = read_chain(&dir);
        if let Some(error) = error {
            return Err(error);
        }
        let open = |header: crate::header::Header| Unit::open(&dir.join(header.name()), header);
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
    /// They are in the order of the corpus in large (units of some million tokens), and within it in that of
    /// what follows them, which costs nothing but what is listed.
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
        let mut skip = after;
        for unit in &self.units {
            if places.len() >= limit {
                break;
            }
            let wanted = (limit - places.len()) as u64;
            let found = unit.read(|| {
                let rows = unit.find(tokens).unwrap_or(Rows { start: 0, end: 0 });
                let start = rows.start.saturating_add(skip).min(rows.end);
                let end = start.saturating_add(wanted).min(rows.end);
                let place = |row| place_at(unit, unit.place(row), tokens.len() as u64, 0);
                let found: Vec<TokenPlace> = (start..end).map(place).collect();
                (found, rows.len())
            })?;
            skip = skip.saturating_sub(found.1);
            places.extend(found.0);
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
        let (mut sum, mut places) = (0u64, Vec::new());
        for unit in &self.units {
            let found = unit.read(|| {
                let rows = unit
                    .find(&shape.tokens)
                    .unwrap_or(Rows { start: 0, end: 0 });
                let (mut n_found, mut found) = (0, Vec::new());
                for place in (rows.start..rows.end).map(|row| unit.place(row)) {
                    if !unit.is_lesson(place, shape) {
                        continue;
                    }
                    if sum + n_found >= after && places.len() + found.len() < limit {
                        let length = shape.tokens.len() as u64;
                        found.push(place_at(unit, place, length, shape.level() + 1));
                    }
                    n_found += 1;
                }
                (n_found, found)
            })?;
            sum += found.0;
            places.extend(found.1);
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
        spans(&self.units, tokens)
    }
}

/// Describes a place of a unit's text, with the learn call around it of a level from the lowest asked for on.
fn place_at(unit: &Unit, place: u64, length: u64, lowest: usize) -> TokenPlace {
    let (idx, start, end) = unit.documents.at(place);
    let call = unit.call_around(lowest, place, place.saturating_add(length), [start, end]);
    TokenPlace {
        document: unit.documents.document(idx),
        token: place.saturating_sub(start),
        call: call.map(|(first, shape)| (first.saturating_sub(start), shape)),
    }
}
