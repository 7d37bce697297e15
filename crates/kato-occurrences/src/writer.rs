//! Writes the occurrences of documents beside the knowledge base that learned them.

use std::fs::File;
use std::path::{Path, PathBuf};

use kato_columns::files::{BUILDING, begin, lock, publish, remove, remove_stale};
use kato_learner::DocumentPlan;

use crate::OccurrencesError;
use crate::header::{HEADER, Header, Position, name, read_chain, units_dir};
use crate::parts::Parts;
use crate::unit::Unit;
use crate::unit_writer::UnitWriter;

/// Places of the text after which a unit ends, by default.
const UNIT: usize = 1 << 24;

/// Most places of a unit of several documents. The bits that are set among its sequence's are counted in 32
/// bits, and a code of so many symbols has fewer than 32 bits each on average.
const MOST: usize = 1 << 27;

/// What the occurrences of a knowledge base are of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Documents {
    /// What the documents and the rules are: occurrences of something else are written anew.
    pub source: String,
    /// What the documents and the rules were when there were fewer documents, which are the first ones now:
    /// occurrences of such are gone on with.
    pub earlier: Vec<String>,
    /// Levels of the hierarchy.
    pub levels: usize,
    /// Whether a single name goes up a level at a document's end
    /// ([`TailPolicy::Promote`](kato_learner::TailPolicy::Promote)).
    pub promotes: bool,
    /// Where the documents that were learned end.
    pub end: u64,
    /// Places of the text of all documents that were learned: their tokens, and one more for each. What no full
    /// unit holds is then written in parts, most of which stay as they are when more is learned; `None` writes it
    /// in one. Of answers the order in which places are listed depends on it, and nothing else.
    pub places: Option<u64>,
    /// Places of the text after which a unit ends; sorting takes some 13 bytes of memory for each. Of answers
    /// the order in which places are listed depends on it, and nothing else.
    pub unit_places: usize,
}

impl Documents {
    /// Creates the description of so many documents that were read, of a hierarchy of so many levels.
    #[must_use]
    pub fn new(source: impl Into<String>, levels: usize, end: u64) -> Self {
        Self {
            source: source.into(),
            levels,
            earlier: Vec::new(),
            promotes: false,
            end,
            places: None,
            unit_places: UNIT,
        }
    }

    /// Sets what the first of the documents, and the rules, were described as when there were fewer.
    #[must_use]
    pub fn with_earlier(self, earlier: Vec<String>) -> Self {
        Self { earlier, ..self }
    }

    /// Sets the places of the text of all documents: their tokens, and one more for each.
    #[must_use]
    pub fn with_places(self, places: u64) -> Self {
        Self {
            places: Some(places),
            ..self
        }
    }

    /// Sets whether a single name goes up a level at a document's end.
    #[must_use]
    pub fn with_promotes(self, promotes: bool) -> Self {
        Self { promotes, ..self }
    }

    /// Sets the places of the text after which a unit ends.
    #[must_use]
    pub fn with_unit_places(self, unit_places: usize) -> Self {
        Self {
            unit_places,
            ..self
        }
    }
}

/// A writer of occurrences.
///
/// Documents come in the order of the corpus, from the [position](Self::position) on. Units become final one
/// by one, so whoever is cut off goes on behind one of them. Dropping it removes the one that is not.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    documents: Documents,
    chain: Vec<Header>,
    from: Position,
    unit: Option<UnitWriter>,
    /// Of what is behind the last full unit.
    parts: Parts,
    _lock: File,
}

impl Writer {
    /// Begins, or goes on behind what is there, whole, and need not be written again.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`] when they cannot be written, or are by somebody else.
    pub fn new(kb: impl AsRef<Path>, documents: Documents) -> Result<Self, OccurrencesError> {
        let kb = kb.as_ref();
        let dir = units_dir(kb);
        let lock = lock(&dir)?;
        // What a process left that was killed, also where there is nothing to write.
        remove(dir.join(BUILDING))?;
        let (mut chain, _) = read_chain(&dir);
        // What is behind a damaged unit is read again, as is what a store that went back has given up.
        let is_whole = |header: &Header| {
            let is_own = (header.levels, header.promotes) == (documents.levels, documents.promotes);
            let is_of_source =
                header.source == documents.source || documents.earlier.contains(&header.source);
            is_own
                && is_of_source
                && header.to.documents <= documents.end
                && Unit::check(&dir, header).is_ok()
        };
        let n_found = chain.len();
        let n_whole = chain.iter().take_while(|header| is_whole(header)).count();
        chain.truncate(n_whole);
        let end = |chain: &[Header]| chain.last().map_or(0, |last| last.to.documents);
        let is_full = |header: &Header| is_full(header.places(), &documents);
        let n_full = chain.iter().rposition(is_full).map_or(0, |last| last + 1);
        let mut parts = Parts::behind(&documents, &chain[..n_full]);
        if end(&chain) < documents.end || n_whole < n_found {
            // Parts that would be others are written again with what follows: units are the same in whatever
            // portions the documents come. Those of other builds that are complete stay as they are.
            let rest = chain[n_full..].iter();
            let n_parts = rest.take_while(|header| parts.take(&dir, header)).count();
            chain.truncate(n_full + n_parts);
        }
        for header in &mut chain {
            if header.source != documents.source {
                header.source.clone_from(&documents.source);
                header.renew(&dir)?;
            }
        }
        let from = chain.last().map(|last| last.to.clone());
        Ok(Self {
            dir,
            documents,
            chain,
            from: from.unwrap_or_default(),
            unit: None,
            parts,
            _lock: lock,
        })
    }

    /// Returns whether all documents are there.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.unit.is_none() && self.from.documents == self.documents.end
    }

    /// Returns the number of documents that are there or were appended.
    #[must_use]
    pub fn documents(&self) -> u64 {
        let whole: u64 = self.chain.iter().map(|header| header.documents).sum();
        whole + self.unit.as_ref().map_or(0, UnitWriter::n_documents)
    }

    /// Returns the position behind the last unit that is final, from which documents are read to go on.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.from
    }

    /// Appends a document with its number, its name and the plan of its learn calls. A unit that was full, or was a
    /// whole part, ends here, at the position in front of the document, which `before` tells.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`].
    pub fn push(
        &mut self,
        number: u64,
        id: &str,
        plan: &DocumentPlan,
        before: impl FnOnce() -> Position,
    ) -> Result<(), OccurrencesError> {
        let len = self.unit.as_ref().map_or(0, UnitWriter::len);
        // One place more for what separates documents, and one for the end.
        let is_beyond = len + plan.tokens().len() + 2 > MOST;
        if is_full(len as u64, &self.documents) || len > 1 && is_beyond {
            self.end_unit(before())?;
            self.parts = Parts::behind(&self.documents, &self.chain);
        } else if self.parts.ends() {
            self.end_unit(before())?;
        }
        let mut unit = match self.unit.take() {
            Some(unit) => unit,
            None => UnitWriter::new(&begin(&self.dir)?, self.documents.levels)?,
        };
        unit.push(number, id, plan)?;
        self.parts.push(plan.tokens().len() as u64 + 1);
        self.unit = Some(unit);
        Ok(())
    }

    /// Ends at the position behind the last document.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`].
    pub fn finish(mut self, end: Position) -> Result<Written, OccurrencesError> {
        if end.documents > self.from.documents {
            if self.unit.is_none() {
                self.unit = Some(UnitWriter::new(&begin(&self.dir)?, self.documents.levels)?);
            }
            self.end_unit(end)?;
        }
        let names: Vec<String> = self.chain.iter().map(Header::name).collect();
        remove_stale(&self.dir, |name| {
            is_unit(name) && !names.iter().any(|kept| kept == name)
        });
        Ok(Written::of(&self.chain))
    }

    /// Removes all that is there, as where the documents turn out to be others than those that were learned.
    ///
    /// # Errors
    ///
    /// [`OccurrencesError::File`].
    pub fn discard(self) -> Result<(), OccurrencesError> {
        // Without the first unit nobody reads the others.
        remove(self.dir.join(name(&Position::default())))?;
        remove_stale(&self.dir, is_unit);
        Ok(())
    }

    fn end_unit(&mut self, to: Position) -> Result<(), OccurrencesError> {
        let Some(unit) = self.unit.take() else {
            return Ok(());
        };
        let documents = &self.documents;
        let from = std::mem::replace(&mut self.from, to.clone());
        let (dir, header) = unit.finish(&documents.source, documents.promotes, [from, to])?;
        publish(&dir, &header.name(), HEADER)?;
        self.chain.push(header);
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Its files are closed first, or Windows keeps them.
        drop(self.unit.take());
        // What cannot be removed is left to the next writer.
        drop(remove(self.dir.join(BUILDING)));
    }
}

/// Returns whether the name of a directory is that of a unit.
fn is_unit(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_full(places: u64, documents: &Documents) -> bool {
    places >= documents.unit_places as u64
}

/// What occurrences are there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Documents that were learned.
    pub documents: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Learn calls of each level.
    pub calls: Vec<u64>,
    /// Bytes on the disk.
    pub bytes: u64,
}

impl Written {
    pub(crate) fn of<'a>(chain: impl IntoIterator<Item = &'a Header>) -> Self {
        let mut written = Self::default();
        for header in chain {
            written.documents += header.documents;
            written.tokens += header.tokens;
            written.bytes += header.bytes();
            written.calls.resize(header.levels, 0);
            for (sum, calls) in written.calls.iter_mut().zip(&header.calls) {
                *sum += calls;
            }
        }
        written
    }
}
