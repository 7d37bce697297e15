//! Learns a document at all levels in one step.

use kato_engine::LearnOutcome;
use kato_engine::node::Lesson;
use kato_learner::plan::{Child, PlannedCall, PlannedSymbols};
use kato_learner::{DocumentPlan, Dropped, HierarchicalConceptLearner, TextDocument};
use kato_model::{Event, Metadata, PatternName};
use kato_tokenizer::Vocabulary;
use serde_json::Value;

use crate::hierarchy::{name_event, token_event};
use crate::{Hierarchy, HierarchyError};

/// What a document taught the levels.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Learned {
    /// The levels, from the bottom up: all of them, also those that learned nothing.
    pub levels: Vec<LearnedLevel>,
    /// Tokens that are part of a pattern.
    pub n_tokens: usize,
    /// What the rules left out.
    pub dropped: Dropped,
}

/// What a document taught one level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LearnedLevel {
    /// The learn calls, in the order of the text.
    pub outcomes: Vec<LearnOutcome>,
}

impl LearnedLevel {
    /// Returns the number of patterns that the level did not know before.
    #[must_use]
    pub fn n_new(&self) -> usize {
        let is_new = |outcome: &&LearnOutcome| matches!(outcome, LearnOutcome::New(_));
        self.outcomes.iter().filter(is_new).count()
    }

    /// Returns the names of the patterns, in the order of the text.
    pub fn names(&self) -> impl Iterator<Item = PatternName> {
        self.outcomes.iter().filter_map(|outcome| outcome.name())
    }
}

impl Hierarchy {
    /// Learns a text or a document at all levels, by the rules of the training, in one step: no
    /// [commit](Self::commit) falls between its levels, whichever threads learn and commit.
    ///
    /// Every handle of this hierarchy sees at once what is learned; a pattern is seen before the ones above
    /// that are made of it. It is safe from a crash with the next commit. What is learned is what
    /// training on the same documents learns, whatever their order. Where documents come from is not
    /// recorded.
    ///
    /// Computes, and reads an index on the disk where there is one: call it on a thread that may block.
    /// While it runs, the patterns of the document are held as text besides.
    ///
    /// ```
    /// # use kato_engine::Engine;
    /// # use kato_hierarchy::{GenerationOptions, Hierarchy};
    /// # use kato_learner::{HierarchicalNode, LearnerConfig};
    /// # let settings = LearnerConfig::new(vec![HierarchicalNode::new("node0", 3), HierarchicalNode::new("node1", 2)]);
    /// # let hierarchy = Hierarchy::new(Engine::in_memory(&["node0", "node1"]), kato_tokenizer::gpt2(), settings)?;
    /// let learned = hierarchy.learn("the cat sleeps on the mat")?;
    /// assert_eq!((learned.levels[0].n_new(), learned.levels[1].n_new()), (2, 1));
    ///
    /// let generation = hierarchy.generate("the cat", &GenerationOptions::default())?;
    /// assert_eq!(generation.text, " sleeps on the mat");
    /// # Ok::<(), kato_hierarchy::HierarchyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Learn`] when the text cannot be tokenized, [`HierarchyError::Engine`] when the
    /// knowledge base is open for reading only, the text holds a retired pattern, or a node is full; nothing
    /// was learned then, unless [a node is full or the pattern was retired
    /// meanwhile](kato_engine::Engine::teach_together).
    pub fn learn<'a>(
        &self,
        document: impl Into<TextDocument<'a>>,
    ) -> Result<Learned, HierarchyError> {
        let document = document.into();
        let learner = self.learner()?;
        let mut scratch = learner.new_scratch();
        let plan = learner.plan(&document, &mut scratch)?;
        let recorded = match learner.config().recording.metadata {
            true => metadata_of(document.metadata),
            false => Metadata::default(),
        };
        let lessons = lessons(plan, learner.tokenizer().vocabulary(), &recorded);
        let outcomes = self.engine().teach_together(&lessons)?;
        let mut levels = vec![LearnedLevel::default(); plan.n_nodes()];
        for ((level, _), outcome) in lessons.iter().zip(outcomes) {
            levels[*level].outcomes.push(outcome);
        }
        Ok(Learned {
            levels,
            n_tokens: plan.n_tokens(),
            dropped: *plan.dropped(),
        })
    }

    /// Makes durable what was learned before the call. Learning and asking go on meanwhile. Does nothing
    /// in memory, or when there is nothing to commit.
    ///
    /// Writes to the disk: call it on a thread that may block.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Engine`], as [`Engine::commit`](kato_engine::Engine::commit) says.
    pub fn commit(&self) -> Result<(), HierarchyError> {
        Ok(self.engine().commit()?)
    }

    /// Forgets everything that was ever learned, durably where there is a store, and the position of a
    /// training with it: one that goes on begins anew.
    ///
    /// A document that is learned meanwhile is forgotten as a whole or stays as a whole.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Engine`]; then nothing is forgotten, unless the store finds the commit when it is
    /// opened again.
    pub fn forget(&self) -> Result<(), HierarchyError> {
        Ok(self.engine().clear(Value::Null)?)
    }

    /// Returns the learner of the training, which is made when it is first needed.
    fn learner(&self) -> Result<&HierarchicalConceptLearner, HierarchyError> {
        if let Some(learner) = self.learner.get() {
            return Ok(learner);
        }
        let builder = HierarchicalConceptLearner::builder(self.shared_tokenizer())
            .with_config(self.settings().clone())
            // A training with such levels has happened, so they are permitted.
            .permit_single_name_chunks();
        let learner = builder.build()?;
        Ok(self.learner.get_or_init(|| learner))
    }
}

/// Returns the learn calls of a plan as lessons, the lower levels first.
fn lessons(
    plan: &DocumentPlan,
    vocabulary: &Vocabulary,
    recorded: &Metadata,
) -> Vec<(usize, Lesson)> {
    let mut lessons = Vec::new();
    // Of the level below: names of its calls, to which those of a level refer by number.
    let mut below: Vec<Option<PatternName>> = Vec::new();
    for level in 0..plan.n_nodes() {
        for call in plan.calls(level) {
            // Nothing is learned from one symbol.
            if call.name.is_some() {
                let mut lesson = Lesson::new(events(&call, vocabulary, &below));
                if call.with_metadata {
                    lesson.metadata = recorded.clone();
                }
                lessons.push((level, lesson));
            }
        }
        below = plan.calls(level).map(|call| call.name).collect();
    }
    lessons
}

/// Returns the events of a learn call.
fn events(
    call: &PlannedCall<'_>,
    vocabulary: &Vocabulary,
    below: &[Option<PatternName>],
) -> Vec<Event> {
    match call.symbols {
        PlannedSymbols::Tokens(ids) => {
            // The learner has refused ids that the vocabulary does not name.
            let token = |&id: &u32| token_event(vocabulary.get(id).unwrap_or_default());
            ids.iter().map(token).collect()
        }
        PlannedSymbols::Children(children) => {
            let child = |child: &Child| match child {
                Child::Below(call_idx) => below[*call_idx as usize],
                Child::Foreign(name) => Some(*name),
                _ => None,
            };
            // The empty symbol stands for a chunk of one name.
            let event = |name: Option<PatternName>| match name {
                Some(name) => name_event(&name),
                None => token_event(""),
            };
            children.iter().map(|one| event(child(one))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns pairs of keys and values as metadata.
fn metadata_of(pairs: &[(&str, &str)]) -> Metadata {
    let mut metadata = Metadata::default();
    for (key, value) in pairs {
        metadata.insert_text(key, (*value).to_owned(), None);
    }
    metadata
}
