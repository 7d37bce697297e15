//! Traces of patterns, down to the text that they were learned from.

use std::collections::HashMap;
use std::sync::Arc;

use kato_model::{PatternName, Symbol};

use crate::contract::check_node;
use crate::{PatternStore, StoreError, StoredPattern};

/// A pattern with everything below it, down to the text symbols: the provenance of a prediction.
///
/// A pattern that occurs several times is read once for each node whose patterns name it, and
/// shared. So memory goes by the *distinct* patterns below, and depth is bounded by the number of
/// nodes. A child is looked for in the nodes below its parent, the nearest first; one that none of
/// them holds, as in a partial import, is reported as [`TraceChild::Unknown`].
///
/// ```
/// use kato_model::batch::BatchSymbol;
/// use kato_model::{LearnBatch, PatternName, Symbol};
/// use kato_store::trace::TraceChild;
/// use kato_store::{KnowledgeBase, MemoryStore, PatternStore};
/// use serde_json::json;
///
/// let store = MemoryStore::new(&["node0", "node1"], json!(null));
/// let mut batch = LearnBatch::new(2);
/// let chunk = PatternName::of_events(&[["the"], ["cat"]]);
/// let symbols = ["the", "cat"].map(|text| BatchSymbol::Literal(batch.literal(text)));
/// let child = batch.learn(0, chunk, symbols);
/// let phrase = PatternName::of_events(&[[chunk.prefixed().to_string()], ["sat".to_owned()]]);
/// let symbols = [BatchSymbol::Child(child), BatchSymbol::Literal(batch.literal("sat"))];
/// batch.learn(1, phrase, symbols);
/// store.commit(vec![store.stage(batch.seal())?], json!(null))?;
///
/// let trace = KnowledgeBase::new(&store, "node1")?.trace(&phrase)?.expect("it was just learned");
/// let children: Vec<_> = trace.children().collect();
/// assert!(matches!(children[0], TraceChild::Pattern(child) if child.node() == "node0"));
/// assert!(matches!(children[1], TraceChild::Text("sat")));
/// assert!(trace.leaves().eq(&["the", "cat", "sat"].map(Symbol::from)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    node: Arc<str>,
    pattern: StoredPattern,
    /// For each symbol of the pattern the pattern that it names, if a node below holds it.
    children: Vec<Option<Arc<Self>>>,
}

/// One symbol of a traced pattern.
#[derive(Debug, Clone, Copy)]
pub enum TraceChild<'a> {
    /// Text: a token, where the pattern was learned from text.
    Text(&'a str),
    /// A pattern of a node below.
    Pattern(&'a Trace),
    /// The name of a pattern that no node below holds.
    Unknown(PatternName),
}

impl Trace {
    /// Returns the name of the node that holds the pattern.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the pattern as its node holds it.
    #[must_use]
    pub fn pattern(&self) -> &StoredPattern {
        &self.pattern
    }

    /// Returns what each symbol of the pattern stands for, in the order of
    /// [`StoredPattern::symbols`]; none is left out.
    #[must_use]
    pub fn children(&self) -> impl ExactSizeIterator<Item = TraceChild<'_>> {
        let pairs = self.pattern.symbols.iter().zip(&self.children);
        pairs.map(|(symbol, child)| match (symbol, child) {
            (Symbol::Text(text), _) => TraceChild::Text(text),
            (Symbol::Name(_), Some(trace)) => TraceChild::Pattern(trace),
            (Symbol::Name(name), None) => TraceChild::Unknown(*name),
        })
    }

    /// Returns all text below the pattern, symbol after symbol, and the names of unknown patterns
    /// where their text would be.
    ///
    /// Lazy: a pattern can stand for any amount of text, so take as much as is needed.
    pub fn leaves(&self) -> impl Iterator<Item = &Symbol> {
        // A stack of iterators rather than recursion, because the walk pauses after every symbol.
        // It is never deeper than the hierarchy.
        let mut path = vec![self.pattern.symbols.iter().zip(&self.children)];
        std::iter::from_fn(move || {
            loop {
                match path.last_mut()?.next() {
                    None => drop(path.pop()),
                    Some((_, Some(child))) => {
                        path.push(child.pattern.symbols.iter().zip(&child.children));
                    }
                    Some((symbol, None)) => return Some(symbol),
                }
            }
        })
    }
}

/// A tracer of one store's patterns, which remembers them by the node below which they were looked
/// for.
pub(crate) struct Tracer<'a> {
    store: &'a dyn PatternStore,
    nodes: Vec<Arc<str>>,
    traced: HashMap<(usize, PatternName), Option<Arc<Trace>>>,
}

impl<'a> Tracer<'a> {
    /// Creates a tracer that remembers nothing yet.
    pub(crate) fn new(store: &'a dyn PatternStore) -> Self {
        let nodes = store
            .nodes()
            .iter()
            .map(|node| node.as_str().into())
            .collect();
        Self {
            store,
            nodes,
            traced: HashMap::new(),
        }
    }

    /// Returns a pattern of a node, with everything below it.
    pub(crate) fn trace(
        &mut self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<Trace>, StoreError> {
        check_node(self.store.nodes(), node_idx)?;
        let Some(pattern) = self.store.pattern(node_idx, name)? else {
            return Ok(None);
        };
        let children = pattern.symbols.iter().map(|symbol| match symbol {
            Symbol::Text(_) => Ok(None),
            Symbol::Name(name) => self.trace_child(node_idx, name),
        });
        let children = children.collect::<Result<_, _>>()?;
        let node = Arc::clone(&self.nodes[node_idx]);
        Ok(Some(Trace {
            node,
            pattern,
            children,
        }))
    }

    /// Returns the pattern of this name in the nearest node below; the node index falls with every
    /// call, so the recursion ends.
    fn trace_child(
        &mut self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<Arc<Trace>>, StoreError> {
        if let Some(traced) = self.traced.get(&(node_idx, *name)) {
            return Ok(traced.clone());
        }
        let mut found = None;
        for below in (0..node_idx).rev() {
            found = self.trace(below, name)?.map(Arc::new);
            if found.is_some() {
                break;
            }
        }
        // Also remembers a name that no node holds. The node belongs to the key, because the
        // nearest node below depends on where the search begins.
        self.traced.insert((node_idx, *name), found.clone());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use kato_model::LearnBatch;
    use kato_model::batch::BatchSymbol;
    use serde_json::Value;

    use super::*;
    use crate::{KnowledgeBase, MemoryStore};

    fn learn(store: &MemoryStore, node_idx: usize, symbols: &[&str]) -> String {
        let mut batch = LearnBatch::new(store.nodes().len());
        let name =
            PatternName::of_events(&symbols.iter().map(|symbol| [symbol]).collect::<Vec<_>>());
        let ids: Vec<_> = symbols.iter().map(|symbol| batch.literal(symbol)).collect();
        batch.learn(node_idx, name, ids.into_iter().map(BatchSymbol::Literal));
        store
            .commit(vec![store.stage(batch.seal()).unwrap()], Value::Null)
            .unwrap();
        name.prefixed().to_string()
    }

    fn trace(store: &MemoryStore, node_idx: usize, symbol: &str) -> Option<Trace> {
        let name = PatternName::from_symbol(symbol).unwrap();
        KnowledgeBase::at(store, node_idx)
            .unwrap()
            .trace(&name)
            .unwrap()
    }

    fn leaves(trace: &Trace) -> Vec<String> {
        trace.leaves().map(Symbol::to_string).collect()
    }

    #[test]
    fn a_pattern_is_its_text_in_order_repeats_included() {
        let store = MemoryStore::new(&["a", "b", "c"], Value::Null);
        let (x, y) = (learn(&store, 0, &["1", "2"]), learn(&store, 0, &["3"]));
        let xyx = learn(&store, 1, &[&x, &y, &x]);
        let top = learn(&store, 2, &[&xyx, &xyx]);
        let trace = trace(&store, 2, &top).unwrap();
        assert_eq!(
            leaves(&trace),
            ["1", "2", "3", "1", "2", "1", "2", "3", "1", "2"]
        );
        assert!(
            trace
                .children()
                .all(|child| matches!(child, TraceChild::Pattern(child) if child.node() == "b"))
        );
        // Read once, shared.
        assert!(Arc::ptr_eq(
            trace.children[0].as_ref().unwrap(),
            trace.children[1].as_ref().unwrap()
        ));
    }

    #[test]
    fn a_name_that_went_up_unchanged_is_found_further_below() {
        let store = MemoryStore::new(&["a", "b", "c"], Value::Null);
        let x = learn(&store, 0, &["1", "2"]);
        let xx = learn(&store, 1, &[&x, &x]);
        let top = learn(&store, 2, &[&xx, &x]);
        assert_eq!(
            leaves(&trace(&store, 2, &top).unwrap()),
            ["1", "2", "1", "2", "1", "2"]
        );
    }

    #[test]
    fn what_no_node_below_holds_is_unknown_and_not_dropped() {
        let store = MemoryStore::new(&["a", "b"], Value::Null);
        let x = learn(&store, 0, &["1"]);
        let gone = PatternName::of_events(&[["gone"]]);
        let top = learn(&store, 1, &[&x, &gone.prefixed().to_string(), "text"]);
        let trace = trace(&store, 1, &top).unwrap();
        assert!(matches!(trace.children().nth(1), Some(TraceChild::Unknown(name)) if name == gone));
        assert_eq!(
            leaves(&trace),
            [
                "1".to_owned(),
                gone.prefixed().to_string(),
                "text".to_owned()
            ]
        );
        // A name in the lowest node has nothing below it, not even itself.
        let lowest = learn(&store, 0, &[&x]);
        assert!(matches!(
            self::trace(&store, 0, &lowest).unwrap().children().next(),
            Some(TraceChild::Unknown(_))
        ));
        assert!(self::trace(&store, 1, &x).is_none());
    }

    #[test]
    fn repetition_costs_distinct_patterns_only() {
        let nodes: Vec<String> = (0..40).map(|idx| idx.to_string()).collect();
        let store = MemoryStore::new(&nodes, Value::Null);
        let mut symbol = "x".to_owned();
        for node_idx in 0..nodes.len() {
            symbol = learn(&store, node_idx, &[&symbol, &symbol, &symbol]);
        }
        // 3⁴⁰ symbols, and an answer at once.
        let trace = trace(&store, 39, &symbol).unwrap();
        assert_eq!(
            trace
                .leaves()
                .take(1000)
                .filter(|leaf| **leaf == Symbol::from("x"))
                .count(),
            1000
        );
    }
}
