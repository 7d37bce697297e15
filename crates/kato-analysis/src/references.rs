//! Reading what the patterns of a node refer to in the node below.

use std::ops::ControlFlow;

use kato_model::PatternName;
use kato_store::{PatternStore, PatternVisitor, SourceSymbols, SymbolRef, VisitedPattern};

use crate::AnalysisError;
use crate::level::Level;

/// One symbol of a pattern that is the name of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) name: PatternName,
    /// Where the name is in the level below; `None` if it is not there.
    pub(crate) position: Option<usize>,
}

/// Shows `found` the place of every pattern of a node in its level, with its references in order.
///
/// Patterns come source by source: one that several sources hold is shown by each of them. Memory: 8 bytes for each symbol of
/// one source.
pub(crate) fn visit(
    store: &dyn PatternStore,
    node_idx: usize,
    upper: &Level,
    lower: &Level,
    found: impl FnMut(usize, &[Reference]),
) -> Result<(), AnalysisError> {
    let mut visitor = Visitor {
        upper,
        lower,
        found,
        symbols: Vec::new(),
        references: Vec::new(),
        is_unknown: false,
    };
    let visited = store.visit(node_idx, &mut visitor);
    visited.map_err(AnalysisError::read(&upper.node))?;
    if visitor.is_unknown {
        let node = upper.node.clone();
        return Err(AnalysisError::ChangedMeanwhile { node });
    }
    Ok(())
}

struct Visitor<'a, F> {
    upper: &'a Level,
    lower: &'a Level,
    found: F,
    /// What the numbers of the source mean.
    symbols: Vec<usize>,
    references: Vec<Reference>,
    /// Whether a pattern came that the level did not have when it was read.
    is_unknown: bool,
}

/// A symbol that is text.
const TEXT: usize = usize::MAX;
/// The name of a pattern that the level below does not hold.
const DANGLING: usize = usize::MAX - 1;

impl<F: FnMut(usize, &[Reference])> PatternVisitor for Visitor<'_, F> {
    fn source(&mut self, symbols: &SourceSymbols<'_>, _: u64) -> ControlFlow<()> {
        let meaning = |number| match symbols.get(number) {
            Some(SymbolRef::Name(name)) => self.lower.names.position(&name).unwrap_or(DANGLING),
            Some(SymbolRef::Text(_)) | None => TEXT,
        };
        self.symbols.clear();
        self.symbols.extend((0..symbols.len() as u32).map(meaning));
        ControlFlow::Continue(())
    }

    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        let Some(position) = self.upper.names.position(&pattern.name) else {
            self.is_unknown = true;
            return ControlFlow::Break(());
        };
        self.references.clear();
        for &number in pattern.symbols {
            let meaning = self.symbols.get(number as usize).copied().unwrap_or(TEXT);
            if meaning == TEXT {
                continue;
            }
            if let Some(SymbolRef::Name(name)) = symbols.get(number) {
                let position = (meaning != DANGLING).then_some(meaning);
                self.references.push(Reference { name, position });
            }
        }
        (self.found)(position, &self.references);
        ControlFlow::Continue(())
    }
}
