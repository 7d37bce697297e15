//! Generates text step by step, each step with its provenance.

mod beam;
mod candidate;
mod choice;
mod generator;
mod options;
mod search;
mod span;
mod walk;

pub use generator::Generator;
pub use options::{GenerationOptions, Strategy};
pub use span::{Fit, GeneratedSpan, Generation, GenerationEnd, PatternLink, SpanPiece};

use crate::{Hierarchy, HierarchyError, Prompt};

impl Hierarchy {
    /// Continues a prompt; see [`Generator`] for how, and [`generator`](Self::generator) to have
    /// every span as soon as it is found.
    ///
    /// An empty answer is an answer: [`Generation::end`] states why nothing came.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Option`], [`HierarchyError::UnknownLevel`], [`HierarchyError::Tokenize`],
    /// [`HierarchyError::UnknownToken`], [`HierarchyError::Engine`] when a node cannot be read, and
    /// [`HierarchyError::Source`] when the store cannot.
    pub fn generate<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        options: &GenerationOptions,
    ) -> Result<Generation, HierarchyError> {
        let mut generator = self.generator(prompt, options)?;
        let spans = generator.by_ref().collect::<Result<Vec<_>, _>>()?;
        let tokens: Vec<String> = spans
            .iter()
            .flat_map(|span| &span.tokens)
            .cloned()
            .collect();
        let prompt_tokens = generator.prompt_tokens().to_vec();
        Ok(Generation {
            text: self.decode(&tokens),
            // Decoded together: a character may reach from the prompt into the answer.
            whole_text: self.decode(&[prompt_tokens.as_slice(), &tokens].concat()),
            prompt_tokens,
            tokens,
            spans,
            // An iterator that has ended has set the reason, so the fallback is not reached.
            end: generator.end().cloned().unwrap_or(GenerationEnd::NoAnswer),
        })
    }

    /// Starts to continue a prompt; spans come one by one.
    ///
    /// # Errors
    ///
    /// As [`generate`](Self::generate), without [`HierarchyError::Source`], which a span can be
    /// instead.
    pub fn generator<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        options: &GenerationOptions,
    ) -> Result<Generator<'_>, HierarchyError> {
        options.check()?;
        if let Some(level) = options.level {
            self.check_level(level)?;
        }
        Generator::new(self, prompt.into(), options.clone())
    }
}
