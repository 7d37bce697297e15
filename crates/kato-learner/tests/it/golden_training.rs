//! Ten small corpora: every learn call that the original makes, at every level, with its metadata.

use std::collections::HashMap;

use kato_learner::plan::{Child, PlannedCall, PlannedSymbols};
use kato_learner::{HierarchicalConceptLearner, LearnScratch, TailPolicy, TextDocument};
use kato_model::PatternName;
use kato_tokenizer::Whitespace;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    chunk_sizes: Vec<usize>,
    documents_as_paragraph_token_lists: Vec<Vec<Vec<String>>>,
    documents_in_one_call: bool,
    learn_calls_per_level: Vec<Vec<Call>>,
    stats: Vec<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Call {
    symbols: Vec<String>,
    metadata_on_first_event: bool,
}

/// Rewrites planned calls in the golden data's words: token text, or `L<level>#<first call that
/// gave the name>`.
#[derive(Default)]
struct Transcript {
    levels: Vec<Vec<Call>>,
    /// Ordinal of the first learn call with a name, by level.
    ordinals: Vec<HashMap<PatternName, usize>>,
}

impl Transcript {
    fn new(n_levels: usize) -> Self {
        Self {
            levels: (0..n_levels).map(|_| Vec::new()).collect(),
            ordinals: vec![HashMap::new(); n_levels],
        }
    }

    fn add(&mut self, learner: &HierarchicalConceptLearner, scratch: &LearnScratch) {
        let plan = scratch.plan();
        let names: Vec<Vec<Option<PatternName>>> = (0..plan.n_nodes())
            .map(|level| plan.calls(level).map(|call| call.name).collect())
            .collect();
        for level in 0..plan.n_nodes() {
            for call in plan.calls(level) {
                let symbols = self.symbols(learner, level, &call, &names);
                if let Some(name) = call.name {
                    let ordinal = self.levels[level].len();
                    self.ordinals[level].entry(name).or_insert(ordinal);
                }
                self.levels[level].push(Call {
                    symbols,
                    metadata_on_first_event: call.with_metadata,
                });
            }
        }
    }

    fn symbols(
        &self,
        learner: &HierarchicalConceptLearner,
        level: usize,
        call: &PlannedCall<'_>,
        names: &[Vec<Option<PatternName>>],
    ) -> Vec<String> {
        let label =
            |name: &PatternName| format!("L{}#{}", level - 1, self.ordinals[level - 1][name]);
        match call.symbols {
            PlannedSymbols::Tokens(ids) => ids
                .iter()
                .map(|&id| learner.tokenizer().vocabulary().get(id).unwrap().to_owned())
                .collect(),
            PlannedSymbols::Children(children) => children
                .iter()
                .map(|child| match child {
                    Child::Below(idx) => label(&names[level - 1][*idx as usize].unwrap()),
                    Child::Foreign(name) => label(name),
                    _ => String::new(),
                })
                .collect(),
            other => panic!("unknown symbols {other:?}"),
        }
    }
}

#[test]
fn all_ten_corpora_lead_to_the_originals_learn_calls() {
    let golden: Golden = serde_json::from_str(include_str!("../data/training.json")).unwrap();
    assert_eq!(golden.cases.len(), 10);
    for case in golden.cases {
        check(&case);
    }
}

fn check(case: &Case) {
    let texts: Vec<String> = case
        .documents_as_paragraph_token_lists
        .iter()
        .map(|paragraphs| {
            paragraphs
                .iter()
                .map(|tokens| tokens.join(" "))
                .collect::<Vec<_>>()
                .join("\n\n")
        })
        .collect();
    let tail_policy = if case.documents_in_one_call {
        TailPolicy::Carry
    } else {
        TailPolicy::Drop
    };
    let learner = HierarchicalConceptLearner::builder(Whitespace::from_texts(&texts))
        .with_chunk_sizes(case.chunk_sizes.clone())
        .like_kato_lm()
        .with_tail_policy(tail_policy)
        .permit_single_name_chunks()
        .build()
        .unwrap();
    let documents = texts.iter().map(|text| TextDocument::from(text.as_str()));
    let mut scratch = learner.new_scratch();
    let mut transcript = Transcript::new(case.chunk_sizes.len());
    let mut calls_of_documents = Vec::new();
    let mut record = |scratch: &LearnScratch| {
        transcript.add(&learner, scratch);
        let plan = scratch.plan();
        calls_of_documents.push(
            (0..plan.n_nodes())
                .map(|level| plan.calls(level).len())
                .collect::<Vec<_>>(),
        );
    };
    if case.documents_in_one_call {
        learner
            .plan_together(documents, &mut scratch, &mut record)
            .unwrap();
    } else {
        for document in documents {
            learner.plan(&document, &mut scratch).unwrap();
            record(&scratch);
        }
    }
    assert_eq!(
        transcript.levels, case.learn_calls_per_level,
        "{}",
        case.name
    );

    // The statistics are per call: of all documents together, or of each.
    let per_call: Vec<Vec<usize>> = if case.documents_in_one_call {
        vec![
            (0..case.chunk_sizes.len())
                .map(|level| calls_of_documents.iter().map(|calls| calls[level]).sum())
                .collect(),
        ]
    } else {
        calls_of_documents
    };
    assert_eq!(per_call.len(), case.stats.len(), "{}", case.name);
    for (calls, stats) in per_call.iter().zip(&case.stats) {
        for (level, n_calls) in calls.iter().enumerate() {
            assert_eq!(
                stats[&format!("node{level}_patterns")],
                *n_calls,
                "{} level {level}",
                case.name
            );
        }
    }
}
