//! Tokenizers of any Hugging Face `tokenizer.json`: the engine, and the check of what it returns.

mod check;
mod definition;
mod spelling;

use std::cell::RefCell;
use std::fmt;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

use self::check::ResultCheck;
use self::definition::Definition;
use self::spelling::Spelling;
use crate::{Family, LoadError, TokenizeError, Tokenizer, Vocabulary};

/// A tokenizer read from a Hugging Face `tokenizer.json`, format 1.0 or 2.0. Cloning shares it.
///
/// Needs the feature `huggingface`.
///
/// The crate documentation says what is guaranteed.
#[derive(Clone)]
pub struct HfTokenizer {
    name: Arc<str>,
    family: Family,
    engine: Arc<Engine>,
}

/// The engine and everything that clones of a tokenizer share.
struct Engine {
    pipeline: PipelineTokenizer,
    options: EncodeOptions,
    vocabulary: Vocabulary,
    fingerprint: String,
    /// Ids of control tokens, ascending.
    special: Vec<u32>,
    /// Present for byte-level BPE, whose tokens must spell the text.
    check: Option<ResultCheck>,
}

impl HfTokenizer {
    /// Reads a tokenizer from the file at `path`.
    ///
    /// `name` is what [`name`](Tokenizer::name) returns and what decides the [`Family`].
    ///
    /// # Errors
    ///
    /// [`LoadError::Read`] and [`LoadError::Definition`].
    pub fn from_file(name: &str, path: &Path) -> Result<Self, LoadError> {
        let read = |source| LoadError::Read {
            path: path.to_path_buf(),
            source,
        };
        Self::from_json(name, &std::fs::read_to_string(path).map_err(read)?)
    }

    /// Creates a tokenizer from the text of a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// [`LoadError::Definition`] when the text is not such a file, or uses something the engine
    /// lacks, such as dropout.
    pub fn from_json(name: &str, json: &str) -> Result<Self, LoadError> {
        let engine = Engine::new(json).map_err(|source| LoadError::Definition {
            name: name.to_owned(),
            source,
        })?;
        Ok(Self {
            name: name.into(),
            family: Family::from_name(name),
            engine: Arc::new(engine),
        })
    }

    /// Sets the family, where the name leads to a wrong one.
    #[must_use]
    pub fn with_family(self, family: Family) -> Self {
        Self { family, ..self }
    }
}

impl Engine {
    /// Reads a definition and prepares the check where the model allows one.
    fn new(json: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let definition = Definition::parse(json)?;
        let canonical = definition.canonical_json();
        // The engine asserts where it should return an error; a malformed file must
        // not end the process.
        let pipeline = catch_unwind(|| tokenizers::from_json(&canonical)).map_err(
            |_| "the engine panicked while reading it; the file is damaged or of an unknown kind",
        )??;
        // Training learns a text as it is, so nothing is added to it and nothing is cut.
        let options = EncodeOptions {
            add_special_tokens: false,
            encode_special_tokens: false,
            padding: Override::Off,
            truncation: Override::Off,
        };
        let token = |id| {
            pipeline
                .decode_tokens(&[id], false)
                .pop()
                .unwrap_or_default()
        };
        let mut tokens: Vec<String> = (0..definition.id_bound()).map(token).collect();
        // The bound may be above the highest id in use.
        while tokens.pop_if(|last| last.is_empty()).is_some() {}
        let vocabulary = Vocabulary::from_tokens(tokens);
        let mut special = Vec::new();
        let mut added = Vec::new();
        for (id, token) in pipeline.get_added_vocabulary().get_added_tokens_decoder() {
            if token.special {
                special.push(id);
            }
            added.push(id);
        }
        special.sort_unstable();
        added.sort_unstable();
        let check = definition.byte_level_bpe().map(|bpe| {
            let spelling = Spelling::new(&vocabulary, &added);
            ResultCheck { spelling, bpe }
        });
        Ok(Self {
            pipeline,
            options,
            vocabulary,
            fingerprint: definition.fingerprint(),
            special,
            check,
        })
    }

    /// Appends the ids that the engine gives, without a check.
    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        /// Most tokens for which memory stays allocated per thread between texts.
        const MAX_RETAINED: usize = 1 << 18;
        thread_local! {
            static TOKENS: RefCell<Vec<PipelineToken>> = const { RefCell::new(Vec::new()) };
        }
        TOKENS.with_borrow_mut(|tokens| {
            tokens.clear();
            self.pipeline.encode_into(text, &self.options, tokens)?;
            ids.extend(tokens.iter().map(|token| token.id()));
            // One very long text must not hold its memory for as long as the thread lives.
            if tokens.capacity() > MAX_RETAINED {
                *tokens = Vec::new();
            }
            Ok(())
        })
    }
}

impl Tokenizer for HfTokenizer {
    fn name(&self) -> &str {
        &self.name
    }

    fn fingerprint(&self) -> &str {
        &self.engine.fingerprint
    }

    fn family(&self) -> Family {
        self.family
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.engine.vocabulary
    }

    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        let before = ids.len();
        let mut encoded = self.engine.encode_into(text, ids);
        // The engine recognises words by 32 bits of a hash, and a word that it takes for another
        // has tokens that do not spell it. After an error of the engine there are no ids to spell
        // the text, and the exact rules decide.
        if let Some(check) = &self.engine.check
            && !check.spelling.spells(&ids[before..], text.as_bytes())
        {
            ids.truncate(before);
            encoded = check.encode_into(&self.engine.pipeline, text, ids);
        }
        encoded.map_err(|source| {
            // The exact rules may have appended some ids before they failed.
            ids.truncate(before);
            TokenizeError::Engine {
                bytes: text.len(),
                source,
            }
        })
    }

    fn decode(&self, ids: &[u32]) -> String {
        match &self.engine.check {
            // Tokens that spell the text need no decoder to undo them.
            Some(check) => check.spelling.text(ids),
            None => self.engine.pipeline.decode(ids, false).unwrap_or_else(|_| {
                // A decoder that cannot undo this sequence still leaves its tokens to show.
                ids.iter()
                    .filter_map(|&id| self.engine.vocabulary.get(id))
                    .collect()
            }),
        }
    }

    fn is_special(&self, id: u32) -> bool {
        self.engine.special.binary_search(&id).is_ok()
    }
}

impl fmt::Debug for HfTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HfTokenizer")
            .field("name", &self.name)
            .field("family", &self.family)
            .field("fingerprint", &self.engine.fingerprint)
            .field("vocabulary", &self.engine.vocabulary)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
