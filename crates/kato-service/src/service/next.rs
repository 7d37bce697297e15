//! What comes next in a session, by the counts of its node, or of a hierarchy that the node is the
//! lowest level of.

use std::sync::Arc;

use kato_head::{Head, Weights};
use kato_prediction::{Cancel, Cancelled};

use super::Service;
use crate::ServiceError;
use crate::answer::{AskedSymbol, NextAnswer, NextLevel, NextQuery};

/// Most symbols that are listed.
const MAX_TOP: usize = 1000;

/// Most symbols that are asked for by name.
const MAX_SYMBOLS: usize = 100;

/// Most levels above the session's node.
const MAX_ABOVE: usize = 15;

/// Bytes that an explanation takes for each event of the history and beside them, at most.
const EXPLAINED: (usize, usize) = (64, 8192);

impl Service {
    /// Returns what comes next in a session, with which probability, and why; see
    /// [`kato_head`].
    ///
    /// The patterns that count are those of the session's node and of the nodes above it that the
    /// query names, everything included that was acknowledged before the call; the history is
    /// [what the session observed](kato_engine::session::SessionState::history). The first question
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
        query: &NextQuery,
        cancel: &Cancel,
    ) -> Result<NextAnswer, ServiceError> {
        check("symbols that may come next", query.top, MAX_TOP)?;
        check("symbols by name", query.symbols.len(), MAX_SYMBOLS)?;
        check("levels above a node", query.above.len(), MAX_ABOVE)?;
        let (node_id, node, history) = self.read(id, |loaded, entry| {
            let history = loaded.session.state().history();
            let history: Vec<Option<String>> =
                history.map(|symbol| symbol.map(str::to_owned)).collect();
            (entry.node_id.clone(), Arc::clone(&loaded.node), history)
        })?;
        let mut key = vec![self.processor_id(&node_id)];
        let mut nodes = vec![node];
        for above in &query.above {
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
        let ids = std::iter::once(&node_id).chain(&query.above);
        let limit = self.shared.options.max_head_memory;
        let heads = &self.shared.heads;
        let mut answer = heads.ask((key, &nodes), limit, cancel, |head| {
            answer(head, query, &history, cancel)
        })??;
        let level = |(node_id, node): (&String, &Arc<crate::node::LoadedNode>)| NextLevel {
            node_id: node_id.clone(),
            patterns: node.node().totals().patterns,
        };
        answer.levels = ids.zip(&nodes).map(level).collect();
        Ok(answer)
    }
}

/// Refuses more than there may be.
fn check(what: &'static str, found: usize, limit: usize) -> Result<(), ServiceError> {
    match found <= limit {
        true => Ok(()),
        false => Err(ServiceError::AskedTooMuch { what, found, limit }),
    }
}

/// Answers by a head, without the levels.
fn answer(
    head: &Head,
    query: &NextQuery,
    history: &[Option<String>],
    cancel: &Cancel,
) -> Result<NextAnswer, Cancelled> {
    // The distribution, and the history as the head reads it.
    let bytes = head.n_outcomes() * size_of::<f64>() + history.len() * 100;
    cancel.take(|| bytes)?;
    let mut read = head.history();
    for symbol in history {
        let symbol = symbol.as_deref().and_then(|symbol| head.symbol(symbol));
        head.read_id(&mut read, symbol);
    }
    cancel.check()?;
    let weights = Weights::new();
    let next = head.next(&read, &weights, None);
    let distribution = next.distribution();
    let other = distribution.of_unknown();
    let best = distribution.top(query.top.max(1));
    let text = |symbol| head.text(symbol).unwrap_or_default().to_owned();
    let mut answer = NextAnswer {
        history: history.len(),
        levels: Vec::new(),
        outcomes: head.n_outcomes(),
        next: Vec::new(),
        other,
        asked: Vec::new(),
        explanations: Vec::new(),
    };
    let mut explain = |symbol| {
        cancel.take(|| history.len() * EXPLAINED.0 + EXPLAINED.1)?;
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

#[cfg(test)]
mod tests {
    use kato_prediction::Cancel;

    use crate::answer::{NewSession, NextQuery};
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
        let ask = |id: &str| service.next(id, &NextQuery::default(), &Cancel::never());
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
