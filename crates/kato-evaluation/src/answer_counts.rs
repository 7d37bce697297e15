//! Counts the answers of one level.

use crate::answer::{NextAnswer, RecognitionAnswer};
use crate::report::{NextAccuracy, Recognition};

/// Beginnings of this length and longer ones are counted together.
const MAX_CONTEXT: usize = 16;

/// The answers of one level so far. Answers are added in the order of the documents, so that sums
/// are always the same.
#[derive(Debug, Default)]
pub(crate) struct AnswerCounts {
    recognition: Recognition,
    similarities: f64,
    next: NextAccuracy,
}

impl AnswerCounts {
    /// Adds the answer to a whole chunk.
    pub(crate) fn add_whole(&mut self, answer: RecognitionAnswer, threshold: f64) {
        let recognition = &mut self.recognition;
        recognition.unanswered.add(answer.similarity.is_none());
        let is_recognised = answer
            .similarity
            .is_some_and(|similarity| similarity >= threshold);
        recognition.recognised.add(is_recognised);
        // A chunk without an answer lowers the mean: leaving it out would reward silence.
        self.similarities += answer.similarity.unwrap_or(0.0);
    }

    /// Adds the answer to the beginning of a chunk.
    pub(crate) fn add_next(&mut self, answer: NextAnswer) {
        let next = &mut self.next;
        let within = |n| answer.rank.is_some_and(|rank| rank < n);
        next.top_1.add(within(1));
        next.top_5.add(within(5));
        next.top_10.add(within(10));
        next.unanswered.add(!answer.is_answer);
        next.answerable.add(answer.is_known);
        let context = answer.context.clamp(1, MAX_CONTEXT);
        if next.top_1_by_context.len() < context {
            next.top_1_by_context.resize_with(context, Default::default);
        }
        next.top_1_by_context[context - 1].add(within(1));
    }

    /// Returns the figures of the level.
    pub(crate) fn finish(self) -> (Recognition, NextAccuracy) {
        let n = self.recognition.recognised.of;
        let recognition = Recognition {
            mean_similarity: (n > 0).then(|| self.similarities / n as f64),
            ..self.recognition
        };
        (recognition, self.next)
    }
}
