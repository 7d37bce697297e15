//! Letters of which several are also one character where case is ignored.

use regex_syntax::hir::ClassUnicode;

use super::super::class;
use super::super::node::Node;

/// The letters that a part of an expression may consist of, as far as several of them are also one character, as `ss` is ß.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Folded {
    s: bool,
    f: bool,
    /// `i` or `l`, which follow an `f` in ligatures.
    after_f: bool,
    t: bool,
    /// The letters may be repeated.
    many: bool,
}

impl Folded {
    pub(super) fn of(node: &Node) -> Self {
        let mut all = Self::default();
        all.add(node);
        all
    }

    fn add(&mut self, node: &Node) {
        match node {
            Node::Char(character) => self.add_set(&class::single(*character)),
            Node::Set(set) => self.add_set(set),
            Node::Concat(nodes) | Node::Alternatives(nodes) => {
                nodes.iter().for_each(|node| self.add(node));
            }
            Node::Repeat { node, max, .. } => {
                self.add(node);
                self.many |= *max != Some(1);
            }
            Node::Atomic(node) => self.add(node),
            Node::Look { .. } | Node::Assert(_) => {}
        }
    }

    fn add_set(&mut self, set: &ClassUnicode) {
        let has = |letter: char| {
            let mut both = class::single(letter);
            both.intersect(set);
            !both.ranges().is_empty()
        };
        self.s |= has('s');
        self.f |= has('f');
        self.after_f |= has('i') || has('l');
        self.t |= has('t');
    }

    pub(super) fn pairs_with(self, next: Self) -> bool {
        let pair = |one: Self, next: Self| {
            (one.s && (next.s || next.t)) || (one.f && (next.f || next.after_f))
        };
        pair(self, next) || (next.many && pair(next, next))
    }
}
