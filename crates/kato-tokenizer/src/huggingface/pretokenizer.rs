//! The pre-tokenizers of a definition: the words into which they split a text, one after the other.

mod split;

use serde_json::Value;

use self::split::{
    Next, each_char, each_gpt2_word, each_kind, each_length, each_match, each_script, each_word,
    is_punctuation, spelled, with_space,
};
use super::cut::Behavior;
use super::error::{DefinitionError, TextError};
use super::fields::{Fields, for_each_step};
use super::limits::Work;
use super::normalizer::Piece;
use super::pattern::Pattern;

/// What the words are given to.
pub(super) type Sink<'s> = dyn FnMut(&str, &mut Work) -> Result<(), TextError> + 's;

/// All pre-tokenizers of a definition, in order.
#[derive(Debug, Default)]
pub(super) struct PreTokenizer {
    steps: Vec<Step>,
    /// The model takes the bytes of words themselves, so the last step leaves them as they are.
    pub(super) raw_bytes: bool,
}

#[derive(Debug)]
enum Step {
    Bert,
    ByteLevel {
        prefix_space: bool,
        gpt2: bool,
    },
    Delimiter(char),
    Digits(Behavior),
    FixedLength(usize),
    Metaspace(Metaspace),
    Punctuation(Behavior),
    Scripts,
    Split {
        pattern: Pattern,
        invert: bool,
        behavior: Behavior,
    },
    Whitespace,
    WhitespaceSplit,
}

#[derive(Debug)]
struct Metaspace {
    replacement: char,
    prepend: Prepend,
    split: bool,
}

/// Before which pieces a `Metaspace` puts its replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prepend {
    Always,
    First,
    Never,
}

impl PreTokenizer {
    pub(super) fn from_json(value: &Value, defaults: bool) -> Result<Self, DefinitionError> {
        let mut steps = Vec::new();
        for_each_step("pre_tokenizer", value, "pretokenizers", &mut |fields| {
            steps.push(Step::from_json(fields, defaults)?);
            Ok(())
        })?;
        Ok(Self {
            steps,
            raw_bytes: false,
        })
    }

    /// Appends the step that format 2.0 keeps with the model.
    pub(super) fn push_byte_level(&mut self) {
        self.steps.push(Step::ByteLevel {
            prefix_space: false,
            gpt2: false,
        });
    }

    /// Returns whether words are spelled in the byte alphabet at last.
    pub(super) fn is_byte_level(&self) -> bool {
        matches!(self.steps.last(), Some(Step::ByteLevel { .. }))
    }

    /// Gives the words of a text to `sink`.
    pub(super) fn split(
        &self,
        piece: Piece<'_>,
        work: &mut Work,
        sink: &mut Sink<'_>,
    ) -> Result<(), TextError> {
        self.run_from(0, piece, work, sink)
    }

    /// Gives what step `n` and those behind it make of a piece to `sink`.
    fn run_from(
        &self,
        n: usize,
        piece: Piece<'_>,
        work: &mut Work,
        sink: &mut Sink<'_>,
    ) -> Result<(), TextError> {
        if piece.text.is_empty() {
            return Ok(());
        }
        let Some(step) = self.steps.get(n) else {
            return sink(piece.text, work);
        };
        let next =
            &mut |piece: Piece<'_>, work: &mut Work| self.run_from(n + 1, piece, work, &mut *sink);
        match step {
            Step::Bert => each_word(piece, work, char::is_whitespace, &mut |piece, work| {
                each_char(piece, work, is_punctuation, Behavior::Isolated, next)
            }),
            &Step::ByteLevel { prefix_space, gpt2 } => {
                let is_raw = self.raw_bytes && n + 1 == self.steps.len();
                let next = &mut |piece: Piece<'_>, work: &mut Work| match is_raw {
                    true => next(piece, work),
                    false => spelled(piece, work, next),
                };
                with_space(piece, prefix_space, |piece| match gpt2 {
                    true => each_gpt2_word(piece, work, next),
                    false => next(piece, work),
                })
            }
            &Step::Delimiter(delimiter) => {
                each_word(piece, work, |character| character == delimiter, next)
            }
            &Step::Digits(behavior) => each_char(piece, work, char::is_numeric, behavior, next),
            &Step::FixedLength(length) => each_length(piece, work, length, next),
            Step::Metaspace(metaspace) => metaspace.split(piece, work, next),
            &Step::Punctuation(behavior) => each_char(piece, work, is_punctuation, behavior, next),
            Step::Scripts => each_script(piece, work, next),
            Step::Split {
                pattern,
                invert,
                behavior,
            } => each_match(piece, work, pattern, *invert, *behavior, next),
            Step::Whitespace => each_kind(piece, work, next),
            Step::WhitespaceSplit => each_word(piece, work, char::is_whitespace, next),
        }
    }
}

impl Step {
    fn from_json(fields: Fields<'_>, defaults: bool) -> Result<Self, DefinitionError> {
        Ok(match fields.kind()? {
            "BertPreTokenizer" => Self::Bert,
            "ByteLevel" => {
                // Only offsets depend on it, but it must be there.
                fields.bool("trim_offsets")?;
                Self::ByteLevel {
                    prefix_space: fields.bool("add_prefix_space")?,
                    gpt2: fields.bool_or("use_regex", true)?,
                }
            }
            "CharDelimiterSplit" => Self::Delimiter(fields.char("delimiter")?),
            "Digits" => Self::Digits(match fields.bool("individual_digits")? {
                true => Behavior::Isolated,
                false => Behavior::Contiguous,
            }),
            "FixedLength" => {
                let length = match fields.get("length") {
                    None => 5,
                    Some(_) => fields.number("length")?,
                };
                if length == 0 {
                    return Err(DefinitionError::unsupported(fields.part, "a length of 0"));
                }
                Self::FixedLength(usize::try_from(length).unwrap_or(usize::MAX))
            }
            "Metaspace" => Self::Metaspace(Metaspace::from_json(fields)?),
            "Punctuation" => {
                Self::Punctuation(Behavior::from_json(fields, Some(Behavior::Isolated))?)
            }
            "Split" => Self::Split {
                pattern: Pattern::from_json(
                    fields.part,
                    fields.get("pattern").unwrap_or(&Value::Null),
                )?,
                invert: if defaults {
                    fields.bool_or("invert", false)?
                } else {
                    fields.bool("invert")?
                },
                behavior: Behavior::from_json(fields, defaults.then_some(Behavior::Isolated))?,
            },
            "UnicodeScripts" => Self::Scripts,
            "Whitespace" => Self::Whitespace,
            "WhitespaceSplit" => Self::WhitespaceSplit,
            _ => return Err(fields.unknown()),
        })
    }
}

impl Metaspace {
    pub(super) fn from_json(fields: Fields<'_>) -> Result<Self, DefinitionError> {
        let prepend = match fields.text_or_empty("prepend_scheme")? {
            "" | "always" => Prepend::Always,
            "first" => Prepend::First,
            "never" => Prepend::Never,
            scheme => {
                return Err(DefinitionError::unsupported(
                    fields.part,
                    format!("the prepend_scheme `{scheme}`"),
                ));
            }
        };
        if !fields.bool_or("add_prefix_space", true)? && prepend != Prepend::Never {
            return Err(DefinitionError::unsupported(
                fields.part,
                "an add_prefix_space that does not fit the prepend_scheme",
            ));
        }
        Ok(Self {
            replacement: fields.char("replacement")?,
            prepend,
            split: fields.bool_or("split", true)?,
        })
    }

    fn split(
        &self,
        piece: Piece<'_>,
        work: &mut Work,
        next: &mut Next<'_>,
    ) -> Result<(), TextError> {
        let mut marked = String::with_capacity(piece.text.len() + piece.text.len() / 2 + 4);
        let begins = piece.text.starts_with([' ', self.replacement]);
        let prepends = match self.prepend {
            Prepend::Always => !begins,
            Prepend::First => !begins && piece.first > 0,
            Prepend::Never => false,
        };
        if prepends {
            marked.push(self.replacement);
        }
        let (first, rest) = piece.text.split_at(piece.first);
        let mut mark = |part: &str| {
            let mut words = part.split(' ');
            marked.push_str(words.next().unwrap_or_default());
            for word in words {
                marked.push(self.replacement);
                marked.push_str(word);
            }
            marked.len()
        };
        let n = mark(first);
        mark(rest);
        let piece = Piece {
            text: &marked,
            first: if piece.first > 0 { n } else { 0 },
        };
        if !self.split {
            return next(piece, work);
        }
        // Each mark begins a word, and so does what stands before the first one.
        let mut start = 0;
        for (at, _) in marked.match_indices(self.replacement) {
            if at > start {
                next(piece.part(start, at), work)?;
            }
            start = at;
        }
        next(piece.part(start, marked.len()), work)
    }
}
