//! Reads the references of a node's patterns to the node below.

use std::ops::ControlFlow;

use kato_model::PatternName;
use kato_store::visit::{SourceSymbols, SymbolRef, VisitedPattern};
use kato_store::{PatternStore, PatternVisitor};

use crate::analysis::AnalysisError;
use crate::analysis::level::Level;

/// A symbol of a pattern that is the name of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) name: PatternName,
    /// Position of the name in the level below; `None` if it is not there.
    pub(crate) position: Option<usize>,
}

/// Passes to `found` the position of every pattern of a node in its level, with its references in
/// order.
///
/// Patterns come source by source: one that several sources hold is passed once for each of them.
/// Memory: 8 bytes for each symbol of one source.
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
    // A failed visit may have passed a part; it is an error, so the part is not used.
    visited.map_err(AnalysisError::read(&upper.node))?;
    // The level was read before, in another pass: a name that it lacks was learned in between.
    if visitor.is_unknown {
        let node = upper.node.clone();
        return Err(AnalysisError::ChangedMeanwhile { node });
    }
    Ok(())
}

/// Translates the symbols of a visit into references.
struct Visitor<'a, F> {
    upper: &'a Level,
    lower: &'a Level,
    found: F,
    /// Meaning of each symbol number of the current source: a position, [`TEXT`] or [`DANGLING`].
    symbols: Vec<usize>,
    references: Vec<Reference>,
    /// Whether the visit met a pattern that the level did not have when it was read.
    is_unknown: bool,
}

/// The meaning of a symbol that is text. No level holds that many patterns.
const TEXT: usize = usize::MAX;
/// The meaning of the name of a pattern that the level below does not hold.
const DANGLING: usize = usize::MAX - 1;

impl<F: FnMut(usize, &[Reference])> PatternVisitor for Visitor<'_, F> {
    fn source(&mut self, symbols: &SourceSymbols<'_>, _: u64) -> ControlFlow<()> {
        // Each name is searched once for a source, not once for each occurrence. Symbols are
        // numbered with 32 bits by the contract, so the cast keeps every number.
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
