//! The occurrences of a knowledge base: kept from its corpus, and opened for questions.

mod keeping;
mod lessons;

use anyhow::Result;
use indicatif::HumanCount;
use kato_model::PatternName;
use kato_occurrences::{DocumentRef, LessonShape, Occurrences, TokenPlace};
use kato_store::{EmbeddedStore, PatternStore};
use serde::Serialize;

use self::keeping::source;
pub(crate) use self::keeping::{Kept, keep, keep_patiently};
pub(crate) use self::lessons::Lessons;
use crate::exit::bail_as;
use crate::knowledge_base::{Access, DirectoryArgs};
use crate::numbers::counted;
use crate::trained_run::TrainedRun;

/// A knowledge base with its occurrences, ready to be asked.
#[derive(Debug)]
pub(crate) struct Asked {
    run: TrainedRun,
    pub(crate) occurrences: Occurrences,
}

impl Asked {
    /// Opens the occurrences of a knowledge base.
    ///
    /// # Errors
    ///
    /// When there are none, or they are not those of all that was learned; and as [`TrainedRun::open`].
    pub(crate) fn open(kb: &DirectoryArgs) -> Result<Self> {
        let run = TrainedRun::of(kb.open(Access::Read)?)?;
        let dir = kb.dir.display();
        let Some(occurrences) = Occurrences::open(&kb.dir)? else {
            bail_as!(
                Other,
                "{dir} keeps no occurrences: `kato index --kb {dir} --occurrences` keeps them, and so does `kato train \
                 --occurrences`"
            );
        };
        let end = occurrences.end().map_or(0, |end| end.documents);
        let learned = run.checkpoint().cursor.documents();
        if end != learned || occurrences.source() != Some(&*source(&run)) {
            bail_as!(
                Conflict,
                "the occurrences in {dir} are those of {}, and others were learned: `kato index --kb {dir} \
                 --occurrences` brings them up to date",
                counted(end, "document")
            );
        }
        Ok(Self { run, occurrences })
    }

    /// Returns the knowledge base.
    pub(crate) fn store(&self) -> &EmbeddedStore {
        self.run.store()
    }

    /// Returns the tokens of a text.
    ///
    /// # Errors
    ///
    /// When it cannot be tokenized, or is empty: that lies everywhere, and nowhere.
    pub(crate) fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let tokens = self.run.learner().tokenizer().encode(text)?;
        if tokens.is_empty() {
            bail_as!(Usage, "the text is empty: say what is looked for");
        }
        Ok(tokens)
    }

    /// Returns whether documents hold one of these tokens.
    ///
    /// # Errors
    ///
    /// When the occurrences are damaged.
    pub(crate) fn holds_any(&self, tokens: &[u32]) -> Result<bool> {
        for token in tokens {
            if self.occurrences.count(std::slice::from_ref(token))? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the text of tokens.
    pub(crate) fn text(&self, tokens: &[u32]) -> String {
        self.run.learner().tokenizer().decode(tokens)
    }

    /// Returns the token of a symbol.
    pub(crate) fn token(&self, symbol: &str) -> Option<u32> {
        self.run.learner().tokenizer().vocabulary().id(symbol)
    }

    /// Describes a place, with the pattern that was learned around it.
    pub(crate) fn place(&self, place: TokenPlace) -> Result<PlaceView> {
        let pattern = place.call.map(|(token, shape)| self.lesson(token, &shape));
        Ok(PlaceView {
            document: place.document.into(),
            token: place.token,
            pattern: pattern.transpose()?,
        })
    }

    fn lesson(&self, token: u64, shape: &LessonShape) -> Result<LessonView> {
        let vocabulary = self.run.learner().tokenizer().vocabulary();
        let name = shape.name(|token| vocabulary.get(token).unwrap_or_default());
        let pattern = self.store().pattern(shape.level(), &name)?;
        Ok(LessonView {
            node: self.store().nodes()[shape.level()].clone(),
            name,
            frequency: pattern.map_or(0, |pattern| pattern.frequency),
            token,
        })
    }
}

/// A place of the documents.
#[derive(Debug, Serialize)]
pub(crate) struct PlaceView {
    document: DocumentView,
    token: u64,
    pattern: Option<LessonView>,
}

/// A document.
#[derive(Debug, Serialize)]
struct DocumentView {
    number: u64,
    id: String,
}

impl From<DocumentRef> for DocumentView {
    fn from(document: DocumentRef) -> Self {
        let DocumentRef { number, id, .. } = document;
        Self { number, id }
    }
}

/// The pattern that was learned around a place.
#[derive(Debug, Serialize)]
struct LessonView {
    node: String,
    name: PatternName,
    frequency: u64,
    token: u64,
}

impl PlaceView {
    /// Describes it in a line.
    pub(crate) fn line(&self) -> String {
        let place = format!("{} token {}", self.document.id, self.token);
        match &self.pattern {
            None => format!("{place}  across the borders of all patterns"),
            // Forgotten since, as by a clean-up or a purge.
            Some(LessonView {
                node,
                name,
                frequency: 0,
                ..
            }) => format!("{place}  in {name:.8}, which {node} holds no more"),
            Some(LessonView {
                node,
                name,
                frequency,
                ..
            }) => format!("{place}  in {name:.8} {node} ×{}", HumanCount(*frequency)),
        }
    }
}
