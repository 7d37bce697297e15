//! The input of generation and activation.

/// Text, or tokens that somebody else has cut.
///
/// ```
/// use kato_hierarchy::Prompt;
///
/// assert_eq!(Prompt::from("the cat"), Prompt::Text("the cat"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt<'a> {
    /// Text: cut into sections and paragraphs and tokenized as training did, but without leaving
    /// out a short last paragraph.
    Text(&'a str),
    /// Token strings in the tokenizer's own alphabet: one run, as of one paragraph.
    Tokens(&'a [String]),
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Prompt<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [String]> for Prompt<'a> {
    fn from(tokens: &'a [String]) -> Self {
        Self::Tokens(tokens)
    }
}
