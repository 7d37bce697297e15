//! The third pass: asks for predictions on all threads, and counts them in the order of the
//! documents.

use kato_engine::{Node, SessionConfig};
use kato_loader::Split;
use kato_tokenizer::Vocabulary;
use rayon::prelude::*;

use super::{Passes, Survey};
use crate::answer::{NextAnswer, RecognitionAnswer};
use crate::answer_counts::AnswerCounts;
use crate::code_length::{Bits, Priced, TokenProbabilities};
use crate::document::{Chunk, HeldOutDocument};
use crate::heads::HeadRun;
use crate::ngram::NgramModel;
use crate::progress::EvaluationPhase;
use crate::unigram::Unigram;
use crate::{Corpora, EvaluationError};

/// Questions that are answered between two progress reports.
const QUESTIONS_AT_ONCE: usize = 256;

/// The choice of the questions of a level that are asked: a share of them, by hash of their place.
///
/// By place and not by running number, so that hierarchies of other chunk sizes are asked about the
/// same tokens, and a larger share contains a smaller one: what all of them find hard cancels out
/// where they are compared.
struct Sampling {
    split: Option<Split>,
    /// Questions so far, asked or not.
    n_questions: u64,
}

impl Sampling {
    /// Creates the choice of a share in `0..=1`.
    fn new(share: f64, seed: u64) -> Self {
        // A split needs two sides, and a share of 1 leaves nothing for the other.
        let split = (share < 1.0).then(|| Split::held_out(share, seed));
        Self {
            split,
            n_questions: 0,
        }
    }

    /// Counts a question and returns whether it is asked.
    fn is_asked(&mut self, document: u64, chunk: &Chunk, kind: QuestionKind) -> bool {
        self.n_questions += 1;
        // A symbol has at least one token, so symbols of a level never share a place.
        let (place, is_whole) = match kind {
            QuestionKind::Whole => (chunk.first_token, 1),
            QuestionKind::Next { context } => (chunk.first_token + context, 0),
        };
        let number = (document << 32) | (place as u64) << 1 | is_whole;
        self.split.is_none_or(|split| split.contains(number))
    }
}

/// A question to a node.
struct Question<'a> {
    /// Number of the document in the held-out corpus.
    number: u64,
    document: &'a HeldOutDocument,
    level: usize,
    chunk: &'a Chunk,
    kind: QuestionKind,
}

/// The kind of a question.
#[derive(Clone, Copy)]
enum QuestionKind {
    /// Which patterns does the whole chunk resemble?
    Whole,
    /// Which symbol follows its first ones? At the lowest level also after none, for the code
    /// length.
    Next { context: usize },
}

/// The outcome of a question.
enum Answer {
    Whole(RecognitionAnswer),
    Next {
        answer: Option<NextAnswer>,
        /// What the lowest node expects, with weights.
        expected: Vec<(String, f64)>,
        /// At the lowest level.
        token: Option<PlacedToken>,
    },
}

/// A token with its probabilities, and where it is in its document.
struct PlacedToken {
    place: usize,
    probabilities: TokenProbabilities,
}

/// The data that is needed to answer a question, on any thread.
#[derive(Clone, Copy)]
struct QuestionContext<'a> {
    nodes: &'a [Node],
    session: &'a SessionConfig,
    vocabulary: &'a Vocabulary,
    ngram: &'a NgramModel,
    unigram: &'a Unigram,
}

impl Passes<'_> {
    /// Asks every level.
    pub(crate) fn ask(
        &mut self,
        corpora: &Corpora<'_>,
        survey: &Survey,
        ngram: &NgramModel,
        unigram: &Unigram,
        mut head_run: Option<&mut HeadRun<'_>>,
    ) -> Result<(Vec<AnswerCounts>, Bits), EvaluationError> {
        let mut loader = corpora.held_out()?;
        let vocabulary = self.learner.tokenizer().vocabulary();
        // A node is a handle, so cloning is cheap. The context must not borrow from `self`, which
        // reports progress while questions are answered.
        let nodes = self.nodes.clone();
        let question_context = QuestionContext {
            nodes: &nodes,
            session: &self.options.session,
            vocabulary,
            ngram,
            unigram,
        };
        let mut answer_counts: Vec<AnswerCounts> =
            self.nodes.iter().map(|_| AnswerCounts::default()).collect();
        let mut bits = Bits::new();
        let sampling = |level| {
            let share = survey.asked_share(level, self.options);
            // Levels with equal shares would otherwise ask about the same places.
            Sampling::new(share, self.options.seed.wrapping_add(level as u64))
        };
        let n_levels = self.options.n_asked_levels(self.nodes.len());
        let mut sampling: Vec<Sampling> = (0..n_levels).map(sampling).collect();
        let n_questions = survey.n_questions(self.options);
        let most = self.options.max_documents.unwrap_or(u64::MAX);
        let mut n_documents = 0;
        self.begin_phase();
        let distinct = self.distinct;
        let held_out = |plan: &_| HeldOutDocument::from_plan(plan, vocabulary, distinct);
        while let Some(documents) = self.next_planned(&mut loader, most - n_documents, held_out)? {
            let before: u64 = sampling.iter().map(|level| level.n_questions).sum();
            let questions = questions(&documents, n_documents, &mut sampling);
            // Questions that were left out by hash are progress too: those asked stand for all.
            let behind: u64 = sampling.iter().map(|level| level.n_questions).sum();
            let n_asked = questions.len().max(1) as u64;
            for (part, questions) in questions.chunks(QUESTIONS_AT_ONCE).enumerate() {
                // Answers are collected in the order of the questions and counted on one thread.
                // Sums of floating-point numbers and the mixture's trust depend on the order, and
                // reports must not depend on threads.
                let answers: Vec<Answer> = self.threads.install(|| {
                    questions
                        .par_iter()
                        .map(|question| question_context.answer(question))
                        .collect::<Result<_, EvaluationError>>()
                })?;
                for (question, answer) in questions.iter().zip(answers) {
                    let head_run = head_run.as_deref_mut();
                    self.count(question, answer, &mut answer_counts, &mut bits, head_run);
                }
                let done = (part * QUESTIONS_AT_ONCE + questions.len()) as u64;
                let passed = before + (behind - before) * done / n_asked;
                self.report(EvaluationPhase::Predictions, passed, Some(n_questions))?;
            }
            // Documents that the learner refused count as well, as they do in the survey's limit.
            n_documents += documents.len() as u64;
        }
        Ok((answer_counts, bits))
    }

    /// Adds an answer to the sums of its level.
    fn count(
        &self,
        question: &Question<'_>,
        answer: Answer,
        answer_counts: &mut [AnswerCounts],
        bits: &mut Bits,
        head_run: Option<&mut HeadRun<'_>>,
    ) {
        let answer_counts = &mut answer_counts[question.level];
        match answer {
            Answer::Whole(answer) => {
                answer_counts.add_whole(answer, self.options.recognition_threshold)
            }
            Answer::Next {
                answer,
                expected,
                token,
            } => {
                if let Some(answer) = answer {
                    answer_counts.add_next(answer);
                }
                if let Some(token) = token {
                    let tokens = &question.document.tokens;
                    // Here and not beside the predictions: who was right decides whom the heads
                    // trust with the next token.
                    let heads = head_run
                        .map(|run| run.price(question.number, tokens, token.place, &expected));
                    let priced = Priced {
                        token: token.probabilities,
                        heads,
                    };
                    bits.add(question.number, priced, answer);
                }
            }
        }
    }
}

impl QuestionContext<'_> {
    /// Answers a question.
    fn answer(&self, question: &Question<'_>) -> Result<Answer, EvaluationError> {
        let (node, chunk) = (&self.nodes[question.level], question.chunk);
        let context = match question.kind {
            QuestionKind::Whole => {
                let answer = RecognitionAnswer::ask(node, self.session, chunk)?;
                return Ok(Answer::Whole(answer));
            }
            QuestionKind::Next { context } => context,
        };
        // At the lowest level only tokens of the vocabulary can come next, and a model's
        // probabilities have to sum to 1 over these.
        let is_possible = |symbol: &str| question.level > 0 || self.vocabulary.id(symbol).is_some();
        let answer = || NextAnswer::ask(node, self.session, chunk, context, is_possible);
        // Without context nothing is predicted: patterns do not reach across the beginning of a
        // chunk.
        let (answer, expected) = (context > 0).then(answer).transpose()?.unzip();
        Ok(Answer::Next {
            answer,
            expected: expected.unwrap_or_default(),
            token: (question.level == 0).then(|| self.token(question.document, chunk, context)),
        })
    }

    /// Returns the probabilities of the token at a position of a document.
    fn token(&self, document: &HeldOutDocument, chunk: &Chunk, context: usize) -> PlacedToken {
        // In bounds: chunks count kept tokens, and these are all tokens of the document.
        let place = chunk.first_token + context;
        let token = document.tokens[place];
        let in_chunk = &document.tokens[chunk.first_token..place];
        PlacedToken {
            place,
            probabilities: TokenProbabilities {
                ngram_in_chunk: self.ngram.probability(in_chunk, token),
                ngram: self.ngram.probability(&document.tokens[..place], token),
                unigram: self.unigram.probability(token),
                uniform: self.unigram.uniform(),
            },
        }
    }
}

/// Lists the questions that are asked about documents, in the documents' order: of as many levels as
/// there are choices.
fn questions<'a>(
    documents: &'a [Option<HeldOutDocument>],
    first_number: u64,
    sampling: &mut [Sampling],
) -> Vec<Question<'a>> {
    let mut questions = Vec::new();
    for (number, document) in (first_number..).zip(documents) {
        let Some(document) = document else {
            continue;
        };
        for (level, (chunks, sampling)) in document.levels.iter().zip(&mut *sampling).enumerate() {
            for chunk in chunks {
                let contexts =
                    (0..chunk.events.len()).map(|context| QuestionKind::Next { context });
                for kind in contexts.chain([QuestionKind::Whole]) {
                    // The first symbol is a question at the lowest level only. It is counted at
                    // every level, as `Survey::n_questions` counts every symbol.
                    let is_question =
                        level == 0 || !matches!(kind, QuestionKind::Next { context: 0 });
                    let is_asked = sampling.is_asked(number, chunk, kind);
                    if is_asked && is_question {
                        questions.push(Question {
                            number,
                            document,
                            level,
                            chunk,
                            kind,
                        });
                    }
                }
            }
        }
    }
    questions
}
