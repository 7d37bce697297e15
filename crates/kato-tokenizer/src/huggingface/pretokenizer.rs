//! The pre-tokenizers of a definition: the words into which they split a text, one after the other.

use std::sync::LazyLock;

use serde_json::Value;
use unicode_categories::UnicodeCategories;

use super::cut::{Behavior, Cutter};
use super::error::{DefinitionError, TextError};
use super::fields::{Fields, for_each_step};
use super::limits::Work;
use super::normalizer::Piece;
use super::pattern::Pattern;
use super::regex::Table;
use super::scripts::{Script, script};
use crate::alphabet;
use crate::gpt2::split::{Classes, Words};

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
    Digits {
        each: bool,
    },
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

/// GPT-2's letters, numbers and white space.
static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::new);

/// What belongs to words to the pre-tokenizer `Whitespace`.
static WORD: LazyLock<Table> = LazyLock::new(Table::word);

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
        let text = piece.text;
        match step {
            Step::Bert => each_word(piece, work, char::is_whitespace, &mut |piece, work| {
                each_char(piece, work, is_punctuation, Behavior::Isolated, next)
            }),
            &Step::ByteLevel { prefix_space, gpt2 } => {
                let raw = self.raw_bytes && n + 1 == self.steps.len();
                let prefixed;
                let mut piece = piece;
                if prefix_space && !text.starts_with(' ') {
                    prefixed = format!(" {text}");
                    piece = Piece {
                        text: &prefixed,
                        first: piece.first + usize::from(piece.first > 0),
                    };
                }
                let next = &mut |piece: Piece<'_>, work: &mut Work| {
                    if raw {
                        return next(piece, work);
                    }
                    let spell =
                        |text: &str| text.bytes().map(alphabet::char_of).collect::<String>();
                    let spelled = spell(piece.text);
                    let first = spell(&piece.text[..piece.first]).len();
                    next(
                        Piece {
                            text: &spelled,
                            first,
                        },
                        work,
                    )
                };
                if !gpt2 {
                    return next(piece, work);
                }
                Words::new(&CLASSES, piece.text)
                    .try_for_each(|word| next(piece.part(word.start, word.end), work))
            }
            &Step::Delimiter(delimiter) => {
                each_word(piece, work, |character| character == delimiter, next)
            }
            &Step::Digits { each } => {
                let behavior = if each {
                    Behavior::Isolated
                } else {
                    Behavior::Contiguous
                };
                each_char(piece, work, char::is_numeric, behavior, next)
            }
            &Step::FixedLength(length) => {
                let mut start = 0;
                while start < text.len() {
                    let mut ends = text[start..].char_indices().skip(length);
                    let end = ends.next().map_or(text.len(), |(at, _)| start + at);
                    next(piece.part(start, end), work)?;
                    start = end;
                }
                Ok(())
            }
            Step::Metaspace(metaspace) => metaspace.split(piece, work, next),
            &Step::Punctuation(behavior) => each_char(piece, work, is_punctuation, behavior, next),
            Step::Scripts => each_script(piece, work, next),
            Step::Split {
                pattern,
                invert,
                behavior,
            } => {
                let mut cutter = Cutter::new(*behavior);
                let mut last = 0;
                pattern.find_all(text, work, |work, start, end| {
                    let emit = &mut |start, end| next(piece.part(start, end), work);
                    if last != start {
                        cutter.take(last, start, *invert, emit)?;
                    }
                    last = end;
                    cutter.take(start, end, !invert, emit)
                })?;
                let emit = &mut |start, end| next(piece.part(start, end), work);
                if last != text.len() {
                    cutter.take(last, text.len(), *invert, emit)?;
                }
                cutter.finish(emit)
            }
            Step::Whitespace => {
                let kind = |character: char| {
                    if WORD.contains(character) {
                        2
                    } else {
                        u8::from(!character.is_whitespace())
                    }
                };
                let (mut start, mut last) = (0, 0);
                for (at, character) in text.char_indices() {
                    let kind = kind(character);
                    if kind != last {
                        if last != 0 {
                            next(piece.part(start, at), work)?;
                        }
                        (start, last) = (at, kind);
                    }
                }
                if last == 0 {
                    return Ok(());
                }
                next(piece.part(start, text.len()), work)
            }
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
            "Digits" => Self::Digits {
                each: fields.bool("individual_digits")?,
            },
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
        next: &mut dyn FnMut(Piece<'_>, &mut Work) -> Result<(), TextError>,
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

fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation() || character.is_punctuation()
}

/// Gives on what stands between the characters that separate.
fn each_word(
    piece: Piece<'_>,
    work: &mut Work,
    separates: impl Fn(char) -> bool,
    next: &mut dyn FnMut(Piece<'_>, &mut Work) -> Result<(), TextError>,
) -> Result<(), TextError> {
    let mut start = 0;
    for (at, separator) in piece.text.match_indices(separates) {
        if at > start {
            next(piece.part(start, at), work)?;
        }
        start = at + separator.len();
    }
    next(piece.part(start, piece.text.len()), work)
}

/// Cuts at each character of a kind.
fn each_char(
    piece: Piece<'_>,
    work: &mut Work,
    is_one: impl Fn(char) -> bool,
    behavior: Behavior,
    next: &mut dyn FnMut(Piece<'_>, &mut Work) -> Result<(), TextError>,
) -> Result<(), TextError> {
    let mut cutter = Cutter::new(behavior);
    let emit = &mut |start, end| next(piece.part(start, end), work);
    let mut last = 0;
    for (at, found) in piece.text.match_indices(is_one) {
        if last < at {
            cutter.take(last, at, false, emit)?;
        }
        last = at + found.len();
        cutter.take(at, last, true, emit)?;
    }
    if last < piece.text.len() {
        cutter.take(last, piece.text.len(), false, emit)?;
    }
    cutter.finish(emit)
}

/// Cuts where the script changes. What stands before the first character that has one is left out, as by Hugging Face.
fn each_script(
    piece: Piece<'_>,
    work: &mut Work,
    next: &mut dyn FnMut(Piece<'_>, &mut Work) -> Result<(), TextError>,
) -> Result<(), TextError> {
    let (mut start, mut last) = (None, Script::ANY);
    for (at, character) in piece.text.char_indices() {
        let here = script(character);
        if here != Script::ANY {
            if here != last
                && let Some(start) = start.replace(at)
            {
                next(piece.part(start, at), work)?;
            }
            last = here;
        }
    }
    match start {
        Some(start) => next(piece.part(start, piece.text.len()), work),
        None => Ok(()),
    }
}
