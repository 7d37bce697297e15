//! Scoring of candidates: one pattern against the state, by the settings of one prediction.

use std::ops::RangeInclusive;

use kato_model::KatoGeneration;

use crate::bounds::BoundRules;
use crate::cancel::{Cancel, Cancelled};
use crate::events::{EventBounds, EventSymbols, read_ends, symbols_of_events};
use crate::filter::FilterChain;
use crate::fuzzy::{FuzzyMatcher, FuzzySymbol};
use crate::index::{Hidden, PatternIndex};
use crate::matcher::{BlockSummary, Matcher};
use crate::matching::{CharacterProfile, token_similarity};
use crate::metrics::{cohesion, confidence, evidence, pre_potential, snr};
use crate::page::Page;
use crate::refine::{Pair, ends_of, refine};
use crate::search::{SearchWork, TieOrder};
use crate::split::Split;
use crate::state::{OverlapBounds, State};
use crate::symbols::Symbols;
use crate::{PredictionConfig, SymbolId};

/// The rules that decide whether a pattern becomes a prediction, and the score by which
/// candidates are cut.
#[derive(Debug)]
pub(crate) struct Candidates<'a> {
    state: &'a State<'a>,
    table: &'a Symbols,
    hidden: &'a Hidden,
    config: &'a PredictionConfig,
    cancel: &'a Cancel,
    matcher: Matcher<'a>,
    fuzzy: Option<FuzzyMatcher<'a>>,
    /// The state's text, where similarity is that of characters.
    characters: Option<CharacterProfile>,
    filters: FilterChain,
    /// Symbols of the pattern that was scored last.
    symbols: Vec<SymbolId>,
    /// Matching blocks of the pattern that was scored last.
    summary: BlockSummary,
    /// Reused.
    pairs: Vec<Pair>,
    event_ends: Vec<usize>,
    /// What was done so far.
    pub(crate) work: SearchWork,
}

/// What a pattern and the state share.
#[derive(Debug)]
pub(crate) struct FullMatch<'a> {
    pub(crate) similarity: f64,
    pub(crate) summary: BlockSummary,
    /// The matches of equal symbols, in order.
    pub(crate) pairs: &'a [Pair],
    /// Whether past, present and future are told by them, and no symbols counted.
    pub(crate) is_by_position: bool,
}

impl<'a> Candidates<'a> {
    /// Prepares the state for comparisons with many patterns.
    pub(crate) fn new(
        state: &'a State<'a>,
        index: &'a PatternIndex,
        config: &'a PredictionConfig,
        cancel: &'a Cancel,
    ) -> Result<Self, Cancelled> {
        Self::prepare(
            state,
            (index.symbol_table(), index.hidden()),
            config,
            cancel,
        )
    }

    fn prepare(
        state: &'a State<'a>,
        (table, hidden): (&'a Symbols, &'a Hidden),
        config: &'a PredictionConfig,
        cancel: &'a Cancel,
    ) -> Result<Self, Cancelled> {
        // KATO compares the characters of symbols joined by blanks.
        let characters =
            (!config.use_token_matching).then(|| CharacterProfile::new(&state.texts.join(" ")));
        Ok(Self {
            state,
            table,
            hidden,
            config,
            cancel,
            matcher: Matcher::new(state),
            fuzzy: FuzzyMatcher::new(state, table, config.fuzzy_token_threshold),
            characters,
            filters: FilterChain::new(config, state, cancel)?,
            symbols: Vec::new(),
            summary: BlockSummary::default(),
            pairs: Vec::new(),
            event_ends: Vec::new(),
            work: SearchWork::default(),
        })
    }

    /// Prepares the same comparisons for another thread.
    pub(crate) fn fork(&self) -> Result<Self, Cancelled> {
        let of_index = (self.table, self.hidden);
        Self::prepare(self.state, of_index, self.config, self.cancel)
    }

    /// Returns the patterns that are no candidates whatever they resemble.
    pub(crate) fn hidden(&self) -> &Hidden {
        self.hidden
    }

    /// Returns what ends the prediction.
    pub(crate) fn cancel(&self) -> &'a Cancel {
        self.cancel
    }

    /// Fails if the prediction was cancelled.
    pub(crate) fn check(&self) -> Result<(), Cancelled> {
        self.cancel.check()
    }

    /// Returns whether these settings rule out every pattern.
    pub(crate) fn reject_all(&self) -> bool {
        // By characters, KATO 3.10.1 finds nothing with a threshold of exactly 0: its scorer
        // rejects the slightly negative cut-off that comes of it (docs/compatibility.md).
        let is_zero = self.config.recall_threshold == 0.0;
        let is_refused = self.config.generation.needs_common_symbols();
        self.filters.passes_nothing() || (self.characters.is_some() && is_zero && !is_refused)
    }

    /// Returns what the bounds of the score need to know of the settings.
    pub(crate) fn bound_rules(&self) -> BoundRules {
        BoundRules {
            token_threshold: self
                .characters
                .is_none()
                .then_some(self.config.recall_threshold),
            keeps_unmatched: self.keeps_unmatched(),
            by_position: self.by_position(),
            is_fuzzy: self.fuzzy.is_some(),
        }
    }

    /// Returns whether patterns of these lengths can be candidates.
    pub(crate) fn allow_lengths(&self, lengths: &RangeInclusive<usize>) -> bool {
        self.filters.allow_lengths(lengths)
    }

    /// Returns whether patterns without a matching block are kept, as KATO did at threshold 0.
    fn keeps_unmatched(&self) -> bool {
        self.config.recall_threshold == 0.0 && !self.config.generation.needs_common_symbols()
    }

    /// Returns whether past, present and future are told by the places that match.
    fn by_position(&self) -> bool {
        // With fuzzy matching KATO goes on to count symbols.
        self.config.generation.segments_by_position() && self.fuzzy.is_none()
    }

    /// Returns the generation whose predictions are made.
    pub(crate) fn generation(&self) -> KatoGeneration {
        self.config.generation
    }

    /// Returns the order of patterns of equal score.
    pub(crate) fn ties(&self) -> TieOrder {
        TieOrder::of(self.config.generation)
    }

    /// Scores a pattern that has this in common with the state; `None` if it
    /// cannot be a prediction.
    ///
    /// What takes longer to find out is left to [`passes`](Self::passes), which then is needed only
    /// for scores that are high enough.
    #[inline]
    pub(crate) fn score(
        &mut self,
        page: &Page,
        place: u16,
        common: OverlapBounds,
    ) -> Result<Option<f64>, Cancelled> {
        self.check()?;
        if common.symbols == 0 && !self.keeps_unmatched() {
            return Ok(None);
        }
        page.read_symbols(place, &mut self.symbols);
        self.work.n_read += 1;
        self.score_symbols(common, page.event_lengths(place))
    }

    /// Scores a pattern given by its symbols, as [`score`](Self::score) does.
    #[inline]
    pub(crate) fn score_pattern(
        &mut self,
        symbols: &[SymbolId],
        event_lengths: Option<&[u32]>,
        common: OverlapBounds,
    ) -> Result<Option<f64>, Cancelled> {
        self.check()?;
        if common.symbols == 0 && !self.keeps_unmatched() {
            return Ok(None);
        }
        self.symbols.clear();
        self.symbols.extend_from_slice(symbols);
        self.score_symbols(common, event_lengths)
    }

    /// Scores the pattern whose symbols were read last.
    #[inline]
    fn score_symbols(
        &mut self,
        common: OverlapBounds,
        event_lengths: Option<&[u32]>,
    ) -> Result<Option<f64>, Cancelled> {
        self.work.n_scored += 1;
        let shares = common.symbols > 0;
        self.matcher.set_pattern(&self.symbols);
        let length = self.symbols.len();
        if self.characters.is_none() {
            let lcs = if shares {
                self.matcher.lcs(self.cancel)?
            } else {
                0
            };
            let similarity = token_similarity(lcs, length + self.state.len());
            // Not `similarity < threshold`: a threshold that is not a number is reached by nothing.
            if similarity
                .partial_cmp(&self.config.recall_threshold)
                .is_none_or(|order| order.is_lt())
            {
                return Ok(None);
            }
        }
        self.summary = if shares {
            self.matcher.summarize_blocks(self.cancel)?
        } else {
            BlockSummary::default()
        };
        let (n_matches, first_match) = match &mut self.fuzzy {
            None => (
                self.summary.n_matched,
                self.symbols.get(self.summary.start).copied(),
            ),
            Some(fuzzy) => fuzzy.count(&self.symbols, self.cancel)?,
        };
        // A pattern without a block is all present, as in KATO.
        let present = if self.summary.n_blocks == 0 {
            length
        } else if self.by_position() {
            self.present_by_position(event_lengths, common)?
        } else {
            let is_first_match = |place: usize| first_match == Some(self.symbols[place]);
            let (start, end) = (self.summary.start, self.summary.end);
            Split::new(length, event_lengths, start, end, is_first_match)
                .present_symbols
                .len()
        };
        Ok(Some(pre_potential(
            evidence(n_matches, length),
            confidence(n_matches, present),
            snr(n_matches, self.state.len() - n_matches),
            cohesion(self.summary.n_blocks),
        )))
    }

    /// Returns the number of symbols in the events from the first to the last match of the pattern whose
    /// blocks were summarised last.
    #[inline]
    fn present_by_position(
        &mut self,
        event_lengths: Option<&[u32]>,
        common: OverlapBounds,
    ) -> Result<usize, Cancelled> {
        let (first, last) = (self.summary.start, self.summary.end - 1);
        let n_left = common.symbols - self.summary.n_matched;
        if !self.matcher.has_choice_of_places(&self.symbols, n_left) {
            return Ok(event_lengths.map_or(last + 1 - first, |lengths| {
                symbols_of_events(lengths, first, last)
            }));
        }
        read_ends(event_lengths.unwrap_or_default(), &mut self.event_ends);
        let ends = event_lengths.map(|_| &*self.event_ends);
        let events = EventBounds::new(ends);
        self.matcher.read_pairs(&mut self.pairs);
        let pattern = EventSymbols {
            symbols: &self.symbols,
            events,
        };
        let state = self.state.in_events();
        refine(pattern, state, &mut self.pairs, self.cancel)?;
        let (first, last) = ends_of(&self.pairs);
        Ok(events.range_of(last).end - events.range_of(first).start)
    }

    /// Matches a pattern and the state in full.
    pub(crate) fn full_match(
        &mut self,
        pattern: EventSymbols<'_>,
    ) -> Result<FullMatch<'_>, Cancelled> {
        self.matcher.set_pattern(pattern.symbols);
        let summary = self.matcher.summarize_blocks(self.cancel)?;
        self.matcher.read_pairs(&mut self.pairs);
        let is_by_position = self.by_position();
        if is_by_position && self.matcher.has_choice(pattern.symbols) {
            let state = self.state.in_events();
            refine(pattern, state, &mut self.pairs, self.cancel)?;
        }
        Ok(FullMatch {
            similarity: self.similarity_to(pattern.symbols)?,
            summary,
            pairs: &self.pairs,
            is_by_position,
        })
    }

    /// Returns whether the pattern that was scored last passes what is left: similarity of
    /// characters, and the filters.
    pub(crate) fn passes(&self) -> Result<bool, Cancelled> {
        let threshold = self.config.recall_threshold;
        let reaches = |similarity: f64| similarity >= threshold;
        if self.characters.is_some() && !reaches(self.similarity()?) {
            return Ok(false);
        }
        let fit = || Ok((self.similarity()?, self.summary.n_blocks));
        self.filters
            .passes(&self.symbols, self.state, self.table, fit, self.cancel)
    }

    /// Returns the symbols of the state that fuzzy matching accepts for a pattern, in state order;
    /// `None` without fuzzy matching.
    pub(crate) fn fuzzy_matches(
        &mut self,
        pattern: &[SymbolId],
    ) -> Result<Option<Vec<FuzzySymbol>>, Cancelled> {
        let accepted = |fuzzy: &mut FuzzyMatcher<'_>| fuzzy.accepted(pattern, self.cancel);
        self.fuzzy.as_mut().map(accepted).transpose()
    }

    /// Returns the similarity of the pattern that was scored last.
    fn similarity(&self) -> Result<f64, Cancelled> {
        self.similarity_to(&self.symbols)
    }

    /// Returns the similarity of the pattern that is set in the matcher.
    fn similarity_to(&self, pattern: &[SymbolId]) -> Result<f64, Cancelled> {
        let characters = self.characters.as_ref();
        let lcs = || self.matcher.lcs(self.cancel);
        similarity(
            pattern,
            self.state,
            self.table,
            characters,
            lcs,
            self.cancel,
        )
    }
}

/// Returns the similarity by characters if there is a profile of the state's text, else by symbols.
///
/// `lcs` computes the length of the longest common subsequence of symbols, if that is needed.
pub(crate) fn similarity(
    pattern: &[SymbolId],
    state: &State<'_>,
    table: &Symbols,
    characters: Option<&CharacterProfile>,
    lcs: impl FnOnce() -> Result<usize, Cancelled>,
    cancel: &Cancel,
) -> Result<f64, Cancelled> {
    match characters {
        None => Ok(token_similarity(lcs()?, pattern.len() + state.len())),
        Some(profile) => {
            let texts: Vec<_> = pattern.iter().map(|&symbol| table.text(symbol)).collect();
            profile.similarity_unless(&texts.join(" "), cancel)
        }
    }
}
