//! What comes next in a session, by the counts of its node, or of a hierarchy that the node is the
//! lowest level of.

use std::sync::Arc;

use kato_head::{Explanation, Head, NextDistribution, PatternNamer, SymbolId, Weights};
use kato_prediction::{Cancel, Cancelled};

use super::Service;
use crate::ServiceError;
use crate::answer::{AskedSymbol, CountedNode, NextOutcome, NextQuestion};
use crate::heads::{Listing, bytes_of_listing};
use crate::node::LoadedNode;

/// Most patterns that are named for a count.
const MAX_PATTERNS: usize = 100;

/// Most symbols that are explained with the names of patterns.
const MAX_NAMED: usize = 10;

/// Patterns between two looks whether anybody waits, and at the memory.
const LOOK_EVERY: usize = 256;

/// Bytes that a named pattern takes in an explanation, with the symbols before it, about.
const NAMED: usize = 1024;

/// Bytes that an explanation takes for each event of the history and beside them, at most.
const EXPLAINED: (usize, usize) = (64, 8192);

impl Service {
    /// Returns what comes next in a session, with which probability, and why; see
    /// [`kato_head`].
    ///
    /// The patterns that count are those of the session's node and of the nodes above it that the
    /// query names, without retired ones, everything included that was acknowledged before the call; the
    /// history is [what the session observed](kato_engine::session::SessionState::history). The first question
    /// counts all patterns, later ones what was learned since.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AskedTooMuch`], [`ServiceError::UnknownNode`],
    /// [`ServiceError::RepeatedNode`], [`ServiceError::HeadMemoryFull`], [`ServiceError::Head`],
    /// [`ServiceError::Cancelled`], and as [`stm`](Self::stm).
    pub fn next(
        &self,
        id: &str,
        query: &NextQuestion,
        cancel: &Cancel,
    ) -> Result<NextOutcome, ServiceError> {
        check_query(query)?;
        let names = query.explain && query.patterns > 0;
        let (node_id, node, history) = self.read(id, |loaded, entry| {
            let history = loaded.session.state().history();
            let history: Vec<Option<String>> =
                history.map(|symbol| symbol.map(str::to_owned)).collect();
            (entry.node_id.clone(), Arc::clone(&loaded.node), history)
        })?;
        let history: Vec<Option<&str>> = history.iter().map(Option::as_deref).collect();
        let (key, nodes) = self.with_above(&node_id, node, &query.above)?;
        let ids = std::iter::once(&node_id).chain(&query.above);
        let limit = self.shared.options.max_head_memory;
        let heads = &self.shared.heads;
        let asked = match names {
            false => heads.ask((key, &nodes), limit, cancel, |head| {
                Ok(answer(head, query, &history, of_all, cancel)?)
            }),
            true => heads.ask_with_listing((key, &nodes), limit, cancel, |head, listing| {
                let mut answer = answer(head, query, &history, of_all, cancel)?;
                let explanations = &mut answer.explanations;
                name_patterns(
                    head,
                    listing,
                    &nodes,
                    explanations,
                    (query.patterns, limit),
                    cancel,
                )?;
                Ok(answer)
            }),
        };
        let asked = asked.and_then(|answered| answered);
        let mut answer = asked.map_err(|error| self.shared.note_level(&nodes, error))?;
        let level = |(node_id, node): (&String, &Arc<LoadedNode>)| CountedNode {
            node_id: node_id.clone(),
            patterns: node.node().totals().patterns,
        };
        answer.levels = ids.zip(&nodes).map(level).collect();
        Ok(answer)
    }

    /// Returns the key of a hierarchy and its nodes: a session's node, and those above it.
    pub(super) fn with_above(
        &self,
        node_id: &str,
        node: Arc<LoadedNode>,
        above: &[String],
    ) -> Result<(Vec<String>, Vec<Arc<LoadedNode>>), ServiceError> {
        let mut key = vec![self.processor_id(node_id)];
        let mut nodes = vec![node];
        for above in above {
            let processor_id = self.processor_id(above);
            if key.contains(&processor_id) {
                let node_id = above.clone();
                return Err(ServiceError::RepeatedNode { node_id });
            }
            let unknown = || ServiceError::UnknownNode {
                node_id: above.clone(),
            };
            nodes.push(self.node(above)?.ok_or_else(unknown)?);
            key.push(processor_id);
        }
        Ok((key, nodes))
    }
}

/// Refuses a question that asks for more than there may be.
pub(super) fn check_query(query: &NextQuestion) -> Result<(), ServiceError> {
    check(
        "symbols that may come next",
        query.top,
        NextQuestion::MAX_TOP,
    )?;
    check(
        "symbols by name",
        query.symbols.len(),
        NextQuestion::MAX_SYMBOLS,
    )?;
    check_above(&query.above)?;
    check("patterns for a count", query.patterns, MAX_PATTERNS)?;
    if query.explain && query.patterns > 0 {
        check("symbols with patterns", query.symbols.len(), MAX_NAMED)?;
    }
    Ok(())
}

/// Refuses more levels above a node than there may be.
pub(super) fn check_above(above: &[String]) -> Result<(), ServiceError> {
    check("levels above a node", above.len(), NextQuestion::MAX_ABOVE)
}

/// Refuses more than there may be.
fn check(what: &'static str, found: usize, limit: usize) -> Result<(), ServiceError> {
    match found <= limit {
        true => Ok(()),
        false => Err(ServiceError::AskedTooMuch { what, found, limit }),
    }
}

/// Returns the most probable symbols, and the probability of unknown ones, by way of all.
fn of_all(next: &NextDistribution<'_>, n: usize) -> (Vec<(SymbolId, f64)>, f64) {
    let all = next.distribution();
    (all.top(n), all.of_unknown())
}

/// Answers by a head, without the levels; `best` finds the most probable symbols.
pub(super) fn answer(
    head: &Head,
    query: &NextQuestion,
    history: &[Option<&str>],
    best: impl Fn(&NextDistribution<'_>, usize) -> (Vec<(SymbolId, f64)>, f64),
    cancel: &Cancel,
) -> Result<NextOutcome, Cancelled> {
    // The distribution, and the history as the head reads it.
    let bytes = head.n_outcomes() * size_of::<f64>() + history.len() * 100;
    cancel.reserve(|| bytes)?;
    let mut read = head.history();
    let mut weights = Weights::new();
    for symbol in history {
        let symbol = symbol.and_then(|symbol| head.symbol(symbol));
        if query.fit {
            cancel.check()?;
            head.learn_weights(&mut weights, &read, None, symbol);
        }
        head.read_id(&mut read, symbol);
    }
    cancel.check()?;
    let next = head.next(&read, &weights, None);
    let (best, other) = best(&next, query.top.max(1));
    let text = |symbol| head.text(symbol).unwrap_or_default().to_owned();
    let mut answer = NextOutcome {
        history: history.len(),
        levels: Vec::new(),
        outcomes: head.n_outcomes(),
        next: Vec::new(),
        other,
        asked: Vec::new(),
        explanations: Vec::new(),
    };
    let mut explain = |symbol| {
        cancel.reserve(|| history.len() * EXPLAINED.0 + EXPLAINED.1)?;
        answer.explanations.push(next.explain(symbol));
        Ok(())
    };
    for symbol in &query.symbols {
        let known = head.symbol(symbol);
        answer.asked.push(AskedSymbol {
            symbol: symbol.clone(),
            is_known: known.is_some(),
            probability: known.map_or(other, |known| next.probability(known)),
        });
        if let Some(known) = known.filter(|_| query.explain) {
            explain(known)?;
        }
    }
    if query.explain
        && query.symbols.is_empty()
        && let Some(&(best, _)) = best.first()
    {
        explain(best)?;
    }
    let best = best.into_iter().take(query.top);
    answer.next = best.map(|(symbol, p)| (text(symbol), p)).collect();
    Ok(answer)
}

/// Names the patterns that a head counts, which are listed, in explanations.
fn name_patterns(
    head: &Head,
    listing: Listing,
    nodes: &[Arc<LoadedNode>],
    explanations: &mut [Explanation],
    (most, limit): (usize, usize),
    cancel: &Cancel,
) -> Result<(), ServiceError> {
    let listed = bytes_of_listing(&listing);
    let mut namer = PatternNamer::new(head, explanations, most);
    for (level, (patterns, node)) in listing.into_iter().zip(nodes).enumerate() {
        for (idx, (name, frequency)) in patterns.into_iter().enumerate() {
            if idx.is_multiple_of(LOOK_EVERY) {
                cancel.check()?;
                if namer.heap_bytes().saturating_add(listed) > limit {
                    return Err(ServiceError::HeadMemoryFull { limit });
                }
            }
            // One by one, so that who learns waits for no more than one.
            let events = node.node().events(&name);
            if let Some(events) = events.map_err(|error| node.naming(error))? {
                namer.add(level, &name, &events, frequency)?;
            }
        }
    }
    namer.name(explanations);
    for pattern in explanations.iter_mut().flat_map(Explanation::patterns_mut) {
        cancel.reserve(|| NAMED)?;
        // Of what was taught here nothing but the time is known: this is for what was trained
        // elsewhere and put there.
        if let Some(node) = nodes.get(pattern.level) {
            let source = node.source_of(&pattern.pattern);
            pattern.source = source.map_err(|error| node.naming(error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kato_prediction::Cancel;

    use crate::answer::{NewSession, NextQuestion};
    use crate::{Service, ServiceOptions};

    #[test]
    fn few_heads_are_kept_and_none_of_a_node_that_has_left_memory() {
        let dir = tempfile::tempdir().unwrap();
        let options = ServiceOptions::default().with_max_loaded_nodes(0);
        let service = Service::open(dir.path(), options).unwrap();
        let ids: Vec<String> = (0..70)
            .map(|idx| {
                let made = service.create_session(NewSession::new(format!("n{idx}")));
                made.unwrap().wait().unwrap().session_id
            })
            .collect();
        let ask = |id: &str| service.next(id, &NextQuestion::default(), &Cancel::never());
        for id in &ids {
            ask(id).unwrap();
        }
        let (n_heads, bytes) = service.shared.heads.kept();
        assert_eq!(n_heads, 64);
        assert!((64 << 20..65 << 20).contains(&bytes), "{bytes}");
        ask(&ids[0]).unwrap();
        for id in &ids {
            service.delete_session(id).unwrap().wait().unwrap();
        }
        // The first round takes the nodes out of memory, and the second finds their heads.
        service.maintain().unwrap();
        service.maintain().unwrap();
        assert_eq!(service.shared.heads.kept(), (0, 0));
    }
}
