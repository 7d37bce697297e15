//! Cuts a document into sections, paragraphs, sentences and delimited segments, as slices of its
//! own text.
//!
//! Nothing here learns anything, and only n-grams over line breaks or repeated blanks are copied.
//! What is left out for its length is reported, so that the caller can count it.

mod delimiter;
mod heading;
mod limit;
mod option;
mod paragraph;
mod section;
mod sentence;
mod whitespace;

pub use delimiter::{Delimiter, Segments};
pub use limit::{ORIGINAL_MAX_PARAGRAPH_TOKENS, TokenCut, TokenLimit};
pub use option::UnknownOption;
pub use paragraph::{DroppedParagraphs, ORIGINAL_MIN_PARAGRAPH_CHARS, Paragraph, Paragraphs};
pub use section::{Section, Sections, Segmentation};
pub use sentence::{
    DEFAULT_MIN_SENTENCE_TOKENS, DroppedSentences, SentenceBoundary, Sentences, sentence_ranges,
};
