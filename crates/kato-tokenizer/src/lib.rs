#![doc = include_str!("../README.md")]
//!
//! # Which tokenizer
//!
//! Start with [`load`], or with [`gpt2`] where nothing else is to be chosen.
//!
//! | need | take |
//! |---|---|
//! | what the user named: `gpt2`, or a path | [`load`] |
//! | GPT-2, offline, from data compiled in | [`gpt2`] |
//! | a `tokenizer.json`, with the feature `huggingface` | `HfTokenizer` |
//! | one already downloaded by Hugging Face tools, with that feature | `load_with_hub_cache` |
//! | words between blanks, mostly for tests | [`Whitespace`] |
//! | something else | implement [`Tokenizer`] |
//!
//! Every one of them is a [`Tokenizer`], whose [`Vocabulary`] turns ids into token strings.

mod alphabet;
mod bpe;
mod error;
mod family;
mod gpt2;
#[cfg(feature = "huggingface")]
mod huggingface;
mod load;
mod tokenizer;
mod vocabulary;
mod whitespace;

pub use error::{LoadTokenizerError, TokenizeError};
pub use family::Family;
pub use gpt2::{Gpt2, gpt2};
#[cfg(feature = "huggingface")]
pub use huggingface::HfTokenizer;
pub use load::load;
#[cfg(feature = "huggingface")]
pub use load::load_with_hub_cache;
pub use tokenizer::Tokenizer;
pub use vocabulary::Vocabulary;
pub use whitespace::Whitespace;
