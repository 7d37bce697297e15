//! The views of the head's answers: next tokens, explanations, scores and written text, for people
//! or for programs.

use indicatif::HumanCount;
use kato_hierarchy::head::{
    Counts, ExpertShare, Explanation, NextToken, OrderTerm, Reason, ScoredToken, TextScore,
    WriteEnd, WrittenText,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::generation::place;
use crate::inspect::View;
use crate::inspect::decode::short;
use crate::inspect::layout::{cell, dim, heading, one_line, table};
use crate::numbers::counted;

/// Most surprising tokens that a score lists.
const SURPRISES: usize = 10;

/// Places of a history that an explanation lists for each part of the cache.
const PLACES: usize = 8;

/// What comes next, and why.
#[derive(Debug, Serialize)]
pub(crate) struct NextView {
    pub(crate) next: Vec<NextToken>,
    pub(crate) explanation: Option<Explanation>,
}

impl View for NextView {
    fn text(&self, _width: usize) -> String {
        let row = |next: &NextToken| {
            vec![
                format!("{:.4}", next.probability),
                format!("{:.2}", -next.probability.log2()),
                format!("{:?}", next.text),
            ]
        };
        let rows: Vec<_> = self.next.iter().map(row).collect();
        let mut text = table(&["probability", "bits", "token"], &rows);
        if let Some(explanation) = &self.explanation {
            text += &format!("\n{}", explained(explanation));
        }
        text
    }
}

/// Describes why a token has its probability.
pub(crate) fn explained(explanation: &Explanation) -> String {
    let mut text = heading(&format!(
        "{:?} has {:.6}, the sum of",
        explanation.symbol, explanation.probability
    ));
    for part in &explanation.parts {
        text += &format!(
            "  {:.6} = {:.4} · {:.6}  {}\n",
            part.contribution,
            part.weight,
            part.probability,
            expert(part)
        );
        text += &reason(&part.reason);
    }
    text
}

fn expert(part: &ExpertShare) -> &'static str {
    use kato_hierarchy::head::Expert;
    match part.expert {
        Expert::Ngrams => "n-grams inside patterns",
        Expert::CachedSymbols => "the text so far: tokens",
        Expert::RecentSymbols => "the text so far: recent tokens",
        Expert::FittingSymbols => "the text so far: recent tokens that fit here",
        Expert::CachedPairs => "the text so far: after the last token",
        Expert::CachedTriples => "the text so far: after the last two tokens",
        Expert::Outside => "KATO's predictions",
        _ => "another expert",
    }
}

fn reason(reason: &Reason) -> String {
    let mut text = String::new();
    match reason {
        Reason::Ngrams { uniform, orders } => {
            text += &dim(&format!("      {uniform:.6} for every token alike"));
            text.push('\n');
            for order in orders {
                text += &of_order(order);
            }
        }
        Reason::Cache {
            weight,
            total,
            places,
        } => {
            // The latest say most.
            let ago = places.iter().rev().take(PLACES);
            let ago: Vec<String> = ago.map(|place| place.ago.to_string()).collect();
            let ago = match ago.as_slice() {
                [] => "nowhere".to_owned(),
                [one] if one == "1" => "1 token ago".to_owned(),
                several => several.join(", ") + " tokens ago",
            };
            text += &dim(&format!("      {weight:.3} / {total:.3}: {ago}"));
            text.push('\n');
        }
        Reason::Outside { weight, total } => {
            text += &dim(&format!("      {weight:.3} / {total:.3}"));
            text.push('\n');
        }
        _ => {}
    }
    text
}

/// Describes what the n-grams of one length say.
fn of_order(order: &OrderTerm) -> String {
    let counts = match order.counts {
        Counts::Occurrences => "times",
        _ => "tokens before it",
    };
    let mut text = format!(
        "      {:.6} = {:.4} · {:.3} · ({} − {:.3}) / {}  after {:?}, {counts}\n",
        order.term,
        order.reached,
        order.trust,
        order.count,
        order.discount,
        order.total,
        order.context.join(" ")
    );
    for pattern in &order.patterns {
        let name = short(&pattern.pattern);
        let source = pattern.source.as_ref();
        let source = source.map(|source| format!(", first {}", place(source)));
        let source = source.unwrap_or_default();
        let (level, count) = (pattern.level, pattern.count);
        let line = format!("        node{level} {name}: {count}{source}");
        text += &dim(&line);
        text.push('\n');
    }
    let named = order.patterns.len() as u64;
    let more = order.n_patterns.unwrap_or(0).saturating_sub(named);
    if more > 0 {
        text += &dim(&format!("        and {} more", HumanCount(more)));
        text.push('\n');
    }
    text
}

/// A text with its score.
#[derive(Debug)]
pub(crate) struct Scored {
    pub(crate) name: String,
    pub(crate) score: TextScore,
}

/// The scores of texts.
#[derive(Debug)]
pub(crate) struct ScoreView {
    texts: Vec<Scored>,
    shows_tokens: bool,
    n_tokens: usize,
    bits: f64,
}

impl ScoreView {
    pub(crate) fn new(texts: Vec<Scored>, shows_tokens: bool) -> Self {
        Self {
            n_tokens: texts.iter().map(|text| text.score.tokens.len()).sum(),
            bits: texts.iter().map(|text| text.score.bits).sum(),
            texts,
            shows_tokens,
        }
    }

    fn bits_per_token(&self) -> Option<f64> {
        (self.n_tokens > 0).then(|| self.bits / self.n_tokens as f64)
    }
}

impl View for ScoreView {
    fn text(&self, width: usize) -> String {
        let number = |number: Option<f64>| cell(number.map(|n| format!("{n:.3}")));
        let row = |name: &str, tokens: usize, bits: Option<f64>| {
            vec![
                name.to_owned(),
                HumanCount(tokens as u64).to_string(),
                number(bits),
                number(bits.map(f64::exp2)),
            ]
        };
        let of_text = |text: &Scored| {
            let name = one_line(&text.name, width / 2);
            row(&name, text.score.tokens.len(), text.score.bits_per_token())
        };
        let mut rows: Vec<_> = self.texts.iter().map(of_text).collect();
        if self.texts.len() > 1 {
            rows.push(row("all", self.n_tokens, self.bits_per_token()));
        }
        let mut text = table(&["text", "tokens", "bits per token", "perplexity"], &rows);
        let tokens = self.texts.iter().flat_map(|text| &text.score.tokens);
        if self.shows_tokens {
            text.push('\n');
            for token in tokens {
                text += &format!("{:8.3}  {:?}\n", token.bits, token.text);
            }
            return text;
        }
        let mut tokens: Vec<&ScoredToken> = tokens.collect();
        // Stable, so that equal ones stay in the order of the text.
        tokens.sort_by(|one, other| other.bits.total_cmp(&one.bits));
        let most: Vec<String> = tokens
            .iter()
            .take(SURPRISES)
            .map(|token| format!("{:?} {:.1}", token.text, token.bits))
            .collect();
        if !most.is_empty() {
            let line = format!("most surprising, in bits: {}", most.join(", "));
            text += &format!("{}\n", dim(&line));
        }
        text
    }
}

impl Serialize for ScoreView {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |text: &Scored| -> Value {
            let score = &text.score;
            let mut value = json!({
                "name": text.name,
                "tokens": score.tokens.len(),
                "bits": score.bits,
                "bits_per_token": score.bits_per_token(),
                "perplexity": score.perplexity(),
            });
            if self.shows_tokens {
                value["scored"] = json!(score.tokens);
            }
            value
        };
        let texts: Vec<Value> = self.texts.iter().map(text).collect();
        json!({
            "tokens": self.n_tokens,
            "bits": self.bits,
            "bits_per_token": self.bits_per_token(),
            "perplexity": self.bits_per_token().map(f64::exp2),
            "texts": texts,
        })
        .serialize(serializer)
    }
}

/// A text that the head wrote.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct WritingView(pub(crate) WrittenText);

impl View for WritingView {
    fn text(&self, _width: usize) -> String {
        let writing = &self.0;
        let mut text = format!("{}\n\n", writing.whole_text);
        for token in &writing.tokens {
            if let Some(explanation) = &token.explanation {
                text += &format!("{}\n", explained(explanation));
            }
        }
        let end = match &writing.end {
            WriteEnd::StopText(stop) => format!("the stop text {stop:?}"),
            _ => "as many tokens as were asked for".to_owned(),
        };
        let logs = writing.tokens.iter().map(|token| -token.probability.log2());
        let bits: f64 = logs.sum();
        let n_tokens = writing.tokens.len();
        let each = match n_tokens {
            0 => String::new(),
            n => format!(", {:.2} bits each", bits / n as f64),
        };
        let summary = format!("{}{each}; the end: {end}", counted(n_tokens, "token"));
        text + &format!("{}\n", dim(&summary))
    }
}
