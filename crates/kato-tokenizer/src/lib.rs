#![doc = include_str!("../README.md")]
//!
//! # Which tokenizer
//!
//! Start with [`load`], or with [`gpt2`] where nothing else is to be chosen.
//!
//! | need | take |
//! |---|---|
//! | what the user named: `gpt2`, or a path | [`load`] |
//! | a model already downloaded by Hugging Face tools | [`load_with_hub_cache`] |
//! | GPT-2, offline, from data compiled in | [`gpt2`] |
//! | words between blanks, mostly for tests | [`Whitespace`] |
//! | something else | implement [`Tokenizer`] |
//!
//! Every one of them is a [`Tokenizer`], whose [`Vocabulary`] turns ids into token strings.

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
