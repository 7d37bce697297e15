//! Runs an evaluation from its first document to its report.

use std::ops::ControlFlow;

use kato_engine::Engine;
use kato_learner::HierarchicalConceptLearner;

use crate::answer_counts::AnswerCounts;
use crate::code_length::Bits;
use crate::distinct_tokens::DistinctTokens;
use crate::heads::{HeadRun, Heads};
use crate::passes::{Passes, Survey};
use crate::progress::EvaluationProgress;
use crate::report::{HeadEvaluation, LevelEvaluation, NgramBaseline};
use crate::unigram::Unigram;
use crate::{Corpora, EvaluationError, EvaluationOptions, EvaluationReport};

/// Evaluates a hierarchy on documents that it has not seen: see the [crate](crate) for what is
/// asked.
///
/// The learner must be the one that the engine's nodes were trained with. `on_progress` is called
/// on the caller's thread, and ends the evaluation by [`ControlFlow::Break`].
///
/// # Memory
///
/// Beside the engine: one batch of documents, the baseline ([`EvaluationOptions::max_ngrams`]), two
/// [heads](kato_head::Head), and 88 bytes for each held-out document.
///
/// # Errors
///
/// Every [`EvaluationError`].
pub fn evaluate(
    engine: &Engine,
    learner: &HierarchicalConceptLearner,
    corpora: &Corpora<'_>,
    options: &EvaluationOptions,
    mut on_progress: impl FnMut(&EvaluationProgress) -> ControlFlow<()>,
) -> Result<EvaluationReport, EvaluationError> {
    // Faults that need no reading are reported before the first pass over a corpus.
    options.check()?;
    check_nodes(engine, learner)?;
    corpora.check()?;
    let vocabulary = learner.tokenizer().vocabulary();
    let distinct = DistinctTokens::new(vocabulary);
    let mut passes = Passes::new(engine, learner, &distinct, options, &mut on_progress)?;
    let baseline = passes.train_baseline(corpora)?;
    let survey = passes.survey(corpora)?;
    // Every document may be too short for a chunk; shares of nothing would look like a result.
    if survey.n_questions(options) == 0 {
        return Err(EvaluationError::NoDocuments);
    }
    let node = engine.nodes().next().ok_or(EvaluationError::NoDocuments)?;
    let unigram = Unigram::from_node(&node, vocabulary)?;
    let heads = Heads::of_engine(engine, vocabulary, options)?;
    let mut head_run = heads.as_ref().map(HeadRun::new);
    let asked = passes.ask(corpora, &survey, &baseline, &unigram, head_run.as_mut())?;
    let (answer_counts, bits) = asked;
    let head = heads.as_ref().zip(head_run.as_ref());
    let head = head.map(|(heads, run)| bits.finish_heads(heads, run, options));
    let about_baseline = NgramBaseline {
        order: baseline.order(),
        order_asked_for: options.ngram_order,
        ngrams: baseline.n_ngrams() as u64,
        training_tokens: baseline.n_tokens(),
    };
    Ok(report(
        engine,
        &survey,
        answer_counts,
        &bits,
        about_baseline,
        head,
        options,
    ))
}

/// Checks that the learner plans for the engine's nodes, in the same order.
fn check_nodes(
    engine: &Engine,
    learner: &HierarchicalConceptLearner,
) -> Result<(), EvaluationError> {
    let engine: Vec<String> = engine.nodes().map(|node| node.name().to_owned()).collect();
    let learner = learner.node_names();
    if engine == learner {
        return Ok(());
    }
    Err(EvaluationError::OtherNodes {
        engine,
        learner: learner.into_iter().map(str::to_owned).collect(),
    })
}

/// Assembles the report.
fn report(
    engine: &Engine,
    survey: &Survey,
    answer_counts: Vec<AnswerCounts>,
    bits: &Bits,
    baseline: NgramBaseline,
    head: Option<HeadEvaluation>,
    options: &EvaluationOptions,
) -> EvaluationReport {
    let levels =
        engine
            .nodes()
            .zip(answer_counts)
            .enumerate()
            .map(|(level, (node, answer_counts))| {
                let (recognition, next) = answer_counts.finish();
                LevelEvaluation {
                    node: node.name().to_owned(),
                    coverage: survey.coverage(level),
                    asked_share: survey.asked_share(level, options),
                    recognition,
                    next,
                }
            });
    EvaluationReport {
        documents: survey.documents,
        failed: survey.failed,
        tokens: survey.tokens,
        generation: engine.options().generation,
        levels: levels.collect(),
        code_length: bits.finish(baseline, options),
        head,
    }
}
