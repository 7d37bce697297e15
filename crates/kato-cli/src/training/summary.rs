//! The summary of a run that `kato train` prints in the end.

use std::path::Path;

use indicatif::{HumanBytes, HumanCount};
use kato_learner::Dropped;
use kato_scheduler::TrainingReport;

use crate::numbers::counted;

/// Describes the report; `place` is where the knowledge is, `ledger` where errors are listed.
#[must_use]
pub(crate) fn summary(report: &TrainingReport, place: &str, ledger: &Path) -> String {
    learned(report) + &levels(report) + &stored(report, place) + &passed_over(report, ledger)
}

/// Describes how much was learned, and how fast.
fn learned(report: &TrainingReport) -> String {
    let mut text = format!(
        "{}, {} learned",
        counted(report.documents_processed, "document"),
        counted(report.tokens, "token")
    );
    if report.held_out_documents > 0 {
        let held_out = counted(report.held_out_documents, "document");
        text += &format!("; {held_out} held out");
    }
    if report.session_documents < report.documents_processed {
        let session = counted(report.session_documents, "document");
        text += &format!("; {session} in this session");
    }
    text += &format!(
        "\n{:.1} s with {}: {:.0} documents/s, {:.2} M tokens/s\n",
        report.total_time_seconds,
        counted(report.n_workers, "worker"),
        report.documents_per_sec,
        report.tokens_per_sec / 1e6,
    );
    text + &format!(
        "{:.1} % of the learning threads' time was waiting for documents\n",
        100.0 * report.starved_share()
    )
}

/// Describes the levels, as a table.
fn levels(report: &TrainingReport) -> String {
    let mut text = "level         chunk     learned    patterns  new\n".to_owned();
    for level in &report.levels {
        let (patterns, new) = match level.unique_patterns {
            Some(patterns) => {
                let share = 100.0 * patterns as f64 / level.learns.max(1) as f64;
                (HumanCount(patterns).to_string(), format!("{share:.1} %"))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        text += &format!(
            "{:<12} {:>6} {:>11} {:>11}  {new}\n",
            level.node,
            level.chunk_size,
            HumanCount(level.learns).to_string(),
            patterns,
        );
    }
    text
}

/// Describes the bytes on the disk, where they are known.
fn stored(report: &TrainingReport, place: &str) -> String {
    let Some(bytes) = report.disk_bytes else {
        return String::new();
    };
    let levels = report.levels.iter();
    let patterns: u64 = levels.filter_map(|level| level.unique_patterns).sum();
    let each = match patterns {
        0 => String::new(),
        patterns => format!(": {:.1} bytes a pattern", bytes as f64 / patterns as f64),
    };
    format!("{} in {place}{each}\n", HumanBytes(bytes))
}

/// Describes what was not learned, and what went wrong.
fn passed_over(report: &TrainingReport, ledger: &Path) -> String {
    let mut text = String::new();
    let left_out = left_out(&report.dropped);
    if !left_out.is_empty() {
        text += &format!(
            "not learned: {:.1} % of the text: {}\n",
            100.0 * report.left_out_share(),
            left_out.join(", ")
        );
    }
    if report.dropped.single_name_tails > 0 {
        // Their text is learned: it is in the level below.
        text += &format!(
            "{} alone at a document's end, in no pattern above\n",
            counted(report.dropped.single_name_tails, "pattern")
        );
    }
    if report.errors > 0 {
        text += &format!(
            "{} ({}), listed in {}\n",
            counted(report.errors, "error"),
            errors_by_kind(report).join(", "),
            ledger.display()
        );
    }
    if report.worker_restarts > 0 {
        text += &format!(
            "died and were replaced: {}; tried again: {}\n",
            counted(report.worker_restarts, "worker"),
            counted(report.retries, "document")
        );
    }
    text
}

/// Describes the errors by kind; kinds without any are left out.
fn errors_by_kind(report: &TrainingReport) -> Vec<String> {
    let failures = &report.failures;
    let counts = [
        (report.bad_records, "unreadable record", ""),
        (
            failures.unlearnable,
            "document",
            " without anything to learn from",
        ),
        (failures.refused, "document", " refused by a node"),
        (failures.worker_died, "document", " that took workers down"),
    ];
    in_words(&counts)
}

/// Describes the counts that are not 0, each of something, with what is said behind it.
fn in_words(counts: &[(u64, &str, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|&&(count, ..)| count > 0);
    counts
        .map(|(count, one, behind)| counted(*count, one) + behind)
        .collect()
}

/// Describes what the rules left out.
fn left_out(dropped: &Dropped) -> Vec<String> {
    let counts = [
        (dropped.short_paragraphs, "short paragraph", ""),
        (dropped.short_paragraph_chars, "character", " of them"),
        (dropped.heading_chars, "character", " of headings"),
        (dropped.tokens_over_limit, "token", " over the limit"),
        (dropped.short_run_tokens, "token", " too few for a chunk"),
        (dropped.short_sentences, "short sentence", ""),
        (dropped.short_sentence_tokens, "token", " of them"),
        (dropped.single_token_chunks, "chunk", " of one token"),
    ];
    in_words(&counts)
}
