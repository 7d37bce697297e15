//! The head's probabilities of the tokens that are asked, in the order of the documents.

use kato_engine::Engine;
use kato_head::{Expert, Head, HeadOptions, History, SymbolId, Weights};
use kato_tokenizer::Vocabulary;

use crate::calibration::Reliability;
use crate::report::{CountedShare, ReliabilityDiagram};
use crate::{EvaluationError, EvaluationOptions};

/// Number of ways in which the head is asked.
pub(crate) const N_HEADS: usize = 4;

/// The experts without a cache.
const NGRAMS: [Expert; 1] = [Expert::Ngrams];

/// A head of the lowest level, and one of all levels.
#[derive(Debug)]
pub(crate) struct Heads {
    pub(crate) node0: Head,
    pub(crate) all_levels: Head,
    /// By token id, the symbol of its string.
    symbols: Vec<Option<SymbolId>>,
    /// The experts of the options, and the outside.
    with_kato: Vec<Expert>,
}

impl Heads {
    /// Counts the patterns of an engine's store; `None` without a store, or where no head is asked
    /// for.
    pub(crate) fn of_engine(
        engine: &Engine,
        vocabulary: &Vocabulary,
        options: &EvaluationOptions,
    ) -> Result<Option<Self>, EvaluationError> {
        let (Some(store), Some(options)) = (engine.store(), &options.head) else {
            return Ok(None);
        };
        let head = |options: HeadOptions| {
            // Ids that share a string are one symbol, as for the other models.
            let tokens = vocabulary.iter().map(|(_, token)| token);
            Head::from_store_with_vocabulary(&**store, tokens, options)
        };
        let node0 = head(options.clone().with_levels(1))?;
        let mut all = options.clone();
        all.levels = None;
        let all_levels = head(all)?;
        let mut symbols = vec![None; vocabulary.len()];
        for (id, token) in vocabulary.iter() {
            // Both heads number the vocabulary alike, as it comes first.
            symbols[id as usize] = all_levels.symbol(token);
        }
        let with_kato = options.clone().with_expert(Expert::Outside).experts;
        Ok(Some(Self {
            with_kato,
            node0,
            all_levels,
            symbols,
        }))
    }
}

/// The state of pricing tokens with the heads, which learn whom to trust on the way.
#[derive(Debug)]
pub(crate) struct HeadRun<'a> {
    heads: &'a Heads,
    history: History,
    /// Number of the document at hand, and how many of its tokens were read.
    document: Option<u64>,
    n_read: usize,
    node0: Weights,
    all_levels: Weights,
    with_cache: Weights,
    with_kato: Weights,
    reliability: Reliability,
    top: [CountedShare; 3],
}

impl<'a> HeadRun<'a> {
    pub(crate) fn new(heads: &'a Heads) -> Self {
        Self {
            history: heads.all_levels.history(),
            heads,
            document: None,
            n_read: 0,
            node0: Weights::new(),
            all_levels: Weights::new(),
            with_cache: Weights::new(),
            with_kato: Weights::new(),
            reliability: Reliability::default(),
            top: [CountedShare::default(); 3],
        }
    }

    /// Returns the probabilities of the token at a place of a document, after the tokens before it.
    /// `expected` is what the lowest node's predictions expect, with weights.
    ///
    /// Places of one document come in ascending order.
    pub(crate) fn price(
        &mut self,
        document: u64,
        tokens: &[u32],
        place: usize,
        expected: &[(String, f64)],
    ) -> [f64; N_HEADS] {
        let (node0, head) = (&self.heads.node0, &self.heads.all_levels);
        let symbol = |&token: &u32| self.heads.symbols.get(token as usize).copied().flatten();
        if self.document != Some(document) {
            self.document = Some(document);
            self.history = head.history();
            self.n_read = 0;
        }
        for token in &tokens[self.n_read..place] {
            head.read_id(&mut self.history, symbol(token));
        }
        self.n_read = place;
        let came = symbol(&tokens[place]);
        let history = &self.history;
        let of = |head: &Head, weights: &mut Weights| {
            let next = head.next_by_experts(&NGRAMS, history, weights, None);
            next.update_weights(weights, came).unwrap_or(0.0)
        };
        let ngrams = [of(node0, &mut self.node0), of(head, &mut self.all_levels)];
        let next = head.next(&self.history, &self.with_cache, None);
        let best = next.distribution().top(10);
        let rank = best.iter().position(|(symbol, _)| Some(*symbol) == came);
        for (top, most) in self.top.iter_mut().zip([1, 5, 10]) {
            top.add(rank.is_some_and(|rank| rank < most));
        }
        let confidence = best.first().map_or(0.0, |(_, probability)| *probability);
        self.reliability.add(confidence, rank == Some(0));
        let with_cache = next
            .update_weights(&mut self.with_cache, came)
            .unwrap_or(0.0);
        let kato = head.outside(
            expected
                .iter()
                .map(|(text, weight)| (text.as_str(), *weight)),
        );
        let next = head.next_by_experts(
            &self.heads.with_kato,
            &self.history,
            &self.with_kato,
            Some(&kato),
        );
        let with_kato = next
            .update_weights(&mut self.with_kato, came)
            .unwrap_or(0.0);
        [ngrams[0], ngrams[1], with_cache, with_kato]
    }

    /// Returns how often the token that came was the first, among the first 5, and among the first
    /// 10 answers of the head with its cache.
    pub(crate) const fn top(&self) -> [CountedShare; 3] {
        self.top
    }

    pub(crate) fn calibration(&self) -> ReliabilityDiagram {
        self.reliability.finish()
    }
}
