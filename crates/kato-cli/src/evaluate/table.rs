//! The report of an evaluation for people: a line for each level, a line for each model.

use indicatif::HumanCount;
use kato_evaluation::EvaluationReport;
use kato_evaluation::report::{
    CalibrationBin, CodeLength, CountedShare, HeadEvaluation, LevelEvaluation, ModelBits,
};

use crate::inspect::View;
use crate::inspect::layout::{cell, table};
use crate::numbers::counted;

impl View for EvaluationReport {
    fn text(&self, _width: usize) -> String {
        let mut text = format!(
            "{} that the nodes have not seen, {}\n",
            counted(self.documents, "document"),
            counted(self.tokens, "token")
        );
        if self.failed > 0 {
            text += &format!(
                "{} more cannot be read or tokenized\n",
                HumanCount(self.failed)
            );
        }
        text += &format!("\n{}", levels(&self.levels));
        text += &format!("\n{}", models(&self.code_length, self.head.as_ref()));
        if let Some(head) = &self.head {
            text += &format!("\n{}", calibration(head));
        }
        text
    }
}

/// Returns the table of the levels.
fn levels(levels: &[LevelEvaluation]) -> String {
    let header = [
        "level",
        "chunks",
        "known",
        "recognised",
        "no answer",
        "unknown symbols",
        "next asked",
        "known",
        "no answer",
        "top 1",
        "top 5",
        "top 10",
    ];
    let row = |level: &LevelEvaluation| {
        let (coverage, recognition, next) = (&level.coverage, &level.recognition, &level.next);
        vec![
            level.node.clone(),
            HumanCount(coverage.known_chunks.of).to_string(),
            percent(coverage.known_chunks),
            percent(recognition.recognised),
            percent(recognition.unanswered),
            percent(coverage.unknown_symbols),
            HumanCount(next.top_1.of).to_string(),
            percent(next.answerable),
            percent(next.unanswered),
            percent(next.top_1),
            percent(next.top_5),
            percent(next.top_10),
        ]
    };
    table(&header, &levels.iter().map(row).collect::<Vec<_>>())
}

/// Returns the table of the models' bits per token, with what they were measured on.
fn models(code: &CodeLength, head: Option<&HeadEvaluation>) -> String {
    let baseline = &code.baseline;
    let order = baseline.order;
    let mut rows = vec![
        ("KATO, chunk so far".to_owned(), &code.kato),
        (format!("{order}-gram, chunk so far"), &code.ngram_in_chunk),
        (format!("{order}-gram, document so far"), &code.ngram),
    ];
    if let Some(head) = head {
        for (name, model) in [
            ("head, lowest level", &head.node0),
            ("head, all levels", &head.all_levels),
            ("head, with cache", &head.with_cache),
            ("head, with KATO", &head.with_kato),
        ] {
            rows.push((name.to_owned(), model));
        }
    }
    rows.push(("token frequencies".to_owned(), &code.unigram));
    rows.push(("uniform".to_owned(), &code.uniform));
    let row = |(name, model): (String, &ModelBits)| {
        let interval = model.interval.map_or_else(String::new, |interval| {
            format!("{:.2} to {:.2}", interval.low, interval.high)
        });
        let bits = |bits: Option<f64>| bits.map_or_else(String::new, |bits| format!("{bits:.2}"));
        vec![
            name,
            bits(model.bits_per_token),
            interval,
            bits(model.bits_per_token_in_context),
        ]
    };
    let header = [
        "model",
        "bits per token",
        "95 % interval",
        "not first in chunk",
    ];
    let mut text = table(&header, &rows.into_iter().map(row).collect::<Vec<_>>());
    text += &format!(
        "{} of {}; n-grams of {}",
        counted(code.tokens, "token"),
        counted(code.documents, "document"),
        counted(baseline.training_tokens, "training token")
    );
    if baseline.order < baseline.order_asked_for {
        text += &format!(
            ", of order {order} because there are too many of order {}",
            baseline.order_asked_for
        );
    }
    text + "\n"
}

/// Returns how often the head's most probable token came, by the probability that it had.
fn calibration(head: &HeadEvaluation) -> String {
    let bins = head.calibration.bins.iter();
    let row = |bin: &CalibrationBin| {
        let mean = bin.mean_confidence.unwrap_or_default();
        vec![
            format!("{:.1} to {:.1}", bin.from, bin.to),
            HumanCount(bin.right.of).to_string(),
            format!("{:.1} %", 100.0 * mean),
            percent(bin.right),
        ]
    };
    let rows: Vec<_> = bins.filter(|bin| bin.right.of > 0).map(row).collect();
    let header = ["head is sure", "answers", "mean probability", "right"];
    let mut text = table(&header, &rows);
    text += &format!(
        "top 1 {}, top 5 {}, top 10 {}",
        percent(head.top_1),
        percent(head.top_5),
        percent(head.top_10)
    );
    if let Some(error) = head.calibration.expected_error {
        text += &format!("; expected calibration error {:.2} %", 100.0 * error);
    }
    text + "\n"
}

/// Formats a share as per cent, or as a dash where nothing was asked.
fn percent(share: CountedShare) -> String {
    cell(share.ratio().map(|ratio| format!("{:.1} %", 100.0 * ratio)))
}
