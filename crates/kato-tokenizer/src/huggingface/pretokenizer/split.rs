//! The ways to split a piece, each of which gives its parts to the next step.

use std::sync::LazyLock;

use unicode_categories::UnicodeCategories;

use crate::alphabet;
use crate::gpt2::split::{Classes, Words};
use crate::huggingface::cut::{Behavior, Cutter};
use crate::huggingface::error::TextError;
use crate::huggingface::limits::Work;
use crate::huggingface::normalizer::Piece;
use crate::huggingface::pattern::Pattern;
use crate::huggingface::regex::Table;
use crate::huggingface::scripts::{Script, script};

/// What the parts of a piece are given to.
pub(super) type Next<'n> = dyn FnMut(Piece<'_>, &mut Work) -> Result<(), TextError> + 'n;

/// GPT-2's letters, numbers and white space.
static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::new);

/// What belongs to words to the pre-tokenizer `Whitespace`.
static WORD: LazyLock<Table> = LazyLock::new(Table::word);

pub(super) fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation() || character.is_punctuation()
}

/// Gives on what stands between the characters that separate.
pub(super) fn each_word(
    piece: Piece<'_>,
    work: &mut Work,
    separates: impl Fn(char) -> bool,
    next: &mut Next<'_>,
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
pub(super) fn each_char(
    piece: Piece<'_>,
    work: &mut Work,
    is_one: impl Fn(char) -> bool,
    behavior: Behavior,
    next: &mut Next<'_>,
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
pub(super) fn each_script(
    piece: Piece<'_>,
    work: &mut Work,
    next: &mut Next<'_>,
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

/// Gives on the piece with a space in front, where it is wanted and there is none.
pub(super) fn with_space(
    piece: Piece<'_>,
    is_wanted: bool,
    with: impl FnOnce(Piece<'_>) -> Result<(), TextError>,
) -> Result<(), TextError> {
    if !is_wanted || piece.text.starts_with(' ') {
        return with(piece);
    }
    with(Piece {
        text: &format!(" {}", piece.text),
        first: piece.first + usize::from(piece.first > 0),
    })
}

/// Cuts into GPT-2's words.
pub(super) fn each_gpt2_word(
    piece: Piece<'_>,
    work: &mut Work,
    next: &mut Next<'_>,
) -> Result<(), TextError> {
    Words::new(&CLASSES, piece.text)
        .try_for_each(|word| next(piece.part(word.start, word.end), work))
}

/// Gives on the piece as it is spelled in the byte alphabet.
pub(super) fn spelled(
    piece: Piece<'_>,
    work: &mut Work,
    next: &mut Next<'_>,
) -> Result<(), TextError> {
    let spell = |text: &str| text.bytes().map(alphabet::char_of).collect::<String>();
    let spelled = spell(piece.text);
    let first = spell(&piece.text[..piece.first]).len();
    let piece = Piece {
        text: &spelled,
        first,
    };
    next(piece, work)
}

/// Cuts behind every so many characters.
pub(super) fn each_length(
    piece: Piece<'_>,
    work: &mut Work,
    length: usize,
    next: &mut Next<'_>,
) -> Result<(), TextError> {
    let text = piece.text;
    let mut start = 0;
    while start < text.len() {
        let mut ends = text[start..].char_indices().skip(length);
        let end = ends.next().map_or(text.len(), |(at, _)| start + at);
        next(piece.part(start, end), work)?;
        start = end;
    }
    Ok(())
}

/// Cuts at each match of a pattern, or with `invert` at what lies between them.
pub(super) fn each_match(
    piece: Piece<'_>,
    work: &mut Work,
    pattern: &Pattern,
    invert: bool,
    behavior: Behavior,
    next: &mut Next<'_>,
) -> Result<(), TextError> {
    let mut cutter = Cutter::new(behavior);
    let mut last = 0;
    pattern.find_all(piece.text, work, |work, start, end| {
        let emit = &mut |start, end| next(piece.part(start, end), work);
        if last != start {
            cutter.take(last, start, invert, emit)?;
        }
        last = end;
        cutter.take(start, end, !invert, emit)
    })?;
    let emit = &mut |start, end| next(piece.part(start, end), work);
    if last != piece.text.len() {
        cutter.take(last, piece.text.len(), invert, emit)?;
    }
    cutter.finish(emit)
}

/// Cuts where words, what is neither word nor white space, and white space meet, and leaves out the latter.
pub(super) fn each_kind(
    piece: Piece<'_>,
    work: &mut Work,
    next: &mut Next<'_>,
) -> Result<(), TextError> {
    let kind = |character: char| {
        if WORD.contains(character) {
            2
        } else {
            u8::from(!character.is_whitespace())
        }
    };
    let (mut start, mut last) = (0, 0);
    for (at, character) in piece.text.char_indices() {
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
    next(piece.part(start, piece.text.len()), work)
}
