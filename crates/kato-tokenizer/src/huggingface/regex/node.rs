//! The tree of an expression.

use regex_syntax::hir::ClassUnicode;

/// What an expression matches.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Char(char),
    Set(ClassUnicode),
    /// All of them, one after the other; none is the empty expression.
    Concat(Vec<Self>),
    /// The first that leads to a match.
    Alternatives(Vec<Self>),
    Repeat {
        node: Box<Self>,
        min: u32,
        max: Option<u32>,
        kind: Kind,
    },
    /// What matched first is kept, whatever follows.
    Atomic(Box<Self>),
    Look {
        node: Box<Self>,
        behind: bool,
        negated: bool,
    },
    Assert(Assert),
}

/// In which order a repetition tries how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Greedy,
    Lazy,
    Possessive,
}

/// What must hold at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assert {
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    /// At the end, or before a line feed at the end.
    LastLineEnd,
    WordBoundary,
    NoWordBoundary,
}
