//! Text to token strings: GPT-2 built in, any Hugging Face `tokenizer.json` by path.
//!
//! KATO's symbols are *token strings in the tokenizer's own alphabet* (`"Ġcat"`, `"ĊĊ"`), not ids and not decoded text. This
//! crate turns text into ids, and its [`Vocabulary`] turns ids into those strings, so a caller can work on `u32` and look a
//! string up once per id.
//!
//! ```
//! use kato_tokenizer::{Tokenizer, gpt2};
//!
//! let tokenizer = gpt2();
//! let mut ids = Vec::new();
//! tokenizer.encode_into("The cat sat.", &mut ids)?;
//! let tokens: Vec<_> = ids.iter().filter_map(|&id| tokenizer.vocabulary().get(id)).collect();
//! assert_eq!(tokens, ["The", "Ġcat", "Ġsat", "."]);
//! assert_eq!(tokenizer.decode(&ids), "The cat sat.");
//! # Ok::<(), kato_tokenizer::TokenizeError>(())
//! ```
//!
//! # Which tokenizer
//!
//! | need | take |
//! |---|---|
//! | what the user named: `gpt2`, or a path | [`load`] |
//! | a model already downloaded by Hugging Face tools | [`load_with_hub_cache`] |
//! | GPT-2, offline, from data compiled in | [`gpt2`] |
//! | words between blanks, mostly for tests | [`Whitespace`] |
//! | something else | implement [`Tokenizer`] |
//!
//! # Guarantees
//!
//! - **Exact.** GPT-2 ids equal those of the original, tested against an independent implementation. The engine underneath is
//!   the fastest measured, but it recognises a vocabulary entry by 32 bits of hash, so about one unseen word in four billion
//!   gets the id of an unrelated token. For byte-level BPE (GPT-2, RoBERTa, BART, Phi-2, Llama 3 …) every result is therefore
//!   checked to spell its text, and encoded again without hashes where it does not. Other models (WordPiece, Unigram,
//!   SentencePiece-style BPE) are not checked.
//!   What is a letter or a digit follows Unicode 17; implementations with older tables split differently around the 4,657
//!   letters and digits new in it.
//! - **Nothing added, nothing cut.** No special tokens are added, whatever the file's post-processor says; its truncation and
//!   padding are ignored. Special tokens *written in the text*, such as `<|endoftext|>`, become their id, as in Hugging Face.
//! - **No threads, no global pool.** Encoding runs on the calling thread; a tokenizer is `Send + Sync` and cheap to share.
//! - **Bounded memory.** The word cache has a fixed size per concurrently encoding thread (about 2 MiB, at most 6 MiB);
//!   work buffers grow with the longest single text, never with the amount of text.
//! - **No implicit files, environment or network.** Only the path given is read.

mod error;
mod family;
mod gpt2;
mod huggingface;
mod load;
mod tokenizer;
mod vocabulary;
mod whitespace;

pub use error::{LoadError, TokenizeError};
pub use family::Family;
pub use gpt2::gpt2;
pub use huggingface::HfTokenizer;
pub use load::{load, load_with_hub_cache};
pub use tokenizer::Tokenizer;
pub use vocabulary::Vocabulary;
pub use whitespace::Whitespace;
