//! The occurrences of a knowledge base: kept from its corpus, and opened for questions.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar};
use kato_learner::{TailPolicy, TextDocument};
use kato_loader::Cursor;
use kato_model::PatternName;
use kato_occurrences::{DocumentRef, Documents, Occurrences, Place, Position, Shape, Writer};
use kato_prediction::Cancel;
use kato_runs::manifest::CorpusDigest;
use kato_store::trace::Trace;
use kato_store::{EmbeddedStore, PatternStore};
use serde::Serialize;

use crate::advice::told;
use crate::exit::bail_as;
use crate::knowledge_base::{Access, DirectoryArgs};
use crate::trained_run::TrainedRun;

/// What came of keeping occurrences.
#[derive(Debug, Serialize)]
pub(crate) struct Kept {
    documents: u64,
    tokens: u64,
    bytes: u64,
    seconds: f64,
    was_there: bool,
    missing_lessons: u64,
}

impl Kept {
    /// Describes it.
    pub(crate) fn text(&self) -> String {
        let (documents, tokens) = (HumanCount(self.documents), HumanCount(self.tokens));
        let bytes = HumanBytes(self.bytes);
        let mut text = match self.was_there {
            true => {
                format!("{tokens} tokens of {documents} documents are kept already, in {bytes}\n")
            }
            false => {
                let took = HumanDuration(Duration::from_secs_f64(self.seconds));
                format!("kept {tokens} tokens of {documents} documents in {took}, {bytes}\n")
            }
        };
        if self.missing_lessons > 0 {
            let lessons = HumanCount(self.missing_lessons);
            text += &format!("{lessons} learn calls of these documents were forgotten since\n");
        }
        text
    }
}

/// Keeps the occurrences of a run, from where those that are there end; `inputs` say where its corpus is now,
/// empty where it has not been moved. `tell` is told how far it is.
///
/// # Errors
///
/// When the corpus cannot be read again or is another one, and when they cannot be written. Units that are
/// whole stay, and the next call goes on behind them.
pub(crate) fn keep(
    run: &TrainedRun,
    inputs: &[PathBuf],
    cancel: &Cancel,
    tell: impl Fn(String),
) -> Result<Kept> {
    let start = Instant::now();
    let end = run.checkpoint().cursor.documents();
    let mut writer = Writer::new(run.store().dir(), described(run)?)?;
    let was_there = writer.is_complete();
    let written = if was_there {
        writer.finish(writer_end(run, None))?
    } else {
        let position = writer.position();
        let from = match position.documents {
            0 => None,
            _ => Some(serde_json::from_value::<Cursor>(position.cursor.clone()))
                .transpose()
                .context("read where the occurrences end")?,
        };
        let mut loader = run.learned(inputs, from)?;
        let mut scratch = run.learner().new_scratch();
        let mut before = loader.cursor();
        while let Some(document) = loader.next() {
            let document = document?;
            let id = document.id.to_string();
            // What the learner refuses now it has refused then.
            if let Ok(plan) = run
                .learner()
                .plan(&TextDocument::from(&*document.text), &mut scratch)
            {
                let at = || Position::new(before.documents(), json_of(&before));
                writer.push(document.index, &id, plan, at)?;
            }
            before = loader.cursor();
            if document.index % 1024 == 0 {
                cancel.check()?;
                let (at, of) = (HumanCount(document.index), HumanCount(end));
                tell(format!("keeping the places of document {at} of {of}"));
            }
        }
        tell("sorting the places of the documents".to_owned());
        writer.finish(writer_end(run, Some(&before)))?
    };
    let learned = run.checkpoint().counters.documents;
    if written.documents != learned {
        bail_as!(
            Conflict,
            "the corpus gives {} documents now, and {learned} were learned: give its files as they were to `kato index \
             --occurrences`",
            written.documents
        );
    }
    Ok(Kept {
        documents: written.documents,
        tokens: written.tokens,
        bytes: written.bytes,
        seconds: start.elapsed().as_secs_f64(),
        was_there,
        missing_lessons: missing_lessons(run.store(), &written.calls)?,
    })
}

/// Keeps the occurrences of a knowledge base, with a line on standard error meanwhile.
///
/// # Errors
///
/// As [`keep`]; none where it was cancelled.
pub(crate) fn keep_patiently(kb: &Path, cancel: &Cancel) -> Result<Option<Kept>> {
    let run = TrainedRun::of(EmbeddedStore::open_read_only(kb)?)?;
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(100));
    let kept = keep(&run, &[], cancel, |line| spinner.set_message(line));
    spinner.finish_and_clear();
    match kept {
        Err(_) if cancel.check().is_err() => Ok(None),
        kept => kept.map(Some),
    }
}

/// Returns the position behind the last document of a run.
fn writer_end(run: &TrainedRun, cursor: Option<&Cursor>) -> Position {
    let end = &run.checkpoint().cursor;
    Position::new(end.documents(), json_of(cursor.unwrap_or(end)))
}

fn json_of(cursor: &Cursor) -> serde_json::Value {
    serde_json::to_value(cursor).expect("a position is plain data")
}

/// Describes the documents of a run.
fn described(run: &TrainedRun) -> Result<Documents> {
    let config = run.learner().config();
    if config.nodes.iter().skip(1).any(|node| node.chunk_size == 1) {
        bail_as!(
            Usage,
            "with --levels of 1 above the lowest no place tells a pattern from the one below it: such a knowledge base \
             keeps no occurrences"
        );
    }
    let end = run.checkpoint().cursor.documents();
    let documents = Documents::new(source(run), config.nodes.len(), end);
    Ok(documents.with_promotes(config.tail_policy == TailPolicy::Promote))
}

/// Returns what the occurrences of a run are known by. Its rules never change.
fn source(run: &TrainedRun) -> String {
    CorpusDigest::from_identity(&run.checkpoint().corpus).digest
}

/// Returns how many learn calls of documents a store does not hold.
fn missing_lessons(store: &EmbeddedStore, calls: &[u64]) -> Result<u64> {
    let mut missing = 0;
    for (node_idx, calls) in calls.iter().enumerate() {
        missing += calls.saturating_sub(store.totals(node_idx)?.learns);
    }
    Ok(missing)
}

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
                "the occurrences in {dir} are those of {} documents, and other documents were learned: `kato index --kb {dir} \
                 --occurrences` brings them up to date",
                HumanCount(end)
            );
        }
        Ok(Self { run, occurrences })
    }

    /// Returns the knowledge base.
    pub(crate) fn store(&self) -> &EmbeddedStore {
        self.run.store()
    }

    /// Returns the tokens of a text.
    pub(crate) fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.run.learner().tokenizer().encode(text)?)
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
    pub(crate) fn place(&self, place: Place) -> Result<PlaceView> {
        let pattern = place.call.map(|(token, shape)| self.lesson(token, &shape));
        Ok(PlaceView {
            document: place.document.into(),
            token: place.token,
            pattern: pattern.transpose()?,
        })
    }

    fn lesson(&self, token: u64, shape: &Shape) -> Result<LessonView> {
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

/// The places at which documents taught a pattern.
#[derive(Debug, Serialize)]
pub(crate) struct Lessons {
    count: u64,
    places: Vec<PlaceView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip)]
    after: u64,
    #[serde(skip)]
    frequency: u64,
}

impl Lessons {
    /// Finds who taught a pattern; `None` where the knowledge base keeps no occurrences.
    ///
    /// # Errors
    ///
    /// When the occurrences or the knowledge base cannot be read.
    pub(crate) fn of(
        kb: &DirectoryArgs,
        trace: &Trace,
        after: u64,
        limit: usize,
    ) -> Result<Option<Self>> {
        if !Occurrences::are_kept(&kb.dir) {
            return Ok(None);
        }
        let mut lessons = Self {
            count: 0,
            places: Vec::new(),
            problem: None,
            after,
            frequency: trace.pattern().frequency,
        };
        let asked = match Asked::open(kb) {
            Ok(asked) => asked,
            // The pattern can be shown all the same.
            Err(error) => {
                lessons.problem = Some(told(&error));
                return Ok(Some(lessons));
            }
        };
        // What is not made of tokens no document has taught.
        let shape = Shape::of(trace, asked.store().nodes(), |symbol| asked.token(symbol));
        if let Some(shape) = shape {
            let (count, places) = asked.occurrences.lessons(&shape, after, limit)?;
            lessons.count = count;
            let places = places.into_iter().map(|place| asked.place(place));
            lessons.places = places.collect::<Result<_>>()?;
        }
        Ok(Some(lessons))
    }

    /// Describes them.
    pub(crate) fn text(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("who taught it is not known: {problem}\n\n");
        }
        let mut text = format!("taught {} times\n", HumanCount(self.count));
        if self.count != self.frequency {
            // After a clean-up or an import.
            text += "(not its frequency: patterns were forgotten or added by other means)\n";
        }
        for place in &self.places {
            text += &format!("  {}\n", place.line());
        }
        let listed = self.after.saturating_add(self.places.len() as u64);
        let rest = self.count.saturating_sub(listed);
        if rest > 0 {
            text += &format!("  … and {} more\n", HumanCount(rest));
        }
        text + "\n"
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
            Some(LessonView {
                node,
                name,
                frequency,
                ..
            }) => format!("{place}  in {name:.8} {node} ×{}", HumanCount(*frequency)),
        }
    }
}
