//! The normalizers of a definition: what they make of a text before it is split.

mod bert;

use unicode_normalization_alignments::UnicodeNormalization;
use unicode_normalization_alignments::char::is_combining_mark;

use serde_json::Value;

use self::bert::Bert;
use super::charsmap::Charsmap;
use super::error::{DefinitionError, TextError};
use super::fields::{Fields, for_each_step};
use super::limits::Work;
use super::pattern::Pattern;
use crate::alphabet;

/// A text, and how many of its first bytes come from the very first character of the text that is encoded: a piece of
/// which the first byte does not is not the first one to `Metaspace`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) first: usize,
}

impl<'a> Piece<'a> {
    /// Returns the part of the piece from `start` to `end`.
    #[inline]
    pub(super) fn part(self, start: usize, end: usize) -> Self {
        Self {
            text: &self.text[start..end],
            first: self.first.saturating_sub(start).min(end - start),
        }
    }
}

/// All normalizers of a definition, in order.
#[derive(Debug, Default)]
pub(super) struct Normalizer {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Bert(Bert),
    Strip { left: bool, right: bool },
    StripAccents,
    Form(Form),
    Lowercase,
    Nmt,
    Precompiled(Charsmap),
    Replace { pattern: Pattern, content: String },
    Prepend(String),
    ByteLevel,
}

/// Unicode's forms.
#[derive(Debug, Clone, Copy)]
enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Normalizer {
    pub(super) fn from_json(value: &Value) -> Result<Self, DefinitionError> {
        let mut steps = Vec::new();
        for_each_step("normalizer", value, "normalizers", &mut |fields| {
            steps.push(Step::from_json(fields)?);
            Ok(())
        })?;
        Ok(Self { steps })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Calls `with` with what a text becomes.
    pub(super) fn normalize<T>(
        &self,
        piece: Piece<'_>,
        work: &mut Work,
        with: impl FnOnce(Piece<'_>, &mut Work) -> Result<T, TextError>,
    ) -> Result<T, TextError> {
        let [first, rest @ ..] = &self.steps[..] else {
            return with(piece, work);
        };
        // Two texts by turns: what a step reads and what it writes.
        let (mut text, mut other) = (String::with_capacity(piece.text.len()), String::new());
        let mut n = first.apply(piece, &mut text, work)?;
        for step in rest {
            other.clear();
            n = step.apply(
                Piece {
                    text: &text,
                    first: n,
                },
                &mut other,
                work,
            )?;
            std::mem::swap(&mut text, &mut other);
        }
        drop(other);
        with(
            Piece {
                text: &text,
                first: n,
            },
            work,
        )
    }
}

impl Step {
    fn from_json(fields: Fields<'_>) -> Result<Self, DefinitionError> {
        Ok(match fields.kind()? {
            "BertNormalizer" => Self::Bert(Bert::from_json(fields)?),
            "Strip" => Self::Strip {
                left: fields.bool("strip_left")?,
                right: fields.bool("strip_right")?,
            },
            "StripAccents" => Self::StripAccents,
            "NFC" => Self::Form(Form::Nfc),
            "NFD" => Self::Form(Form::Nfd),
            "NFKC" => Self::Form(Form::Nfkc),
            "NFKD" => Self::Form(Form::Nfkd),
            "Lowercase" => Self::Lowercase,
            "Nmt" => Self::Nmt,
            "Precompiled" => {
                let map = fields.get("precompiled_charsmap").and_then(Value::as_str);
                let map = map.ok_or_else(|| {
                    DefinitionError::field(fields.part, "precompiled_charsmap", "a text")
                })?;
                Self::Precompiled(Charsmap::new(map)?)
            }
            "Replace" => Self::Replace {
                pattern: Pattern::from_json(
                    fields.part,
                    fields.get("pattern").unwrap_or(&Value::Null),
                )?,
                content: fields.text("content")?.to_owned(),
            },
            "Prepend" => Self::Prepend(fields.text("prepend")?.to_owned()),
            "ByteLevel" => Self::ByteLevel,
            _ => return Err(fields.unknown()),
        })
    }

    /// Writes what the step makes of a text to `out`; returns how many bytes come from the first character.
    fn apply(
        &self,
        piece: Piece<'_>,
        out: &mut String,
        work: &mut Work,
    ) -> Result<usize, TextError> {
        match self {
            Self::Bert(bert) => bert.apply(piece, out, work),
            &Self::Strip { left, right } => {
                let text = piece.text;
                let kept = if left { text.trim_start() } else { text };
                let removed = text.len() - kept.len();
                out.push_str(if right { kept.trim_end() } else { kept });
                Ok(piece.first.saturating_sub(removed).min(out.len()))
            }
            Self::StripAccents => each_char(piece, out, work, |character, out| {
                if !is_combining_mark(character) {
                    out.push(character);
                }
            }),
            Self::Form(kind) => form(*kind, piece, out, work),
            Self::Lowercase => each_char(piece, out, work, |character, out| {
                out.extend(character.to_lowercase());
            }),
            Self::Nmt => each_char(piece, out, work, |character, out| {
                out.extend(nmt(character))
            }),
            Self::Precompiled(map) => precompiled(map, piece, out, work),
            Self::Replace { pattern, content } => replace(pattern, content, piece, out, work),
            Self::Prepend(prefix) => prepend(prefix, piece, out, work),
            Self::ByteLevel => each_char(piece, out, work, |character, out| {
                let mut bytes = [0; 4];
                let bytes = character.encode_utf8(&mut bytes).bytes();
                out.extend(bytes.map(alphabet::char_of));
            }),
        }
    }
}

/// Writes what `write` makes of each character.
fn each_char(
    piece: Piece<'_>,
    out: &mut String,
    work: &Work,
    mut write: impl FnMut(char, &mut String),
) -> Result<usize, TextError> {
    let (first, rest) = piece.text.split_at(piece.first);
    first.chars().for_each(|character| write(character, out));
    let n = out.len();
    for character in rest.chars() {
        write(character, out);
        work.check_len(out.len())?;
    }
    Ok(n)
}

/// What the rules of neural machine translation make of a character.
fn nmt(character: char) -> Option<char> {
    match u32::from(character) {
        0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F | 0x8F | 0x9F => None,
        0x09
        | 0x0A
        | 0x0C
        | 0x0D
        | 0x1680
        | 0x200B..=0x200F
        | 0x2028
        | 0x2029
        | 0x2581
        | 0xFEFF
        | 0xFFFD => Some(' '),
        _ => Some(character),
    }
}

/// Writes a text with a prefix; nothing has none.
fn prepend(
    prefix: &str,
    piece: Piece<'_>,
    out: &mut String,
    work: &Work,
) -> Result<usize, TextError> {
    if !piece.text.is_empty() {
        out.push_str(prefix);
    }
    out.push_str(piece.text);
    work.check_len(out.len())?;
    // What is put in front counts as the first character does.
    let front = out.len() - piece.text.len();
    Ok(if piece.first > 0 {
        piece.first + front
    } else {
        0
    })
}

/// Writes one of Unicode's forms of a text.
fn form(form: Form, piece: Piece<'_>, out: &mut String, work: &Work) -> Result<usize, TextError> {
    if piece.text.is_ascii() {
        out.push_str(piece.text);
        return Ok(piece.first);
    }
    let mut origin = Origin::new(piece);
    let mut write = |(character, change)| {
        out.push(character);
        origin.push(character, change);
        work.check_len(out.len()).map_err(TextError::from)
    };
    match form {
        Form::Nfc => piece.text.nfc().try_for_each(&mut write)?,
        Form::Nfd => piece.text.nfd().try_for_each(&mut write)?,
        Form::Nfkc => piece.text.nfkc().try_for_each(&mut write)?,
        Form::Nfkd => piece.text.nfkd().try_for_each(&mut write)?,
    }
    Ok(origin.first)
}

fn precompiled(
    map: &Charsmap,
    piece: Piece<'_>,
    out: &mut String,
    work: &Work,
) -> Result<usize, TextError> {
    let mut origin = Origin::new(piece);
    // A part that is replaced by fewer characters counts with the character written last.
    let mut last: Option<(char, isize)> = None;
    map.for_each(piece.text, |part, replacement| {
        let new = replacement.unwrap_or(part);
        out.push_str(new);
        work.check_len(out.len())?;
        if !origin.open {
            return Ok(());
        }
        let (was, now) = (part.chars().count(), new.chars().count());
        for (n, character) in new.chars().enumerate() {
            if let Some((character, change)) = last {
                origin.push(character, change);
            }
            last = Some((character, isize::from(n >= was)));
        }
        if now < was
            && let Some((_, change)) = &mut last
        {
            *change -= isize::try_from(was - now).unwrap_or(isize::MAX);
        }
        Ok(())
    })?;
    if let Some((character, change)) = last {
        origin.push(character, change);
    }
    Ok(origin.first)
}

fn replace(
    pattern: &Pattern,
    content: &str,
    piece: Piece<'_>,
    out: &mut String,
    work: &mut Work,
) -> Result<usize, TextError> {
    let (mut copied, mut first) = (0, None);
    pattern.find_all(piece.text, work, |work, start, end| {
        if first.is_none() && start >= piece.first {
            first = Some(out.len() + piece.first - copied);
        }
        out.push_str(&piece.text[copied..start]);
        // What replaces a part comes from where the part ends.
        if first.is_none() && end > piece.first {
            first = Some(out.len());
        }
        out.push_str(content);
        copied = end;
        work.check_len(out.len()).map_err(TextError::from)
    })?;
    let first = first.unwrap_or_else(|| out.len() + piece.first.saturating_sub(copied));
    out.push_str(&piece.text[copied..]);
    work.check_len(out.len())?;
    Ok(first)
}

/// Follows which of the characters that are written come from the first one of the text.
struct Origin<'a> {
    old: std::str::Chars<'a>,
    /// Bytes of the old text that have been passed.
    passed: usize,
    /// Those of the old text that come from the first character.
    old_first: usize,
    /// Those of the new text.
    first: usize,
    open: bool,
}

impl<'a> Origin<'a> {
    fn new(piece: Piece<'a>) -> Self {
        Self {
            old: piece.text.chars(),
            passed: 0,
            old_first: piece.first,
            first: 0,
            open: piece.first > 0,
        }
    }

    /// Takes a character that was written. A `change` of 0 stands for one old character, one above for none, and one
    /// below for as many more.
    fn push(&mut self, character: char, change: isize) {
        if !self.open {
            return;
        }
        let from = if change > 0 {
            self.passed.saturating_sub(1)
        } else {
            self.passed
        };
        if from >= self.old_first {
            self.open = false;
            return;
        }
        self.first += character.len_utf8();
        if change <= 0 {
            let passed = self.old.by_ref().take(1 + change.unsigned_abs());
            self.passed += passed.map(char::len_utf8).sum::<usize>();
        }
    }
}
