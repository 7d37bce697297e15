//! Model of what sessions and nodes should remember: the rules of KATO, written plainly.

use std::collections::BTreeMap;

use kato_engine::config::StmMode;
use kato_engine::{Node, SessionConfig};
use kato_model::{Event, PatternName};

/// Events that a session keeps between operations.
pub(super) const KEPT: usize = 1000;

/// Memory that a session should have.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    pub(super) stm: Vec<Event>,
    pub(super) time: u64,
}

/// Knowledge that a node should have: every pattern, and how often it was learned.
#[derive(Debug, Clone, Default)]
pub(super) struct Knowledge(BTreeMap<PatternName, (Vec<Event>, u64)>);

impl Memory {
    /// Observes this event, or none, and returns the pattern that is learned automatically.
    pub(super) fn observe(
        &mut self,
        event: Option<Event>,
        config: &SessionConfig,
        knowledge: &mut Knowledge,
    ) -> Option<PatternName> {
        self.time += 1;
        // Without an event the time has advanced, and nothing is learned.
        self.stm.push(event?);
        let limit = config.max_pattern_length;
        if limit == 0 || (self.stm.len() as u64) < limit {
            return None;
        }
        let learned = knowledge.learn(&self.stm);
        let kept = match config.stm_mode {
            // A memory of a single event is emptied in both modes.
            StmMode::Rolling if self.stm.len() > 1 => limit as usize - 1,
            StmMode::Rolling | StmMode::Clear => 0,
        };
        self.keep(kept);
        learned
    }

    /// Learns and forgets the events.
    pub(super) fn learn(&mut self, knowledge: &mut Knowledge) -> Option<PatternName> {
        knowledge.learn(&std::mem::take(&mut self.stm))
    }

    /// Keeps the latest events.
    pub(super) fn keep(&mut self, n: usize) {
        let surplus = self.stm.len().saturating_sub(n);
        self.stm.drain(..surplus);
    }
}

impl Knowledge {
    /// Learns a pattern, and returns its name; `None` for fewer than two symbols, which make no
    /// pattern.
    fn learn(&mut self, events: &[Event]) -> Option<PatternName> {
        let n_symbols: usize = events.iter().map(Event::len).sum();
        if n_symbols < 2 {
            return None;
        }
        let name = PatternName::of_events(events);
        let (_, frequency) = self.0.entry(name).or_insert_with(|| (events.to_vec(), 0));
        *frequency += 1;
        Some(name)
    }

    /// Returns how often a pattern was learned.
    pub(super) fn frequency(&self, name: &PatternName) -> u64 {
        self.0.get(name).map_or(0, |(_, frequency)| *frequency)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Compares totals, and one pattern after the other, with a node.
    pub(super) fn check(&self, node: &Node) {
        let totals = node.totals();
        let learns: u64 = self.0.values().map(|(_, frequency)| frequency).sum();
        assert_eq!(
            (totals.patterns, totals.learns),
            (self.0.len() as u64, learns)
        );
        let length = |events: &[Event]| events.iter().map(Event::len).sum::<usize>() as u64;
        let symbols: u64 = self.0.values().map(|(events, n)| length(events) * n).sum();
        assert_eq!(totals.learned_symbols, symbols);
        for (name, (events, frequency)) in &self.0 {
            let record = node.pattern(name).expect("a store in memory can be read");
            let record = record.expect("it was learned");
            assert_eq!(
                (record.pattern.events(), record.frequency),
                (&events[..], *frequency)
            );
        }
    }
}
