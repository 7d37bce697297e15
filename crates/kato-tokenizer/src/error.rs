//! The errors of loading and of using a tokenizer.

use std::error::Error as StdError;
use std::path::PathBuf;

use kato_advice::{ErrorClass, ErrorKind};
use thiserror::Error;

/// The error of loading the tokenizer that a user named.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadTokenizerError {
    /// The name is neither built in nor a file; the message says how to get the file.
    #[error(
        "find tokenizer `{name}`: it is neither built in (`gpt2`) nor a file, nor a folder with a tokenizer.json; {}",
        way_to(name)
    )]
    Unknown {
        /// The name that the user gave.
        name: String,
    },

    /// The name is not built in, and this build reads no files.
    #[error(
        "find tokenizer `{name}`: this build knows `gpt2` alone; \
         build kato-cli, kato or kato-tokenizer with the feature `huggingface` to read a tokenizer.json"
    )]
    Unsupported {
        /// The name that the user gave.
        name: String,
    },

    /// The file exists but could not be read as text.
    #[error("read tokenizer file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },

    /// The text is not a tokenizer definition that this version understands.
    #[error("read tokenizer `{name}` as a Hugging Face tokenizer.json, format 1.0 or 2.0")]
    Definition {
        /// The name that the user gave.
        name: String,
        /// The part that was refused, and the reason.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl LoadTokenizerError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } => ErrorKind::NotFound,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Read { source, .. } => ErrorKind::of_io(source.kind()),
            Self::Definition { .. } => ErrorKind::Malformed,
        }
    }
}

/// Returns how to get the file of a tokenizer that is not here.
fn way_to(name: &str) -> String {
    match is_on_hub(name) {
        true => format!(
            "download https://huggingface.co/{name}/resolve/main/tokenizer.json and give the path of that file"
        ),
        false => "give the path of a tokenizer.json".to_owned(),
    }
}

/// Returns whether a model of the Hugging Face Hub can have this name, alone or with its owner's before it.
fn is_on_hub(name: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_part = |part: &str| !part.trim_matches('.').is_empty() && part.bytes().all(is_of_name);
    name.split('/').count() <= 2 && name.split('/').all(is_part)
}

/// The error of turning a text into ids. The ids appended so far are removed again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizeError {
    /// The tokenizer has a closed list of words and this is not one of them.
    #[error(
        "tokenize word `{word}`: it is not in the vocabulary; build the tokenizer from all texts it will see"
    )]
    UnknownWord {
        /// The first word that has no id.
        word: String,
    },

    /// The text takes more than the budget that a definition may cost for it; the source says which.
    #[error("tokenize text of {bytes} bytes within its budget")]
    Overrun {
        /// Length of the text.
        bytes: usize,
        /// The budget.
        source: Box<dyn StdError + Send + Sync>,
    },

    /// The engine refused the text: an unknown symbol without an unknown-token, or more
    /// than 4 GiB at once.
    #[error("tokenize text of {bytes} bytes")]
    Engine {
        /// Length of the text.
        bytes: usize,
        /// The error of the engine.
        source: Box<dyn StdError + Send + Sync>,
    },
}
