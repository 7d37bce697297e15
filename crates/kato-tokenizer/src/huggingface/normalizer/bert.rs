//! The normalizer of BERT: cleans, parts Chinese characters, strips accents and puts into lowercase.

use unicode_categories::UnicodeCategories;

use super::{Form, Piece, each_char, form};
use crate::huggingface::error::{DefinitionError, TextError};
use crate::huggingface::fields::Fields;
use crate::huggingface::limits::Work;

/// What it does, and what it leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bert {
    clean: bool,
    chinese: bool,
    strip_accents: bool,
    lowercase: bool,
}

impl Bert {
    pub(super) fn from_json(fields: Fields<'_>) -> Result<Self, DefinitionError> {
        let lowercase = fields.bool("lowercase")?;
        Ok(Self {
            clean: fields.bool("clean_text")?,
            chinese: fields.bool("handle_chinese_chars")?,
            strip_accents: fields.bool_or("strip_accents", lowercase)?,
            lowercase,
        })
    }

    /// Writes what it makes of a text to `out`; returns how many bytes come from the first character.
    pub(super) fn apply(
        self,
        piece: Piece<'_>,
        out: &mut String,
        work: &Work,
    ) -> Result<usize, TextError> {
        let mut cleaned = String::with_capacity(piece.text.len());
        let first = each_char(piece, &mut cleaned, work, |character, out| {
            self.clean(character, out);
        })?;
        let cleaned = Piece {
            text: &cleaned,
            first,
        };
        let plain = |character, out: &mut String| self.plain(character, out);
        if !self.strip_accents || cleaned.text.is_ascii() {
            return each_char(cleaned, out, work, plain);
        }
        let mut decomposed = String::with_capacity(cleaned.text.len());
        let first = form(Form::Nfd, cleaned, &mut decomposed, work)?;
        let decomposed = Piece {
            text: &decomposed,
            first,
        };
        each_char(decomposed, out, work, plain)
    }

    /// Writes what cleaning makes of a character.
    fn clean(self, character: char, out: &mut String) {
        let mut character = character;
        if self.clean {
            match character {
                '\t' | '\n' | '\r' => character = ' ',
                '\0' | '\u{fffd}' => return,
                _ if character.is_other() => return,
                _ if character.is_whitespace() => character = ' ',
                _ => {}
            }
        }
        if self.chinese && is_chinese(character) {
            out.extend([' ', character, ' ']);
        } else {
            out.push(character);
        }
    }

    /// Writes a character without accents, in lowercase.
    fn plain(self, character: char, out: &mut String) {
        if self.strip_accents && character.is_mark_nonspacing() {
            return;
        }
        if self.lowercase {
            out.extend(character.to_lowercase());
        } else {
            out.push(character);
        }
    }
}

fn is_chinese(character: char) -> bool {
    matches!(
        u32::from(character),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    )
}
