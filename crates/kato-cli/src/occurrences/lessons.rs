//! The places at which documents taught a pattern.

use anyhow::Result;
use indicatif::HumanCount;
use kato_model::Symbol;
use kato_occurrences::{LessonShape, Occurrences};
use kato_store::PatternStore;
use kato_store::trace::Trace;
use serde::Serialize;

use super::{Asked, PlaceView};
use crate::advice::told;
use crate::knowledge_base::DirectoryArgs;
use crate::numbers::counted;

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
    /// When the knowledge base cannot be read. Why its occurrences cannot is told with the pattern.
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
        // As behind a purge: without its whole text nobody can look for it.
        let is_unknown = |symbol: &&Symbol| matches!(symbol, Symbol::Name(_));
        if let Some(unknown) = trace.leaves().find(is_unknown) {
            lessons.problem = Some(format!(
                "no node below holds {unknown}, of which it is made"
            ));
            return Ok(Some(lessons));
        }
        // What is not made of tokens no document has taught.
        let shape = LessonShape::of(trace, asked.store().nodes(), |symbol| asked.token(symbol));
        if let Some(shape) = shape {
            match asked.occurrences.lessons(&shape, after, limit) {
                Ok((count, places)) => {
                    lessons.count = count;
                    let places = places.into_iter().map(|place| asked.place(place));
                    lessons.places = places.collect::<Result<_>>()?;
                }
                Err(error) => lessons.problem = Some(told(&error.into())),
            }
        }
        Ok(Some(lessons))
    }

    /// Describes them.
    pub(crate) fn text(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("who taught it is not known: {problem}\n\n");
        }
        let mut text = format!("taught {}\n", counted(self.count, "time"));
        if self.count != self.frequency {
            // As after a clean-up or an import.
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
