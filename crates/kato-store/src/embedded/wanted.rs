//! The names among the symbols of a node, in the order of the patterns that they are of.

use kato_model::PatternName;

use super::in_use::{HeldName, InUse, NamesWalk};
use crate::StoreError;

/// The names among the symbols of a node, in order, each with all that stand for it.
pub(super) struct WantedNames {
    /// Texts that are names, by rank in the merged dictionary, and the next of them.
    literals: Vec<(usize, PatternName)>,
    next_literal: usize,
    walk: NamesWalk,
    /// The next name; `None` behind the last.
    pub(super) next: Option<PatternName>,
}

/// What stands for a name.
pub(super) enum Holder {
    /// The text of this rank in the merged dictionary.
    Literal(usize),
    /// What the segment of this place has the name for.
    Held(usize, HeldName),
}

impl WantedNames {
    pub(super) fn new(merged: &[&str], node_idx: usize, walk: NamesWalk) -> Self {
        // Text of names is ordered as names are. Below the lowest node are none.
        let texts = merged.iter().enumerate().filter(|_| node_idx > 0);
        let literals = texts.filter_map(|(idx, text)| Some((idx, PatternName::from_symbol(text)?)));
        let mut wanted = Self {
            literals: literals.collect(),
            next_literal: 0,
            walk,
            next: None,
        };
        wanted.find_next();
        wanted
    }

    /// Ends, and returns what is in use.
    pub(super) fn into_in_use(self) -> Vec<Option<InUse>> {
        self.walk.into_in_use()
    }

    fn find_next(&mut self) {
        let literal = self.literals.get(self.next_literal);
        self.next = smaller(literal.map(|(_, name)| *name), self.walk.name());
    }

    /// Shows what stands for the next name, and moves behind it.
    pub(super) fn take(&mut self, mut show: impl FnMut(Holder)) -> Result<(), StoreError> {
        let Some(name) = self.next else {
            return Ok(());
        };
        if let Some((idx, _)) = self
            .literals
            .get(self.next_literal)
            .filter(|(_, literal)| *literal == name)
        {
            show(Holder::Literal(*idx));
            self.next_literal += 1;
        }
        while let Some((source, held)) = self.walk.take(&name)? {
            show(Holder::Held(source, held));
        }
        self.find_next();
        Ok(())
    }
}

/// Returns the smaller of two names.
fn smaller(a: Option<PatternName>, b: Option<PatternName>) -> Option<PatternName> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
