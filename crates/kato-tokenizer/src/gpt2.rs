//! GPT-2's tokenizer, from data compiled into the crate.

mod cache;
pub(crate) mod split;
mod unicode;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use memchr::memmem::Finder;

use self::cache::WordCache;
use self::split::{Classes, Words};
use crate::alphabet::{byte_of, text_of};
use crate::bpe::{Bpe, Merges};
use crate::{Family, TokenizeError, Tokenizer, Vocabulary};

/// The merges of GPT-2 by rank, two ids of 16 bits each, little endian; made by
/// `examples/pack_gpt2.rs`, licence in `NOTICE`.
static MERGES: &[u8] = include_bytes!("../data/gpt2.merges");

/// What the fingerprint of the published `tokenizer.json` is; tests compare it.
const FINGERPRINT: &str = "e0d47427f5c65105f315d78cbf21745a953adc1e4f9b603c3249f93cd87318cf";

/// The one token that no merges make. Written in a text it becomes its id.
const END_OF_TEXT: &str = "<|endoftext|>";
const END_OF_TEXT_ID: u32 = 50_256;

/// GPT-2's byte-level BPE, made by [`gpt2`]. Cloning shares it.
///
/// The crate documentation says what is guaranteed.
#[derive(Clone)]
pub struct Gpt2 {
    model: &'static Model,
}

/// Returns GPT-2's byte-level BPE: 50,257 tokens, offline.
///
/// The first call in a process prepares the data (about 10 ms); later calls share it.
///
/// ```
/// use kato_tokenizer::{Tokenizer, gpt2};
/// assert_eq!(gpt2().vocabulary().len(), 50_257);
/// assert_eq!(gpt2().encode("Hello world")?, [15_496, 995]);
/// # Ok::<(), kato_tokenizer::TokenizeError>(())
/// ```
#[must_use]
pub fn gpt2() -> Gpt2 {
    static MODEL: LazyLock<Model> = LazyLock::new(Model::new);
    Gpt2 { model: &MODEL }
}

/// Everything that clones share.
struct Model {
    vocabulary: Vocabulary,
    bpe: Bpe,
    classes: Classes,
    end_of_text: Finder<'static>,
}

impl Model {
    fn new() -> Self {
        // The ids of the bytes are in the order of their characters, and those of merged tokens in
        // the order of the merges, so that no id but those of the merged parts must be stored.
        let mut bytes = [None; 256];
        let mut tokens: Vec<String> = Vec::new();
        for character in '\0'..='\u{143}' {
            if let Some(byte) = byte_of(character) {
                bytes[usize::from(byte)] = Some(tokens.len() as u32);
                tokens.push(character.into());
            }
        }
        let pairs = MERGES.as_chunks::<4>().0;
        let mut merges = Merges::with_capacity_and_hasher(pairs.len(), RandomState::default());
        for (rank, &[a, b, c, d]) in (0..).zip(pairs) {
            let (left, right) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
            let pair = (u32::from(left), u32::from(right));
            merges.insert(pair, (rank, tokens.len() as u32));
            let made = [left, right].map(|id| &*tokens[usize::from(id)]).concat();
            tokens.push(made);
        }
        tokens.push(END_OF_TEXT.into());
        Self {
            vocabulary: Vocabulary::from_tokens(tokens),
            bpe: Bpe {
                bytes,
                merges,
                whole: HashMap::default(),
            },
            classes: Classes::new(),
            end_of_text: Finder::new(END_OF_TEXT),
        }
    }

    /// Appends the ids of a text.
    fn encode_into(&self, mut text: &str, cache: &mut WordCache, ids: &mut Vec<u32>) {
        while let Some(at) = self.end_of_text.find(text.as_bytes()) {
            self.encode_words(&text[..at], cache, ids);
            ids.push(END_OF_TEXT_ID);
            text = &text[at + END_OF_TEXT.len()..];
        }
        self.encode_words(text, cache, ids);
    }

    /// Appends the ids of a text without the special token.
    fn encode_words(&self, text: &str, cache: &mut WordCache, ids: &mut Vec<u32>) {
        for word in Words::new(&self.classes, text) {
            let rest = &text.as_bytes()[word.start..];
            cache.append(rest, word.len(), ids, |word, ids| {
                let encoded = self.bpe.word(word, ids);
                encoded.expect("every byte is a token of GPT-2");
            });
        }
    }
}

impl Tokenizer for Gpt2 {
    fn name(&self) -> &str {
        "gpt2"
    }

    fn fingerprint(&self) -> &str {
        FINGERPRINT
    }

    fn family(&self) -> Family {
        Family::Gpt2
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.model.vocabulary
    }

    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        thread_local! {
            static CACHE: RefCell<WordCache> = RefCell::new(WordCache::new());
        }
        if u32::try_from(text.len()).is_err() {
            return Err(TokenizeError::Engine {
                bytes: text.len(),
                source: "a text of more than 4 GiB cannot be tokenized at once".into(),
            });
        }
        CACHE.with_borrow_mut(|cache| self.model.encode_into(text, cache, ids));
        Ok(())
    }

    fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::new();
        for &id in ids {
            let token = self.model.vocabulary.get(id).unwrap_or_default();
            if id == END_OF_TEXT_ID {
                bytes.extend_from_slice(token.as_bytes());
            } else {
                bytes.extend(token.chars().filter_map(byte_of));
            }
        }
        text_of(bytes)
    }

    fn is_special(&self, id: u32) -> bool {
        id == END_OF_TEXT_ID
    }
}

impl fmt::Debug for Gpt2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpt2")
            .field("name", &self.name())
            .field("family", &self.family())
            .field("fingerprint", &self.fingerprint())
            .field("vocabulary", self.vocabulary())
            .finish_non_exhaustive()
    }
}
