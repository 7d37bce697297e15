//! What becomes of the parts of a text at which it is split.

use super::error::{DefinitionError, TextError};
use super::fields::Fields;

/// What becomes of a part that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    /// It is left out.
    Removed,
    /// It is a word.
    Isolated,
    /// It belongs to the word before.
    MergedWithPrevious,
    /// It belongs to the word behind.
    MergedWithNext,
    /// All that follow one another are a word.
    Contiguous,
}

impl Behavior {
    pub(super) fn from_json(
        fields: Fields<'_>,
        default: Option<Self>,
    ) -> Result<Self, DefinitionError> {
        if fields.get("behavior").is_none()
            && let Some(default) = default
        {
            return Ok(default);
        }
        Ok(match fields.text("behavior")? {
            "Removed" => Self::Removed,
            "Isolated" => Self::Isolated,
            "MergedWithPrevious" => Self::MergedWithPrevious,
            "MergedWithNext" => Self::MergedWithNext,
            "Contiguous" => Self::Contiguous,
            behavior => {
                return Err(DefinitionError::unsupported(
                    fields.part,
                    format!("the behavior `{behavior}`"),
                ));
            }
        })
    }
}

/// Makes words of parts that do and do not match, given one after the other without gaps.
pub(super) struct Cutter {
    behavior: Behavior,
    /// A word that may still grow.
    pending: Option<(usize, usize)>,
    last_matched: bool,
}

impl Cutter {
    pub(super) fn new(behavior: Behavior) -> Self {
        Self {
            behavior,
            pending: None,
            last_matched: false,
        }
    }

    /// Takes the next part; words that are complete are given to `emit`.
    pub(super) fn take(
        &mut self,
        start: usize,
        end: usize,
        matched: bool,
        emit: &mut impl FnMut(usize, usize) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        let last_matched = std::mem::replace(&mut self.last_matched, matched);
        let joins = match self.behavior {
            Behavior::Removed if matched => return Ok(()),
            Behavior::Removed | Behavior::Isolated => return emit(start, end),
            Behavior::Contiguous => matched == last_matched,
            Behavior::MergedWithPrevious => matched && !last_matched,
            Behavior::MergedWithNext => !matched && last_matched,
        };
        match &mut self.pending {
            Some((_, pending_end)) if joins => *pending_end = end,
            pending => {
                if let Some((start, end)) = pending.replace((start, end)) {
                    emit(start, end)?;
                }
            }
        }
        Ok(())
    }

    /// Gives the last word to `emit`.
    pub(super) fn finish(
        self,
        emit: &mut impl FnMut(usize, usize) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        match self.pending {
            Some((start, end)) => emit(start, end),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Behavior, Cutter};

    /// Cuts a text at its dashes.
    fn cut(text: &str, behavior: Behavior) -> Vec<&str> {
        let mut words = Vec::new();
        let mut cutter = Cutter::new(behavior);
        let emit = &mut |start: usize, end: usize| {
            words.push(&text[start..end]);
            Ok(())
        };
        let mut start = 0;
        while start < text.len() {
            let dash = text[start..].starts_with('-');
            let end = if dash {
                start + 1
            } else {
                text[start..].find('-').map_or(text.len(), |at| start + at)
            };
            cutter.take(start, end, dash, emit).unwrap();
            start = end;
        }
        cutter.finish(emit).unwrap();
        words
    }

    #[test]
    fn each_behavior_is_as_hugging_face_documents_it() {
        let text = "the-final--countdown";
        let check = |behavior, expected: &[&str]| assert_eq!(cut(text, behavior), expected);
        check(Behavior::Removed, &["the", "final", "countdown"]);
        check(
            Behavior::Isolated,
            &["the", "-", "final", "-", "-", "countdown"],
        );
        check(
            Behavior::MergedWithPrevious,
            &["the-", "final-", "-", "countdown"],
        );
        check(
            Behavior::MergedWithNext,
            &["the", "-final", "-", "-countdown"],
        );
        check(
            Behavior::Contiguous,
            &["the", "-", "final", "--", "countdown"],
        );
    }
}
