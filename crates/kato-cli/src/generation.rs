//! The view of a generated text with its provenance, for people or for programs.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::HumanCount;
use kato_engine::Node;
use kato_hierarchy::generation::{Fit, GeneratedSpan, GenerationEnd, PatternLink, SpanPiece};
use kato_hierarchy::{Generation, GenerationOptions, Hierarchy, Source};
use kato_model::PatternName;
use kato_prediction::Prediction;
use serde::Serialize;

use crate::inspect::View;
use crate::inspect::decode::short;
use crate::inspect::layout::{dim, heading, quoted};
use crate::numbers::counted;
use crate::open::count_patterns;

/// A generated text and where it comes from.
#[derive(Debug)]
pub(crate) struct GenerationView<'h> {
    hierarchy: &'h Hierarchy,
    generation: Generation,
    patterns: u64,
    took: Duration,
    explains: bool,
}

impl<'h> GenerationView<'h> {
    /// Generates a continuation of `prompt`; with `explains` the text for people shows every span's
    /// provenance.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::generate`].
    pub(crate) fn of(
        hierarchy: &'h Hierarchy,
        prompt: &str,
        options: &GenerationOptions,
        explains: bool,
    ) -> Result<Self> {
        let start = Instant::now();
        let generation = hierarchy.generate(prompt, options)?;
        Ok(Self {
            took: start.elapsed(),
            generation,
            hierarchy,
            patterns: count_patterns(hierarchy),
            explains,
        })
    }

    /// Returns the name of a level's node.
    fn node(&self, level: usize) -> &str {
        self.hierarchy.nodes().get(level).map_or("?", Node::name)
    }

    /// Returns the form of a span for programs.
    fn json<'a>(&'a self, span: &'a GeneratedSpan) -> SpanJson<'a> {
        SpanJson {
            text: &span.text,
            tokens: &span.tokens,
            level: span.level,
            node: self.node(span.level),
            pattern: span.prediction.name,
            fit: span.fit,
            score: span.score,
            n_choices: span.n_choices,
            is_bridge: span.is_bridge,
            chain: &span.chain,
            parts: &span.parts,
            source: span.source.as_ref(),
            prediction: &span.prediction,
        }
    }

    /// Describes a span for people: how it fits, its metrics, and the patterns and documents that
    /// it comes from.
    fn explained(&self, number: usize, span: &GeneratedSpan, width: usize) -> String {
        let prediction = &span.prediction;
        let name = short(&prediction.name);
        let title = format!("{number}  {} {name}", self.node(span.level));
        let left = width.saturating_sub(title.len() + 2);
        let mut text = heading(&format!("{title}  {}", quoted(&span.text, left)));
        let fit = match span.fit {
            Fit::Exact => "agrees from its beginning",
            Fit::Continues => "agrees at the end",
            Fit::Loose => "is alike",
        };
        let bridge = if span.is_bridge {
            "; the last tokens alone were looked for"
        } else {
            ""
        };
        text += &format!("   {fit}, chosen from {}{bridge}\n", span.n_choices);
        text += &format!(
            "   potential {:.4}, similarity {:.4}, evidence {:.4}, confidence {:.4}, snr {:.4}, frequency {}\n",
            prediction.potential,
            prediction.similarity,
            prediction.evidence,
            prediction.confidence,
            prediction.snr,
            HumanCount(prediction.frequency)
        );
        let link =
            |link: &PatternLink| format!("{} {}", self.node(link.level), short(&link.pattern));
        let chain: Vec<String> = span.chain.iter().map(link).collect();
        text += &format!("   the text is in {}\n", chain.join(" in "));
        text += &match &span.source {
            Some(source) => format!("   first seen {}\n", place(source)),
            None => "   documents were not recorded: train with --provenance\n".to_owned(),
        };
        for (part_idx, part) in span.parts.iter().enumerate() {
            let branch = match part_idx + 1 == span.parts.len() {
                true => "└─",
                false => "├─",
            };
            let front = format!(
                "   {branch} {} {} ",
                self.node(part.level),
                short(&part.pattern)
            );
            let place = part.source.as_ref().map(place).unwrap_or_default();
            // Characters, not bytes: the branches are not ASCII, and counting their bytes would
            // leave the text too little room.
            let left = width.saturating_sub(front.chars().count() + place.chars().count() + 2);
            text += &format!("{front}{}  {}\n", quoted(&part.text, left), dim(&place));
        }
        text
    }
}

/// Describes a source in words.
pub(crate) fn place(source: &Source) -> String {
    // A document without a name is known by its position in the corpus.
    let number = || format!("number {}", source.document_idx);
    let document = source.document.clone().unwrap_or_else(number);
    format!("in {document} at token {}", source.token_idx)
}

impl View for GenerationView<'_> {
    fn text(&self, width: usize) -> String {
        let generation = &self.generation;
        let mut text = format!("{}\n\n", generation.whole_text);
        if self.explains {
            for (span_idx, span) in generation.spans.iter().enumerate() {
                text += &self.explained(span_idx + 1, span, width);
                text.push('\n');
            }
        }
        let summary = format!(
            "{} in {} from {}, {:.1} ms; the end: {}",
            counted(generation.tokens.len(), "token"),
            counted(generation.spans.len(), "span"),
            counted(self.patterns, "pattern"),
            self.took.as_secs_f64() * 1e3,
            generation.end
        );
        text + &format!("{}\n", dim(&summary))
    }
}

#[derive(Serialize)]
struct GenerationJson<'a> {
    text: &'a str,
    whole_text: &'a str,
    prompt_tokens: &'a [String],
    tokens: &'a [String],
    end: &'a GenerationEnd,
    patterns: u64,
    milliseconds: f64,
    spans: Vec<SpanJson<'a>>,
}

#[derive(Serialize)]
struct SpanJson<'a> {
    text: &'a str,
    tokens: &'a [String],
    level: usize,
    node: &'a str,
    pattern: PatternName,
    fit: Fit,
    score: f64,
    n_choices: usize,
    is_bridge: bool,
    chain: &'a [PatternLink],
    parts: &'a [SpanPiece],
    source: Option<&'a Source>,
    prediction: &'a Prediction,
}

impl Serialize for GenerationView<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let generation = &self.generation;
        GenerationJson {
            text: &generation.text,
            whole_text: &generation.whole_text,
            prompt_tokens: &generation.prompt_tokens,
            tokens: &generation.tokens,
            end: &generation.end,
            patterns: self.patterns,
            milliseconds: self.took.as_secs_f64() * 1e3,
            spans: generation
                .spans
                .iter()
                .map(|span| self.json(span))
                .collect(),
        }
        .serialize(serializer)
    }
}
