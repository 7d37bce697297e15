//! A mirror of what the server holds for a session, enough to create the session anew.
//!
//! The events of the short-term memory are the observations that made them; the count in every
//! answer says how many of the latest are left, after automatic learns, clears between observations
//! and the server's own limit alike.
//!
//! Emotives and metadata outlive a learn in generation 3.10 and go into the next pattern as well.
//! So those that were observed since the last clear are kept, without their symbols, and are
//! observed again before the events. In the 2025-10 generation they belong to the node, not to the
//! session: they survive it and must not be repeated.

use std::collections::VecDeque;

use kato_protocol::Observation;

/// Most events, and most emotive or metadata maps, that a server keeps of a session.
pub(crate) const SERVER_KEEPS: usize = 1000;

/// The state of a session, as far as it is known on this side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mirror {
    entries: VecDeque<Entry>,
    n_events: usize,
    /// Number of observations since the session was created or cleared, as the server counts them.
    pub(crate) time: u64,
}

/// An observation of which the session still holds something.
#[derive(Debug, Clone)]
struct Entry {
    observation: Observation,
    /// The event in the server's order, while it is in the short-term memory.
    event: Option<Event>,
}

/// An event in the order in which the server has its symbols.
#[derive(Debug, Clone)]
enum Event {
    /// As the server showed it.
    Known(Vec<String>),
    /// As the observation makes it.
    Observed,
}

impl Mirror {
    /// Returns the number of events in the short-term memory.
    pub(crate) const fn n_events(&self) -> usize {
        self.n_events
    }

    /// Returns whether the session holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes an observation that was carried out and left `stm_length` events.
    pub(crate) fn observed(&mut self, observation: &Observation, stm_length: usize, time: u64) {
        let event = makes_event(observation);
        if event || has_attributes(observation) {
            self.entries.push_back(Entry {
                observation: observation.clone(),
                event: event.then_some(Event::Observed),
            });
        }
        self.n_events += usize::from(event);
        self.time = time;
        // The server's count decides: it already includes automatic learns.
        self.keep(stm_length);
    }

    /// Notes that the server saved the session, which cuts what is more than it keeps.
    pub(crate) fn saved(&mut self) {
        self.keep(SERVER_KEEPS);
        // Emotives, metadata and events each have a bound of their own, and lose their oldest, as
        // in KATO.
        self.keep_latest(
            |observation| !observation.emotives.is_empty(),
            |observation| observation.emotives.clear(),
        );
        self.keep_latest(
            |observation| !observation.metadata.is_empty(),
            |observation| observation.metadata.clear(),
        );
        self.drop_idle();
    }

    /// Notes that the short-term memory was learned.
    pub(crate) fn learned(&mut self) {
        // Not `clear`: emotives and metadata stay in the session after a learn.
        self.keep(0);
    }

    /// Notes that short-term memory, emotives and metadata were cleared.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Notes the symbols of the short-term memory as the server shows them.
    pub(crate) fn set_stm(&mut self, stm: Vec<Vec<String>>) {
        // Another state than the mirrored one, whose events cannot be matched.
        if stm.len() != self.n_events {
            return;
        }
        let entries = self
            .entries
            .iter_mut()
            .filter_map(|entry| entry.event.as_mut());
        for (event, symbols) in entries.zip(stm) {
            *event = Event::Known(symbols);
        }
    }

    /// Returns the events, if all of them are known for sure.
    pub(crate) fn exact_stm(&self) -> Option<Vec<Vec<String>>> {
        self.entries
            .iter()
            .filter_map(|entry| match entry.event.as_ref()? {
                Event::Known(symbols) => Some(Some(symbols.clone())),
                Event::Observed => Some(exact_event(&entry.observation)),
            })
            .collect()
    }

    /// Returns the observations that make this state in a fresh session.
    pub(crate) fn replay(&self, with_attributes: bool) -> Vec<Observation> {
        self.entries
            .iter()
            .filter_map(|entry| {
                let mut observation = entry.observation.clone();
                if !with_attributes {
                    observation.emotives.clear();
                    observation.metadata.clear();
                }
                (makes_event(&observation) || has_attributes(&observation)).then_some(observation)
            })
            .collect()
    }

    /// Returns whether the server's short-term memory is what was observed, as far as that can be
    /// told: vectors have names that the server makes, and a server may be set not to sort.
    pub(crate) fn agrees(&self, stm: &[Vec<String>]) -> bool {
        let events = self.entries.iter().filter(|entry| entry.event.is_some());
        stm.len() == self.n_events
            && events.zip(stm).all(|(entry, found)| {
                if !entry.observation.vectors.is_empty() {
                    return true;
                }
                let mut found = found.clone();
                found.sort_unstable();
                let mut expected = entry.observation.strings.clone();
                expected.sort_unstable();
                found == expected
            })
    }

    /// Clears an attribute of all observations that have it but the latest that the server keeps.
    fn keep_latest(
        &mut self,
        has: impl Fn(&Observation) -> bool,
        clear: impl Fn(&mut Observation),
    ) {
        let observations = self.entries.iter_mut().map(|entry| &mut entry.observation);
        let with_it = observations.rev().filter(|observation| has(observation));
        with_it.skip(SERVER_KEEPS).for_each(clear);
    }

    /// Keeps only the latest `stm_length` events, and of the others their emotives and metadata.
    fn keep(&mut self, stm_length: usize) {
        if self.n_events <= stm_length {
            return;
        }
        for entry in &mut self.entries {
            if self.n_events == stm_length {
                break;
            }
            if entry.event.take().is_some() {
                entry.observation.strings.clear();
                entry.observation.vectors.clear();
                self.n_events -= 1;
            }
        }
        self.drop_idle();
    }

    /// Removes entries of which the session holds nothing any more.
    fn drop_idle(&mut self) {
        self.entries
            .retain(|entry| entry.event.is_some() || has_attributes(&entry.observation));
    }
}

/// Returns whether an observation adds an event.
pub(crate) fn makes_event(observation: &Observation) -> bool {
    !observation.strings.is_empty() || !observation.vectors.is_empty()
}

/// Returns whether an observation has emotives or metadata.
pub(crate) fn has_attributes(observation: &Observation) -> bool {
    !observation.emotives.is_empty() || !observation.metadata.is_empty()
}

/// Returns the event of an observation, if it is the same whether the server sorts or not.
pub(crate) fn exact_event(observation: &Observation) -> Option<Vec<String>> {
    (observation.vectors.is_empty() && observation.strings.is_sorted())
        .then(|| observation.strings.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stm(mirror: &Mirror) -> Vec<Vec<String>> {
        mirror.exact_stm().expect("strings in order")
    }

    #[test]
    fn the_count_in_the_answer_says_what_is_left() {
        let mut mirror = Mirror::default();
        for (time, symbol) in (1..).zip(["a", "b", "c"]) {
            mirror.observed(&Observation::strings([symbol]), mirror.n_events() + 1, time);
        }
        // Learned rolling, two are left.
        mirror.observed(&Observation::strings(["d"]), 2, 4);
        assert_eq!(stm(&mirror), [["c"], ["d"]]);
        mirror.learned();
        assert!(mirror.is_empty());
    }

    #[test]
    fn emotives_outlive_a_learn_without_their_symbols() {
        let mut mirror = Mirror::default();
        mirror.observed(&Observation::strings(["a"]).with_emotive("joy", 1.0), 1, 1);
        mirror.learned();
        assert_eq!(mirror.n_events(), 0);
        let expected = Observation::default().with_emotive("joy", 1.0);
        assert_eq!(mirror.replay(true), [expected]);
        assert_eq!(mirror.replay(false), []);
    }

    #[test]
    fn a_save_keeps_what_the_server_keeps() {
        let mut mirror = Mirror::default();
        for n in 1..=1003 {
            let observation = Observation::strings([format!("s{n}")]).with_emotive("joy", 1.0);
            mirror.observed(&observation, n, n as u64);
        }
        mirror.saved();
        assert_eq!(mirror.n_events(), 1000);
        assert_eq!(stm(&mirror)[0], ["s4"]);
        assert_eq!(mirror.replay(true).len(), 1000);
    }

    #[test]
    fn emotives_and_metadata_are_bounded_each_for_itself() {
        let mut mirror = Mirror::default();
        let none = Observation::strings(Vec::<String>::new());
        for n in 0..1001 {
            let emotive = none.clone().with_emotive("joy", 1.0);
            mirror.observed(&emotive, 0, 2 * n);
            let metadata = none.clone().with_metadata("n", n);
            mirror.observed(&metadata, 0, 2 * n + 1);
        }
        mirror.saved();
        assert_eq!(mirror.replay(true).len(), 2000);
    }

    #[test]
    fn vectors_and_unsorted_strings_are_not_exact_until_the_server_says() {
        let mut mirror = Mirror::default();
        mirror.observed(&Observation::strings(["b", "a"]), 1, 1);
        assert_eq!(mirror.exact_stm(), None);
        assert!(mirror.agrees(&[vec!["a".to_owned(), "b".to_owned()]]));
        mirror.set_stm(vec![vec!["a".to_owned(), "b".to_owned()]]);
        assert_eq!(stm(&mirror), [["a", "b"]]);
    }
}
