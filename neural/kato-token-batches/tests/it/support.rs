//! Documents that spell their own tokens, and short ways to batch them.

use std::io::Cursor as Bytes;

use kato_loader::{OnBadRecord, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit};
use kato_token_batches::{TokenBatch, TokenBatchError, TokenBatchOptions, TokenBatches};

/// A loader of lines.
pub(super) fn lines(text: &str) -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder()
        .allow_empty()
        .with_reader("lines.txt", Bytes::new(text.as_bytes().to_vec()))
        .with_text_unit(TextUnit::Line)
        .on_bad_record(OnBadRecord::Skip)
}

/// The encoder of the tests: a document is its tokens in decimal, `-` one without tokens, and
/// anything else cannot be encoded.
pub(super) fn decimal(text: &str) -> Result<Vec<u32>, std::num::ParseIntError> {
    match text {
        "-" => Ok(Vec::new()),
        text => text.split(' ').map(str::parse).collect(),
    }
}

/// A document of so many tokens, of which no two in a text are equal.
pub(super) fn document(index: usize, n_tokens: usize) -> String {
    if n_tokens == 0 {
        return "-".to_owned();
    }
    let token = |at: usize| (index * 1_000 + at).to_string();
    (0..n_tokens).map(token).collect::<Vec<_>>().join(" ")
}

/// A corpus of documents of so many tokens.
pub(super) fn corpus(lengths: &[usize]) -> String {
    let lines = lengths.iter().enumerate();
    lines
        .map(|(index, &len)| document(index, len) + "\n")
        .collect()
}

pub(super) fn batches_of(text: &str, options: TokenBatchOptions) -> TokenBatches {
    let loader = lines(text).build().unwrap();
    TokenBatches::new(loader, options, decimal).unwrap()
}

pub(super) fn all(text: &str, options: TokenBatchOptions) -> Vec<TokenBatch> {
    batches_of(text, options).map(Result::unwrap).collect()
}

/// The documents of each batch.
pub(super) fn documents(batches: &[TokenBatch]) -> Vec<Vec<u64>> {
    batches
        .iter()
        .map(|batch| batch.documents.clone())
        .collect()
}

/// What is delivered in front of an error, and the error.
pub(super) fn until_error(batches: &mut TokenBatches) -> (Vec<TokenBatch>, TokenBatchError) {
    let mut delivered = Vec::new();
    loop {
        match batches.next().expect("there is an error") {
            Ok(batch) => delivered.push(batch),
            Err(error) => return (delivered, error),
        }
    }
}
