//! Text written by the head: token by token, by their probabilities.

use kato_head::{Distribution, Explanation, SymbolId};
use kato_random::SplitMix64;
use serde::Serialize;

use super::{Reading, TextHead};
use crate::error::check_option;
use crate::hierarchy::token_event;
use crate::random::weighted;
use crate::{HierarchyError, Prompt};

/// Widest beam.
const MAX_WIDTH: usize = 1000;

/// The way in which the next token is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub enum WriteStrategy {
    /// The most probable.
    #[default]
    Greedy,
    /// One of the most probable tokens, in proportion to p^(1 / temperature): as many of them as together
    /// have a share of `top_p` of that.
    Sample {
        /// Above 0; the lower, the more often the most probable.
        temperature: f64,
        /// Above 0 and at most 1; with 1 every token is possible.
        top_p: f64,
        /// Seed of the draws.
        seed: u64,
    },
    /// The most probable sequence among those that are found when the `width` most probable
    /// sequences so far are followed.
    Beam {
        /// Number of sequences that are followed; 1 to 1000.
        width: usize,
    },
}

/// Settings of a text written by the head. Equal settings, prompt and knowledge give equal text, on
/// every platform.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Tokens that are written, unless a stop text ends them. Default 100.
    pub max_tokens: usize,
    /// The way in which the next token is chosen. Default: greedy.
    pub strategy: WriteStrategy,
    /// Texts after which it ends; the text itself is part of the answer. None by default.
    pub stop: Vec<String>,
    /// Whether every token is explained, with the names of patterns; reads the whole store once.
    /// Default `false`.
    pub explain: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            max_tokens: 100,
            strategy: WriteStrategy::Greedy,
            stop: Vec::new(),
            explain: false,
        }
    }
}

impl WriteOptions {
    /// Sets the number of tokens.
    #[must_use]
    pub const fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets the way in which the next token is chosen.
    #[must_use]
    pub const fn with_strategy(mut self, strategy: WriteStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Adds a text after which it ends.
    #[must_use]
    pub fn with_stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Explains every token.
    #[must_use]
    pub const fn with_explanations(mut self) -> Self {
        self.explain = true;
        self
    }

    fn check(&self) -> Result<(), HierarchyError> {
        // Every text contains the empty one, so it would end at once.
        let is_stop = self.stop.iter().all(|text| !text.is_empty());
        check_option("stop text", &"\"\"", is_stop, "not empty")?;
        match self.strategy {
            WriteStrategy::Greedy => Ok(()),
            WriteStrategy::Sample {
                temperature, top_p, ..
            } => {
                let is_positive = temperature.is_finite() && temperature > 0.0;
                check_option(
                    "temperature",
                    &temperature,
                    is_positive,
                    "a finite number above 0",
                )?;
                let is_share = top_p > 0.0 && top_p <= 1.0;
                check_option("top_p", &top_p, is_share, "above 0 and at most 1")
            }
            WriteStrategy::Beam { width } => {
                let is_width = (1..=MAX_WIDTH).contains(&width);
                check_option("width", &width, is_width, "1 to 1000")
            }
        }
    }
}

/// A token that the head wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WrittenToken {
    /// The token, in the tokenizer's own alphabet.
    pub token: String,
    /// The probability that it had after the tokens before it, whatever the temperature.
    pub probability: f64,
    /// Why; `None` unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// The reason why a text ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WriteEnd {
    /// The limit on the number of tokens was reached.
    MaxTokens,
    /// This stop text was written.
    StopText(String),
}

/// A text that the head wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WrittenText {
    /// The tokens of the prompt that belong to a chunk or the beginning of one.
    pub prompt_tokens: Vec<String>,
    /// The tokens written.
    pub tokens: Vec<WrittenToken>,
    /// Their text.
    pub text: String,
    /// The text of prompt and answer. Blank lines between paragraphs are not in it, unless chunks
    /// reach across paragraphs.
    pub whole_text: String,
    /// The reason why it ended.
    pub end: WriteEnd,
}

/// A way of going on: the place of its sequence, the token and its probability unless the sequence
/// has ended, and the logarithm of the probability of all.
type Step = (usize, Option<(SymbolId, f64)>, f64);

/// A sequence of tokens that is followed.
#[derive(Debug, Clone)]
struct Beam {
    reading: Reading,
    written: Vec<WrittenToken>,
    /// Sum of the logarithms of the probabilities.
    log_probability: f64,
    stopped: Option<String>,
}

impl TextHead {
    /// Continues the text token by token, by the probabilities of the next token.
    ///
    /// Unlike [`Hierarchy::generate`](crate::Hierarchy::generate), which follows learned patterns
    /// and ends where they end, this always goes on.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Option`], as [`next`](Self::next), and [`HierarchyError::Head`] when patterns
    /// cannot be named.
    pub fn write<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        options: &WriteOptions,
    ) -> Result<WrittenText, HierarchyError> {
        options.check()?;
        let prompt = prompt.into();
        let chunked = crate::chunked_prompt::ChunkedPrompt::new(&self.hierarchy, prompt)?;
        let prompt_tokens: Vec<String> = chunked.tokens().cloned().collect();
        let mut best = self.ask(|| self.write_from(prompt, options))?;
        self.name_patterns_of(&mut best.written)?;
        let tokens: Vec<&str> = best.written.iter().map(|token| &*token.token).collect();
        let whole: Vec<&str> = prompt_tokens
            .iter()
            .map(String::as_str)
            .chain(tokens.iter().copied())
            .collect();
        Ok(WrittenText {
            text: self.hierarchy.decode(&tokens),
            // Decoded together: a character may reach from the prompt into the answer.
            whole_text: self.hierarchy.decode(&whole),
            prompt_tokens,
            end: best.stopped.map_or(WriteEnd::MaxTokens, WriteEnd::StopText),
            tokens: best.written,
        })
    }

    /// Writes on from a prompt.
    fn write_from(
        &self,
        prompt: Prompt<'_>,
        options: &WriteOptions,
    ) -> Result<Beam, HierarchyError> {
        let beam = Beam {
            reading: self.read(prompt)?,
            written: Vec::new(),
            log_probability: 0.0,
            stopped: None,
        };
        match options.strategy {
            WriteStrategy::Greedy => self.write_beam(beam, 1, options),
            WriteStrategy::Beam { width } => self.write_beam(beam, width, options),
            WriteStrategy::Sample {
                temperature,
                top_p,
                seed,
            } => {
                let mut random = SplitMix64::from_seed(seed);
                let mut draw = |distribution: &Distribution<'_>| {
                    draw(distribution, temperature, top_p, &mut random)
                };
                self.write_drawn(beam, &mut draw, options)
            }
        }
    }

    /// Follows the most probable sequences, and returns the best.
    fn write_beam(
        &self,
        beam: Beam,
        width: usize,
        options: &WriteOptions,
    ) -> Result<Beam, HierarchyError> {
        let mut beams = vec![beam];
        for _ in 0..options.max_tokens {
            let mut next: Vec<Step> = Vec::new();
            for (idx, beam) in beams.iter().enumerate() {
                if beam.stopped.is_some() {
                    next.push((idx, None, beam.log_probability));
                    continue;
                }
                for (symbol, probability) in self.distribution(&beam.reading, |d| d.top(width))? {
                    let log = beam.log_probability + libm::log2(probability);
                    next.push((idx, Some((symbol, probability)), log));
                }
            }
            // Stable, so that ties stay in the order in which they were found.
            next.sort_by(|(.., one), (.., other)| other.total_cmp(one));
            next.truncate(width);
            let longer = |(idx, chosen, log): Step| {
                let mut beam = beams[idx].clone();
                if let Some((symbol, probability)) = chosen {
                    self.add(&mut beam, symbol, probability, options)?;
                    beam.log_probability = log;
                }
                Ok(beam)
            };
            let longer: Vec<Beam> = next
                .into_iter()
                .map(longer)
                .collect::<Result<_, HierarchyError>>()?;
            if longer.is_empty() {
                break;
            }
            beams = longer;
            if beams.iter().all(|beam| beam.stopped.is_some()) {
                break;
            }
        }
        // There is always at least the one that was given.
        Ok(beams.swap_remove(0))
    }

    /// Writes by drawing every token.
    fn write_drawn(
        &self,
        mut beam: Beam,
        draw: &mut dyn FnMut(&Distribution<'_>) -> Option<(SymbolId, f64)>,
        options: &WriteOptions,
    ) -> Result<Beam, HierarchyError> {
        while beam.written.len() < options.max_tokens && beam.stopped.is_none() {
            let drawn = self.distribution(&beam.reading, |distribution| draw(&distribution))?;
            // Without a vocabulary nothing can be drawn.
            let Some((symbol, probability)) = drawn else {
                break;
            };
            self.add(&mut beam, symbol, probability, options)?;
        }
        Ok(beam)
    }

    fn distribution<T>(
        &self,
        reading: &Reading,
        choose: impl FnOnce(Distribution<'_>) -> T,
    ) -> Result<T, HierarchyError> {
        let outside = self.outside(&reading.open)?;
        let history = &reading.history;
        let next = self.head().next(history, &self.weights, outside.as_ref());
        Ok(choose(next.distribution()))
    }

    /// Adds a token to a sequence.
    fn add(
        &self,
        beam: &mut Beam,
        symbol: SymbolId,
        probability: f64,
        options: &WriteOptions,
    ) -> Result<(), HierarchyError> {
        let token = self.head().text(symbol).unwrap_or_default().to_owned();
        let explanation = match options.explain {
            true => {
                let outside = self.outside(&beam.reading.open)?;
                let history = &beam.reading.history;
                let next = self.head().next(history, &self.weights, outside.as_ref());
                Some(next.explain(symbol))
            }
            false => None,
        };
        self.head().read_id(&mut beam.reading.history, Some(symbol));
        beam.reading.open.push(token_event(&token));
        // A full chunk is behind the text, and the next begins.
        if beam.reading.open.len() >= self.hierarchy.chunk_size(0) {
            beam.reading.open.clear();
        }
        beam.written.push(WrittenToken {
            token,
            probability,
            explanation,
        });
        beam.stopped = self.stop_text(&beam.written, &options.stop);
        Ok(())
    }

    /// Returns the stop text with which the tokens end, if they do.
    fn stop_text(&self, written: &[WrittenToken], stop: &[String]) -> Option<String> {
        let longest = stop.iter().map(String::len).max()?;
        // A token has at least one byte, so no more of them can hold a stop text.
        let from = written.len().saturating_sub(longest);
        let tokens: Vec<&str> = written[from..].iter().map(|token| &*token.token).collect();
        let text = self.hierarchy.decode(&tokens);
        stop.iter().find(|stop| text.contains(*stop)).cloned()
    }

    /// Names the patterns behind the explanations of tokens, all in one look at the store.
    fn name_patterns_of(&self, written: &mut [WrittenToken]) -> Result<(), HierarchyError> {
        let taken = written
            .iter_mut()
            .filter_map(|token| token.explanation.take());
        let mut explanations: Vec<Explanation> = taken.collect();
        if explanations.is_empty() {
            return Ok(());
        }
        self.name_patterns(&mut explanations)?;
        // Either all tokens are explained or none.
        for (token, explanation) in written.iter_mut().zip(explanations) {
            token.explanation = Some(explanation);
        }
        Ok(())
    }
}

/// Draws one of the most probable tokens; returns it with its probability.
fn draw(
    distribution: &Distribution<'_>,
    temperature: f64,
    top_p: f64,
    random: &mut SplitMix64,
) -> Option<(SymbolId, f64)> {
    let ranked = distribution.ranked();
    let weight = |&(_, probability): &(SymbolId, f64)| match temperature == 1.0 {
        true => probability,
        // Computed in software, so that it has the same bits on every platform.
        false => libm::exp(libm::log(probability) / temperature),
    };
    let mut weights: Vec<f64> = ranked.iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let n_kept = weights.iter().position(|weight| {
        sum += weight;
        sum >= top_p * all
    });
    weights.truncate(n_kept.map_or(weights.len(), |last| last + 1));
    ranked.get(weighted(random, &weights)).copied()
}
