//! The command `kato trace`: which documents a text comes from.
//!
//! ```text
//! kato trace "To be, or not to be" --kb my-kb
//! kato trace " not to be" --kb my-kb --limit 20 --after 20 --json
//! ```

use anyhow::Result;
use indicatif::HumanCount;
use kato_occurrences::TracedSpan;
use serde::Serialize;

use crate::inspect::layout::{heading, quoted};
use crate::inspect::{View, show};
use crate::knowledge_base::DirectoryArgs;
use crate::occurrences::{Asked, PlaceView};

/// Says which documents a text comes from: its longest spans that the learned documents hold, how often each
/// is there, and the document, token and pattern of its places.
///
/// A span is a longest one if the documents hold it, and hold it nowhere with one token more of the text on
/// either side. Counts are exact, and the places of a span are as many. A place names the pattern of the
/// lowest level that was learned around it, with its frequency. More places of a span: give it as TEXT, with
/// --limit and --after. They come in a fixed order: that of the corpus by large parts, within a part by what
/// follows them. `kato inspect --pattern` has all lessons of a pattern.
///
/// With --json one object on standard output: tokens (how many the text has) and spans, each with start and
/// end (by tokens), text, count and places; a place has document (number, from 0, and id), token (number, from
/// 0, among the document's learned tokens) and pattern (node, name, frequency, and token, where it begins;
/// null where the place crosses the borders of all patterns).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The text.
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Places that are listed of each span.
    #[arg(long, value_name = "N", default_value_t = 3)]
    limit: usize,
    /// Pass over the first places of each span.
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Leave out spans of fewer tokens.
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_tokens: usize,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Runs `kato trace`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let asked = Asked::open(&args.kb)?;
    let tokens = asked.tokens(&args.text)?;
    let spans = (asked.occurrences).trace(&tokens, args.min_tokens, args.after, args.limit)?;
    let is_held = !spans.is_empty() || asked.holds_any(&tokens)?;
    let view = |traced: TracedSpan| {
        let TracedSpan { span, places, .. } = traced;
        let of_span = &tokens[span.tokens.clone()];
        let places = places.into_iter().map(|place| asked.place(place));
        Ok(SpanView {
            start: span.tokens.start,
            end: span.tokens.end,
            text: asked.text(of_span),
            count: span.count,
            places: places.collect::<Result<_>>()?,
        })
    };
    let traced = Traced {
        tokens: tokens.len(),
        spans: spans.into_iter().map(view).collect::<Result<_>>()?,
        after: args.after,
        is_held,
    };
    show(&traced, args.json)
}

/// Where a text comes from.
#[derive(Debug, Serialize)]
struct Traced {
    tokens: usize,
    spans: Vec<SpanView>,
    #[serde(skip)]
    after: u64,
    /// Whether documents hold any of it, if only shorter spans than were asked for.
    #[serde(skip)]
    is_held: bool,
}

/// A span of the text.
#[derive(Debug, Serialize)]
struct SpanView {
    start: usize,
    end: usize,
    text: String,
    count: u64,
    places: Vec<PlaceView>,
}

impl View for Traced {
    fn text(&self, width: usize) -> String {
        if self.spans.is_empty() {
            let said = match self.is_held {
                true => "all that documents hold of it is shorter than --min-tokens\n",
                false => "no document holds any of it\n",
            };
            return said.to_owned();
        }
        let mut text = String::new();
        for span in &self.spans {
            let facts = format!("{}..{} ×{}", span.start, span.end, HumanCount(span.count));
            let room = width.saturating_sub(facts.len() + 2);
            text += &heading(&format!("{facts}  {}", quoted(&span.text, room)));
            for place in &span.places {
                text += &format!("  {}\n", place.line());
            }
            let listed = self.after.saturating_add(span.places.len() as u64);
            let rest = span.count.saturating_sub(listed);
            if rest > 0 {
                text += &format!("  … and {} more\n", HumanCount(rest));
            }
        }
        text
    }
}
