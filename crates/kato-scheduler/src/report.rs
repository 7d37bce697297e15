//! The report at the end of a run.

use kato_learner::Dropped;
use serde::Serialize;

use crate::failure::FailureCounts;

/// The result of a run. Counts are over all sessions of the run, times and rates are this
/// session's.
///
/// As JSON, four fields have the names of the original's statistics: `samples_processed`,
/// `samples_attempted`, `rate_samples_per_sec` and `num_workers`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrainingReport {
    /// Documents learned.
    #[serde(rename = "samples_processed")]
    pub documents_processed: u64,
    /// Documents learned and those that could not be, and bad records.
    #[serde(rename = "samples_attempted")]
    pub documents_attempted: u64,
    /// Documents that could not be learned and records that could not be read.
    pub errors: u64,
    /// Records that could not be read.
    pub bad_records: u64,
    /// Documents that could not be learned, by kind.
    pub failures: FailureCounts,
    /// Documents that were tried again in this session, because a worker died over them.
    pub retries: u64,
    /// Workers that died in this session and were replaced.
    pub worker_restarts: u32,
    /// Workers found without progress in this session.
    pub stalls: u64,
    /// Tokens that are part of a pattern.
    pub tokens: u64,
    /// Wall-clock seconds of this session, from its beginning to the last durable commit, and to the end
    /// of what the backend [compares](crate::Backend::conclude) behind it.
    pub total_time_seconds: f64,
    /// Documents per second of this session.
    #[serde(rename = "rate_samples_per_sec")]
    pub documents_per_sec: f64,
    /// Tokens per second of this session.
    pub tokens_per_sec: f64,
    /// Threads that learned; where their number is tuned, those at work at the end.
    #[serde(rename = "num_workers")]
    pub n_workers: usize,
    /// Which worker learned which document.
    pub distribution: &'static str,
    /// The levels, from the bottom up.
    pub levels: Vec<LevelReport>,
    /// What the rules left out, by rule.
    pub dropped: Dropped,
    /// Records without text, which are no documents.
    pub blank_records: u64,
    /// Records not longer than the minimum of the loader.
    pub short_records: u64,
    /// Documents learned in this session.
    pub session_documents: u64,
    /// Documents passed over because a split holds them out.
    pub held_out_documents: u64,
    /// Whether the corpus was read to its end; otherwise, also after a limit on documents, the run
    /// can be resumed.
    pub complete: bool,
    /// What ended the session.
    pub ended: SessionEnd,
    /// Bytes of the store on the disk, if it has a disk of its own.
    pub disk_bytes: Option<u64>,
    /// Where the threads of this session spent their time.
    pub stage_seconds: StageSeconds,
}

/// What ended a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionEnd {
    /// The corpus was read to its end.
    Complete,
    /// Somebody asked it to stop; the run can be resumed.
    Stopped,
    /// A limit on documents or records was reached; the run can be resumed with a higher one.
    Limit,
}

/// Characters of a token, roughly, where text was left out before it was tokenized.
const CHARS_PER_TOKEN: f64 = 4.0;

impl TrainingReport {
    /// Returns the share of the text that the rules left out, from 0 to 1; 0 where there was none.
    ///
    /// Formula: *d* / (*d* + `tokens`), where *d* are the tokens that were left out, with a token
    /// for every four characters of what was left out before it was tokenized. A name alone at a
    /// document's end is not text: the levels below have learned what it stands for.
    #[must_use]
    pub fn left_out_share(&self) -> f64 {
        let dropped = &self.dropped;
        let tokens = dropped.tokens_over_limit
            + dropped.short_run_tokens
            + dropped.short_sentence_tokens
            + dropped.single_token_chunks;
        let chars = dropped.short_paragraph_chars + dropped.heading_chars;
        let left_out = tokens as f64 + chars as f64 / CHARS_PER_TOKEN;
        match left_out > 0.0 {
            true => left_out / (left_out + self.tokens as f64),
            false => 0.0,
        }
    }

    /// Returns the share of their time that the workers of this session waited for documents, from
    /// 0 to 1.
    ///
    /// Formula: `stage_seconds.starved` / (`n_workers` · `total_time_seconds`); 0 for a session
    /// that took no time. It bounds from above what a faster loader could save: the wait for the
    /// first documents is part of it, and so is the wait of a worker while the last documents are
    /// with others.
    #[must_use]
    pub fn starved_share(&self) -> f64 {
        let available = self.n_workers as f64 * self.total_time_seconds;
        if available > 0.0 {
            // Clamped, because clocks are read one after the other and may add up to a little more.
            (self.stage_seconds.starved / available).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// One level of a [`TrainingReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelReport {
    /// Name of the node.
    pub node: String,
    /// Its chunk size.
    pub chunk_size: usize,
    /// Learn calls.
    pub learns: u64,
    /// Distinct patterns; `None` after a stop, and where that cannot be known.
    pub unique_patterns: Option<u64>,
}

/// Thread seconds of a session by stage, each over all threads of the stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StageSeconds {
    /// Reading and parsing documents.
    pub load: f64,
    /// The reader waiting for a worker.
    pub load_blocked: f64,
    /// Tokenizing, naming and counting.
    pub learn: f64,
    /// Sorting batches and writing them.
    pub stage: f64,
    /// Workers waiting for documents.
    pub starved: f64,
    /// Making commits durable; runs beside the workers.
    pub commit: f64,
    /// Merging what was committed; runs beside everything else.
    pub merge: f64,
    /// Counting distinct patterns for the report, after the last commit.
    pub count_patterns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(n_workers: usize, total_time_seconds: f64, starved: f64) -> TrainingReport {
        TrainingReport {
            documents_processed: 0,
            documents_attempted: 0,
            errors: 0,
            bad_records: 0,
            failures: FailureCounts::default(),
            retries: 0,
            worker_restarts: 0,
            stalls: 0,
            tokens: 0,
            total_time_seconds,
            documents_per_sec: 0.0,
            tokens_per_sec: 0.0,
            n_workers,
            distribution: "work-stealing",
            levels: Vec::new(),
            dropped: Dropped::default(),
            blank_records: 0,
            short_records: 0,
            session_documents: 0,
            held_out_documents: 0,
            complete: true,
            ended: SessionEnd::Complete,
            disk_bytes: None,
            stage_seconds: StageSeconds {
                starved,
                ..StageSeconds::default()
            },
        }
    }

    fn share(n_workers: usize, total_time_seconds: f64, starved: f64) -> f64 {
        report(n_workers, total_time_seconds, starved).starved_share()
    }

    #[test]
    fn what_is_left_out_is_a_share_of_all_text() {
        let mut report = report(1, 1.0, 0.0);
        // Nothing, of nothing and of something.
        assert_eq!(report.left_out_share(), 0.0);
        report.tokens = 120;
        assert_eq!(report.left_out_share(), 0.0);
        let dropped = &mut report.dropped;
        let tokens = [
            &mut dropped.tokens_over_limit,
            &mut dropped.short_run_tokens,
            &mut dropped.short_sentence_tokens,
            &mut dropped.single_token_chunks,
        ];
        for (tokens, n) in tokens.into_iter().zip([1, 2, 4, 8]) {
            *tokens = n;
        }
        (dropped.short_paragraph_chars, dropped.heading_chars) = (64, 36);
        // 15 tokens, and 25 of 100 characters.
        assert_eq!(report.left_out_share(), 0.25);
        report.tokens = 0;
        assert_eq!(report.left_out_share(), 1.0);
    }

    #[test]
    fn waiting_is_a_share_of_the_time_of_all_workers() {
        assert_eq!(share(4, 10.0, 2.0), 0.05);
        assert_eq!(share(2, 10.0, 0.0), 0.0);
        // Clocks are read one after the other, and a session may take no time at all.
        assert_eq!(share(1, 1.0, 1.1), 1.0);
        assert_eq!(share(1, 0.0, 0.0), 0.0);
    }
}
