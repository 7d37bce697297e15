//! The decoder of patterns: from symbols back to the text that they stand for.

use std::sync::Arc;

use kato_model::{PatternName, Symbol};
use kato_scheduler::RunConfiguration;
use kato_tokenizer::Tokenizer;

/// Most symbols that become text: about ten pages.
const MAX_SYMBOLS: usize = 4096;

/// A decoder that turns symbols into text by the tokenizer of the run, or shows them as they are
/// where it is not at hand.
#[derive(Debug)]
pub(crate) struct Decoder {
    tokenizer: Option<Arc<dyn Tokenizer>>,
    problem: Option<String>,
}

impl Decoder {
    /// Creates the decoder for what a run learned, without a tokenizer where the run is not known.
    #[must_use]
    pub(crate) fn of(run: Option<&RunConfiguration>) -> Self {
        let Some(run) = run else {
            return Self {
                tokenizer: None,
                problem: None,
            };
        };
        match kato_tokenizer::load(&run.rules.tokenizer) {
            // Another tokenizer of the same name would turn the symbols into a text that nobody
            // wrote.
            Ok(tokenizer) if tokenizer.fingerprint() == run.rules.tokenizer_fingerprint => Self {
                tokenizer: Some(tokenizer),
                problem: None,
            },
            Ok(_) => Self::without("it is not the one that the run used"),
            Err(error) => Self::without(&error.to_string()),
        }
    }

    /// Creates a decoder without a tokenizer, for a reason that the user should know.
    fn without(problem: &str) -> Self {
        Self {
            tokenizer: None,
            problem: Some(problem.to_owned()),
        }
    }

    /// Returns the reason why the run's tokenizer cannot be used, so that tokens are shown as they
    /// are.
    #[must_use]
    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the text of the symbols, cut with an ellipsis after 4096 of them; names stand for
    /// text that is not known.
    pub(crate) fn text<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) -> String {
        let mut symbols = symbols.into_iter();
        // `by_ref`, so that what is left afterwards tells whether there were more symbols. Those
        // are not even read: a pattern can stand for any amount of text.
        let parts: Vec<String> = symbols.by_ref().take(MAX_SYMBOLS).map(part).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let mut text = match &self.tokenizer {
            Some(tokenizer) => tokenizer.decode_tokens(&parts),
            None => parts.join(" "),
        };
        if symbols.next().is_some() {
            text.push('…');
        }
        text
    }
}

/// Returns a symbol as it goes into the text.
fn part(symbol: &Symbol) -> String {
    match symbol {
        Symbol::Text(text) => text.to_string(),
        Symbol::Name(name) => format!("<{}?>", short(name)),
    }
}

/// Returns the first 8 digits of a name.
pub(crate) fn short(name: &PatternName) -> String {
    format!("{name:.8}")
}
