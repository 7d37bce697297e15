//! Cuts a document into sections, paragraphs and delimited segments, as slices of its own text, and
//! runs of tokens into sentences, as ranges of them.
//!
//! Nothing here learns anything. Of the text only n-grams are copied whose words stand apart by
//! something else than one blank; the titles of sections are none of it. Paragraphs, sentences and
//! tokens that are left out for a length are reported, so that the caller can count them.

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
