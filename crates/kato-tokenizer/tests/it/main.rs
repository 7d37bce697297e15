//! The crate through its public API.

#[cfg(feature = "huggingface")]
mod agreement;
#[cfg(feature = "huggingface")]
mod definition;
#[cfg(feature = "huggingface")]
mod files;
mod gpt2;
#[cfg(not(feature = "huggingface"))]
mod no_files;
mod oracle;
#[cfg(feature = "huggingface")]
mod recorded;
mod text;

use kato_tokenizer::Tokenizer;

/// Returns the tokens of a text that the tokenizer knows.
fn tokens_of(tokenizer: &impl Tokenizer, text: &str) -> Vec<String> {
    let ids = tokenizer.encode(text).expect("the text is known");
    let token = |id| tokenizer.vocabulary().get(id);
    let tokens = ids
        .into_iter()
        .map(|id| token(id).expect("every id has a token"));
    tokens.map(str::to_owned).collect()
}
