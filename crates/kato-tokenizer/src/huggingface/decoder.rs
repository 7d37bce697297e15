//! The decoders of a definition: the text that tokens stand for.

use serde_json::Value;

use super::error::{DefinitionError, TextError};
use super::fields::{Fields, for_each_step};
use super::limits::Work;
use super::pattern::Pattern;
use crate::alphabet;

/// All decoders of a definition, in order.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Bpe {
        suffix: String,
    },
    ByteFallback,
    ByteLevel,
    Ctc {
        pad: String,
        delimiter: String,
        cleanup: bool,
    },
    Fuse,
    Metaspace {
        replacement: char,
        prepends: bool,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
}

impl Decoder {
    pub(super) fn from_json(value: &Value) -> Result<Self, DefinitionError> {
        let mut steps = Vec::new();
        for_each_step("decoder", value, "decoders", &mut |fields| {
            steps.push(Step::from_json(fields)?);
            Ok(())
        })?;
        Ok(Self { steps })
    }

    /// Returns the decoder of words spelled in the byte alphabet.
    pub(super) fn byte_level() -> Self {
        Self {
            steps: vec![Step::ByteLevel],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the text of tokens.
    pub(super) fn decode(&self, mut tokens: Vec<String>) -> Result<String, TextError> {
        if self.steps.is_empty() {
            return Ok(tokens.join(" "));
        }
        let mut work = Work::of(tokens.iter().map(String::len).sum());
        for step in &self.steps {
            tokens = step.apply(tokens, &mut work)?;
        }
        Ok(tokens.concat())
    }
}

impl Step {
    fn from_json(fields: Fields<'_>) -> Result<Self, DefinitionError> {
        let length = |name| {
            Ok::<_, DefinitionError>(usize::try_from(fields.number(name)?).unwrap_or(usize::MAX))
        };
        Ok(match fields.kind()? {
            "BPEDecoder" => Self::Bpe {
                suffix: fields.text("suffix")?.to_owned(),
            },
            "ByteFallback" => Self::ByteFallback,
            "ByteLevel" => Self::ByteLevel,
            "CTC" => Self::Ctc {
                pad: fields.text("pad_token")?.to_owned(),
                delimiter: fields.text("word_delimiter_token")?.to_owned(),
                cleanup: fields.bool("cleanup")?,
            },
            "Fuse" => Self::Fuse,
            "Metaspace" => Self::Metaspace {
                replacement: fields.char("replacement")?,
                prepends: fields.text_or_empty("prepend_scheme")? != "never",
            },
            "Replace" => Self::Replace {
                pattern: Pattern::from_json(
                    fields.part,
                    fields.get("pattern").unwrap_or(&Value::Null),
                )?,
                content: fields.text("content")?.to_owned(),
            },
            "Strip" => Self::Strip {
                content: fields.char("content")?,
                start: length("start")?,
                stop: length("stop")?,
            },
            "WordPiece" => Self::WordPiece {
                prefix: fields.text("prefix")?.to_owned(),
                cleanup: fields.bool("cleanup")?,
            },
            _ => return Err(fields.unknown()),
        })
    }

    fn apply(&self, mut tokens: Vec<String>, work: &mut Work) -> Result<Vec<String>, TextError> {
        match self {
            Self::Bpe { suffix } => without_suffixes(&mut tokens, suffix),
            Self::ByteFallback => return Ok(with_bytes(tokens)),
            Self::ByteLevel => return Ok(vec![text_of_spelled(tokens)]),
            Self::Ctc {
                pad,
                delimiter,
                cleanup,
            } => without_repeats(&mut tokens, pad, cleanup.then_some(delimiter)),
            Self::Fuse => return Ok(vec![tokens.concat()]),
            &Self::Metaspace {
                replacement,
                prepends,
            } => {
                for (n, token) in tokens.iter_mut().enumerate() {
                    let blank = if n == 0 && prepends { "" } else { " " };
                    *token = token.replace(replacement, blank);
                }
            }
            Self::Replace { pattern, content } => replace(&mut tokens, pattern, content, work)?,
            &Self::Strip {
                content,
                start,
                stop,
            } => {
                for token in &mut tokens {
                    *token = stripped(token, content, start, stop).to_owned();
                }
            }
            Self::WordPiece { prefix, cleanup } => join_pieces(&mut tokens, prefix, *cleanup),
        }
        Ok(tokens)
    }
}

/// Puts a space for the suffix that ends a word, and nothing for that of the last token.
fn without_suffixes(tokens: &mut [String], suffix: &str) {
    let last = tokens.len().saturating_sub(1);
    for (n, token) in tokens.iter_mut().enumerate() {
        *token = token.replace(suffix, if n == last { "" } else { " " });
    }
}

/// Joins tokens that are spelled in the byte alphabet; those that are not count as they are.
fn text_of_spelled(tokens: Vec<String>) -> String {
    let spelled = |token: String| match alphabet::bytes_of(&token) {
        Some(bytes) => bytes,
        None => token.into_bytes(),
    };
    alphabet::text_of(tokens.into_iter().flat_map(spelled).collect())
}

/// Removes tokens that repeat the one before, and padding; cleans up where there is a delimiter of words.
fn without_repeats(tokens: &mut Vec<String>, pad: &str, delimiter: Option<&String>) {
    tokens.dedup();
    for token in tokens {
        *token = token.replace(pad, "");
        if let Some(delimiter) = delimiter {
            *token = cleaned(token).replace(delimiter, " ");
        }
    }
}

/// Replaces the matches of a pattern in each token.
fn replace(
    tokens: &mut [String],
    pattern: &Pattern,
    content: &str,
    work: &mut Work,
) -> Result<(), TextError> {
    let mut len = 0;
    for token in tokens {
        let (mut replaced, mut copied) = (String::new(), 0);
        pattern.find_all(token, work, |work, start, end| {
            replaced.push_str(&token[copied..start]);
            replaced.push_str(content);
            copied = end;
            work.check_len(len + replaced.len())
                .map_err(TextError::from)
        })?;
        replaced.push_str(&token[copied..]);
        len += replaced.len();
        *token = replaced;
    }
    Ok(())
}

/// Returns a token without a character at its ends: at most so many at the start and at the stop.
fn stripped(token: &str, content: char, start: usize, stop: usize) -> &str {
    let is_content = |&character: &char| character == content;
    let n_front = token.chars().take(start).take_while(is_content).count();
    let token = &token[n_front * content.len_utf8()..];
    let back = token.chars().rev().take(stop);
    let n_back = back.take_while(is_content).count();
    &token[..token.len() - n_back * content.len_utf8()]
}

/// Parts words by spaces: a token without the prefix begins one.
fn join_pieces(tokens: &mut [String], prefix: &str, cleanup: bool) {
    for (n, token) in tokens.iter_mut().enumerate() {
        if n > 0 {
            *token = match token.strip_prefix(prefix) {
                Some(rest) => rest.to_owned(),
                None => format!(" {token}"),
            };
        }
        if cleanup {
            *token = cleaned(token);
        }
    }
}

/// Joins the bytes of tokens such as `<0x0A>`, U+FFFD for each where they are not UTF-8.
fn with_bytes(tokens: Vec<String>) -> Vec<String> {
    let mut all = Vec::with_capacity(tokens.len());
    let mut bytes = Vec::new();
    let flush = |bytes: &mut Vec<u8>, all: &mut Vec<String>| {
        match str::from_utf8(bytes) {
            Ok("") => {}
            Ok(text) => all.push(text.to_owned()),
            Err(_) => all.extend(bytes.iter().map(|_| "\u{fffd}".to_owned())),
        }
        bytes.clear();
    };
    for token in tokens {
        let digits = token
            .strip_prefix("<0x")
            .and_then(|rest| rest.strip_suffix('>'));
        let digits = digits.filter(|digits| digits.len() == 2);
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => {
                flush(&mut bytes, &mut all);
                all.push(token);
            }
        }
    }
    flush(&mut bytes, &mut all);
    all
}

/// Puts punctuation and contractions next to the words that they belong to.
fn cleaned(text: &str) -> String {
    const PAIRS: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    PAIRS
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
