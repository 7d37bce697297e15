//! The head of a hierarchy: next tokens with probabilities, scores of texts, and text written by
//! it.

mod score;
mod write;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use kato_engine::{Engine, Node, Session};
use kato_head::{
    Head, HeadError, HeadOptions, History, NextDistribution, Outside, SymbolId, Weights,
};
use kato_learner::LearnerConfig;
use kato_model::{Event, PatternName};
use kato_prediction::Predictions;
use kato_probe::in_order;
use kato_store::PatternStore;
use kato_tokenizer::Tokenizer;
use serde::Serialize;

pub use kato_head::explanation::{
    CachedPlace, CountedPattern, Counts, ExpertShare, OrderTerm, Reason,
};
pub use kato_head::{Expert, Explanation};

pub use self::score::{ScoredToken, TextScore};
pub use self::write::{WriteEnd, WriteOptions, WriteStrategy, WrittenText, WrittenToken};
use crate::chunked_prompt::ChunkedPrompt;
use crate::error::check_option;
use crate::hierarchy::token_event;
use crate::{Hierarchy, HierarchyError, Prompt};

/// Patterns that an explanation names for each count.
const NAMED: usize = 5;

/// A [`Head`] over the patterns of a hierarchy, asked with text; made by [`Hierarchy::head`].
///
/// It stands beside the predictions and changes none of them. A text is read as training would have
/// cut it; the history is that text and nothing else.
///
/// What it counts is what the nodes held when it was made, and what it was taught since
/// ([`learn`](Self::learn)): a pattern that is retired or purged meanwhile goes on counting until it is made
/// anew.
///
/// With [`Expert::Outside`] among its experts, what the lowest node predicts from the beginning of
/// the chunk at hand is one more expert, which costs a prediction for every token.
#[derive(Debug)]
pub struct TextHead {
    hierarchy: Hierarchy,
    /// What was counted; `None` where that lies in the engine alone.
    store: Option<Arc<dyn PatternStore>>,
    opened: Head,
    /// Counted in memory once the one that was opened turned out to be damaged.
    counted: OnceLock<Head>,
    /// Whether the head has lessons that the store may not have.
    has_learned: bool,
    weights: Weights,
}

/// A token that may come next.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NextToken {
    /// The token, in the tokenizer's own alphabet.
    pub token: String,
    /// Its text.
    pub text: String,
    /// Its probability.
    pub probability: f64,
}

/// What was read of a text: the history, and the chunk that has begun.
#[derive(Debug, Clone)]
struct Reading {
    history: History,
    open: Vec<Event>,
}

impl Hierarchy {
    /// Counts the patterns of all levels for a head, which says what comes next with which
    /// probability, and why.
    ///
    /// Reads the store once. The head learns nothing by itself; [`TextHead::learn`] keeps it in
    /// step with sessions that learn.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Head`]; [`HierarchyError::NotStored`] when the engine holds patterns that
    /// its store does not.
    pub fn head(&self, options: HeadOptions) -> Result<TextHead, HierarchyError> {
        let not_stored = |node: &Node| {
            let totals = node.totals();
            match self.engine().store() {
                Some(_) => totals.uncommitted,
                None => totals.learns,
            }
        };
        if let Some(node) = self.nodes().iter().find(|node| not_stored(node) > 0) {
            return Err(HierarchyError::NotStored {
                node: node.name().to_owned(),
                learns: not_stored(node),
            });
        }
        let store = self.engine().store().cloned();
        let head = match &store {
            Some(store) => count(&**store, self, options)?,
            None => {
                let vocabulary = self.tokenizer().vocabulary();
                Head::with_vocabulary(vocabulary.iter().map(|(_, token)| token), options)?
            }
        };
        Ok(TextHead::new(self.clone(), store, head))
    }

    /// Takes a head that counts what the engine's store holds, such as one whose counts lie [on the
    /// disk](kato_head::disk), in place of counting here. Answers are those of [`head`](Self::head).
    ///
    /// What turns out to be damaged of such counts is counted anew from the store.
    #[must_use]
    pub fn with_head(&self, head: Head) -> TextHead {
        TextHead::new(self.clone(), self.engine().store().cloned(), head)
    }
}

impl TextHead {
    /// Counts the patterns of a store whose nodes were trained with a tokenizer and these settings,
    /// and opens nothing else: no engine, which would load them for predictions. Answers are those
    /// of [`Hierarchy::head`].
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Head`], [`HierarchyError::Nodes`]; [`HierarchyError::Option`] when KATO's
    /// predictions are to be asked, which takes an engine.
    pub fn from_store(
        store: Arc<dyn PatternStore>,
        tokenizer: impl Tokenizer + 'static,
        settings: LearnerConfig,
        options: HeadOptions,
    ) -> Result<Self, HierarchyError> {
        let is_counted = !options.experts.contains(&Expert::Outside);
        let expected = "without predictions, which take an engine";
        check_option("experts", &"outside", is_counted, expected)?;
        let hierarchy = Hierarchy::new(Engine::in_memory(store.nodes()), tokenizer, settings)?;
        let head = count(&*store, &hierarchy, options)?;
        Ok(Self::new(hierarchy, Some(store), head))
    }

    /// Takes a head that counts what a store holds, with the vocabulary of this tokenizer, and opens nothing
    /// else; see [`from_store`](Self::from_store). What turns out to be damaged of counts [on the
    /// disk](kato_head::disk) is counted anew from the store.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Nodes`].
    pub fn from_head(
        head: Head,
        store: Arc<dyn PatternStore>,
        tokenizer: impl Tokenizer + 'static,
        settings: LearnerConfig,
    ) -> Result<Self, HierarchyError> {
        let hierarchy = Hierarchy::new(Engine::in_memory(store.nodes()), tokenizer, settings)?;
        Ok(Self::new(hierarchy, Some(store), head))
    }

    fn new(hierarchy: Hierarchy, store: Option<Arc<dyn PatternStore>>, head: Head) -> Self {
        Self {
            hierarchy,
            store,
            opened: head,
            counted: OnceLock::new(),
            has_learned: false,
            weights: Weights::new(),
        }
    }

    /// Returns the head, to be asked with symbols. Where it is one of counts on the disk that turn out to be
    /// damaged, later calls return another one, with numbers of its own for the symbols.
    #[must_use]
    pub fn head(&self) -> &Head {
        self.counted.get().unwrap_or(&self.opened)
    }

    /// Asks the head, and once more after counting anew where an answer went back to damaged bytes.
    fn ask<T>(
        &self,
        mut ask: impl FnMut() -> Result<T, HierarchyError>,
    ) -> Result<T, HierarchyError> {
        if self.counted.get().is_some() {
            return ask();
        }
        if let Some(answer) = self.opened.read_checked(|_| ask()) {
            return answer;
        }
        let Some(store) = self.store.as_ref().filter(|_| !self.has_learned) else {
            // The lessons are nowhere else.
            let what = self.opened.damage().unwrap_or_default();
            return Err(HeadError::Damaged { what }.into());
        };
        let counted = count(&**store, &self.hierarchy, self.opened.options().clone())?;
        // Another thread may have counted meanwhile, the same.
        drop(self.counted.set(counted));
        ask()
    }

    /// Returns how far the experts are trusted.
    #[must_use]
    pub const fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Sets how far the experts are trusted.
    #[must_use]
    pub fn with_weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// Learns how far to trust the experts from a text, and returns the number of its tokens. The
    /// text must not be one that was trained on: the n-grams know such a text by heart, and would be
    /// trusted too far.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn fit(&mut self, text: &str) -> Result<usize, HierarchyError> {
        let mut weights = std::mem::take(&mut self.weights);
        let tokens = self.score_with(text, &mut weights);
        self.weights = weights;
        Ok(tokens?.tokens.len())
    }

    /// Counts a pattern that a level learned, `times` times. The patterns that it refers to are
    /// looked up in the engine, and in the store.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Head`], [`HierarchyError::UnknownLevel`], [`HierarchyError::Engine`].
    pub fn learn(
        &mut self,
        level: usize,
        events: &[Event],
        times: u64,
    ) -> Result<(), HierarchyError> {
        self.hierarchy.check_level(level)?;
        if !self.has_learned && self.counted.get().is_none() {
            // From here on there is no way back to the store.
            self.opened.check()?;
        }
        self.has_learned = true;
        let nodes = self.hierarchy.nodes();
        let store = self.store.as_ref();
        let below = |level: usize, name: &PatternName| {
            let Some(node) = nodes.get(level) else {
                return Ok(None);
            };
            // What is retired counts as never learned, as where a store is counted.
            if node.is_retired(name) {
                return Ok(None);
            }
            let events = node.events(name)?;
            let Some(store) = store.filter(|_| events.is_none()) else {
                return Ok(events);
            };
            let failed = |source| HeadError::Store { level, source };
            let Some(stored) = store.pattern(level, name).map_err(failed)? else {
                return Ok(None);
            };
            let tombstones = store.tombstones(level).map_err(failed)?;
            let is_counted = tombstones.get(name).is_none();
            Ok::<_, HierarchyError>(is_counted.then(|| stored.events()))
        };
        let head = self.counted.get_mut().unwrap_or(&mut self.opened);
        head.learn(level, events, times, below)
    }

    /// Counts what a session has taught its node since the last call, and returns how many lessons
    /// these were. The session must be one of the hierarchy's engine, and
    /// [record its lessons](Session::record_lessons).
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn); lessons that were not counted are lost to the head.
    pub fn learn_from(&mut self, session: &mut Session) -> Result<usize, HierarchyError> {
        let level = session.node().node_idx();
        let lessons = session.take_lessons();
        for lesson in &lessons {
            self.learn(level, &lesson.events, 1)?;
        }
        Ok(lessons.len())
    }

    /// Returns the `n` most probable next tokens after a text, the most probable first.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Tokenize`], [`HierarchyError::UnknownToken`]; [`HierarchyError::Engine`] when
    /// KATO's predictions are asked and the node cannot be read; [`HierarchyError::Head`] when counts
    /// on the disk are damaged and cannot be made anew.
    pub fn next<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        n: usize,
    ) -> Result<Vec<NextToken>, HierarchyError> {
        self.next_by(prompt.into(), |next| next.distribution().top(n))
    }

    /// Returns the tokens that are chosen among those that may come next.
    fn next_by(
        &self,
        prompt: Prompt<'_>,
        choose: impl Fn(&NextDistribution<'_>) -> Vec<(SymbolId, f64)>,
    ) -> Result<Vec<NextToken>, HierarchyError> {
        self.ask(|| {
            let reading = self.read(prompt)?;
            let outside = self.outside(&reading.open)?;
            let head = self.head();
            let next = head.next(&reading.history, &self.weights, outside.as_ref());
            let best = choose(&next).into_iter();
            let token = |(symbol, probability)| {
                let token = head.text(symbol).unwrap_or_default();
                NextToken {
                    token: token.to_owned(),
                    text: self.hierarchy.decode(&[token]),
                    probability,
                }
            };
            Ok(best.map(token).collect())
        })
    }

    /// Returns what comes next after each of many texts, on so many threads: hands it to `take` in the
    /// order of the texts, on the calling thread, until there are no more or `take` breaks. Each answer is
    /// that of [`next`](Self::next).
    ///
    /// Texts are drawn as they are needed: two a thread are in memory with their answers.
    pub fn next_many<B>(
        &self,
        texts: impl IntoIterator<Item = String, IntoIter: Send>,
        n: usize,
        threads: NonZeroUsize,
        take: impl FnMut(Result<Vec<NextToken>, HierarchyError>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut texts = texts.into_iter();
        // Many questions are worth sorting all symbols once.
        let next = |text: String| self.next_by(Prompt::Text(&text), |next| next.top(n));
        in_order(threads, || texts.next(), next, take)
    }

    /// Explains the probability of a token after a text, where there is a store with the names of
    /// patterns that were counted, at most five for each count. `None` for what is no token.
    ///
    /// Naming patterns reads the whole store.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`HierarchyError::Head`] when the store cannot be read.
    pub fn explain<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        token: &str,
    ) -> Result<Option<Explanation>, HierarchyError> {
        let prompt = prompt.into();
        let explained = self.ask(|| {
            let Some(symbol) = self.head().symbol(token) else {
                return Ok(None);
            };
            let reading = self.read(prompt)?;
            let outside = self.outside(&reading.open)?;
            let history = &reading.history;
            let next = self.head().next(history, &self.weights, outside.as_ref());
            Ok(Some(next.explain(symbol)))
        })?;
        let Some(explanation) = explained else {
            return Ok(None);
        };
        let mut explanations = [explanation];
        self.name_patterns(&mut explanations)?;
        let [explanation] = explanations;
        Ok(Some(explanation))
    }

    /// Names the patterns behind explanations, where there is a store.
    fn name_patterns(&self, explanations: &mut [Explanation]) -> Result<(), HierarchyError> {
        if let Some(store) = &self.store {
            self.head().name_patterns(&**store, explanations, NAMED)?;
        }
        Ok(())
    }

    /// Reads a text.
    fn read(&self, prompt: Prompt<'_>) -> Result<Reading, HierarchyError> {
        let chunked = ChunkedPrompt::new(&self.hierarchy, prompt)?;
        let mut history = self.head().history();
        for token in chunked.tokens() {
            self.head().read(&mut history, token);
        }
        let open = chunked.open.iter().map(|token| token_event(token));
        Ok(Reading {
            history,
            open: open.collect(),
        })
    }

    /// Returns whether KATO's predictions are asked.
    fn asks_outside(&self) -> bool {
        self.head().options().experts.contains(&Expert::Outside)
    }

    /// Returns what the lowest node expects after the beginning of a chunk; `None` where it is not
    /// asked.
    fn outside(&self, open: &[Event]) -> Result<Option<Outside>, HierarchyError> {
        if !self.asks_outside() || open.is_empty() {
            return Ok(None);
        }
        let answer = self.hierarchy.predict(0, open)?;
        Ok(Some(self.head().outside(expected(&answer))))
    }
}

/// Counts the patterns of a store whose symbols are those of the hierarchy's tokenizer.
fn count(
    store: &dyn PatternStore,
    hierarchy: &Hierarchy,
    options: HeadOptions,
) -> Result<Head, HeadError> {
    let vocabulary = hierarchy.tokenizer().vocabulary();
    let tokens = vocabulary.iter().map(|(_, token)| token);
    Head::from_store_with_vocabulary(store, tokens, options)
}

/// Returns the first symbols of an answer's futures, each with frequency × similarity of the
/// prediction that expects it.
fn expected(answer: &Predictions) -> impl Iterator<Item = (&str, f64)> {
    answer.predictions.iter().flat_map(|prediction| {
        let weight = prediction.frequency as f64 * prediction.similarity;
        let symbols = prediction.future.first().into_iter();
        let symbols = symbols.flat_map(|event| event.symbols());
        symbols.map(move |symbol| (symbol.as_str(), weight))
    })
}
