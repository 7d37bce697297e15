//! Places that are listed: a page of them, and the learn call around each.

use crate::unit::{Rows, Unit};
use crate::{DocumentRef, LessonShape, Span};

/// A place of the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenPlace {
    /// The document.
    pub document: DocumentRef,
    /// The number, from 0, of the first token among the document's learned tokens.
    pub token: u64,
    /// The learn call of the lowest level that holds all of it, and the number of its first token in the
    /// document; `None` where it crosses a border of every level.
    pub call: Option<(u64, LessonShape)>,
}

/// A span of a text with places that hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedSpan {
    /// The span.
    pub span: Span,
    /// Its places, as many as were asked for.
    pub places: Vec<TokenPlace>,
}

/// The part of the places of a sequence that is listed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    /// Places that are passed over.
    after: u64,
    n_left: u64,
}

impl Page {
    pub(crate) fn new(after: u64, limit: usize) -> Self {
        Self {
            after,
            n_left: limit as u64,
        }
    }

    /// Takes what of these rows, which follow those taken before, is listed.
    pub(crate) fn take(&mut self, rows: Rows) -> Rows {
        let start = rows.start.saturating_add(self.after).min(rows.end);
        self.after = self.after.saturating_sub(rows.len());
        let end = start.saturating_add(self.n_left).min(rows.end);
        let taken = Rows { start, end };
        self.n_left -= taken.len();
        taken
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.n_left == 0
    }
}

impl Unit {
    /// Describes places of sequences of some lengths, with the learn call around each of a level from the lowest
    /// asked for on.
    pub(crate) fn describe(&self, places: &[(u64, u64)], lowest: usize) -> Vec<TokenPlace> {
        let around = |&(place, length): &(u64, u64)| {
            let (idx, start, end) = self.documents.at(place);
            let call = self.call_around(lowest, place, place.saturating_add(length), [start, end]);
            (idx, start, call)
        };
        let found: Vec<_> = places.iter().map(around).collect();
        let calls = found.iter().flat_map(|(_, _, call)| call);
        let calls: Vec<[u64; 2]> = calls.map(|call| [call.first, call.next]).collect();
        let mut tokens = self.tokens(&calls).into_iter();
        let describe = |(&(place, _), (idx, start, call)): (&(u64, u64), (u64, u64, Option<_>))| {
            let call = call.and_then(|call: crate::calls::Around| {
                let shape = LessonShape {
                    tokens: tokens.next()?,
                    borders: call.borders,
                };
                Some((call.first.saturating_sub(start), shape))
            });
            TokenPlace {
                document: self.documents.document(idx),
                token: place.saturating_sub(start),
                call,
            }
        };
        places.iter().zip(found).map(describe).collect()
    }
}
