//! Finding out with few questions what arrived of requests without an answer. No network and no
//! clock.
//!
//! A request is a list of patterns that the server learns in order, so what arrived of it is a
//! beginning of the list. A pattern that stands only once in all requests tells where that
//! beginning is: it has arrived or it has not. So each request is halved at such markers, all
//! requests in the same round, and only what lies between the last marker that arrived and the
//! first that did not is asked about one by one. There the number of learn calls tells how many of
//! equal patterns arrived; which of them is the same to the server.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kato_model::PatternName;
use serde_json::{Map, Value};

/// A learn call in doubt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Doubtful {
    pub(crate) name: PatternName,
    /// The metadata that it carries.
    pub(crate) metadata: Map<String, Value>,
}

/// The server's answer about a pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatternAnswer {
    /// Learn calls beyond those that are known to have been carried out.
    pub(crate) excess: u64,
    /// All metadata of the pattern.
    pub(crate) metadata: BTreeMap<String, Vec<String>>,
}

/// The error that the server counted a pattern more often than it can have been taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany {
    pub(crate) name: PatternName,
    pub(crate) excess: u64,
    pub(crate) doubtful: u64,
}

/// Requests on one node, and what is known of them.
#[derive(Debug)]
pub(crate) struct ArrivalSearch {
    windows: Vec<Window>,
    /// The number of times that a pattern stands in all requests together.
    times: HashMap<PatternName, u64>,
    found: HashMap<PatternName, PatternAnswer>,
}

/// One request, and how much of it is known to have arrived.
#[derive(Debug)]
struct Window {
    calls: Vec<Doubtful>,
    /// The number of calls, from the first on, that are known to have arrived.
    arrived: usize,
    /// The place of the first marker that is known to be missing; the number of calls where there
    /// is none.
    missing: usize,
}

impl ArrivalSearch {
    /// Begins with the requests' learn calls, in the order in which the server learns them.
    pub(crate) fn new(requests: Vec<Vec<Doubtful>>) -> Self {
        let mut times: HashMap<PatternName, u64> = HashMap::new();
        for call in requests.iter().flatten() {
            *times.entry(call.name).or_default() += 1;
        }
        let window = |calls: Vec<Doubtful>| Window {
            arrived: 0,
            missing: calls.len(),
            calls,
        };
        Self {
            windows: requests.into_iter().map(window).collect(),
            times,
            found: HashMap::new(),
        }
    }

    /// Returns the patterns to ask about next; none when everything is known.
    pub(crate) fn questions(&self) -> Vec<PatternName> {
        let markers: BTreeSet<PatternName> = self
            .windows
            .iter()
            .filter_map(|window| self.marker(window))
            .collect();
        if !markers.is_empty() {
            return markers.into_iter().collect();
        }
        // The markers are used up, so what lies between two of them is asked about pattern by
        // pattern.
        let unknown: BTreeSet<PatternName> = self
            .windows
            .iter()
            .flat_map(Window::between)
            .map(|call| call.name)
            .filter(|name| !self.found.contains_key(name))
            .collect();
        unknown.into_iter().collect()
    }

    /// Records an answer; fails if it counts more than was in doubt.
    pub(crate) fn record_answer(
        &mut self,
        name: PatternName,
        found: PatternAnswer,
    ) -> Result<(), TooMany> {
        let doubtful = self.times.get(&name).copied().unwrap_or(0);
        if found.excess > doubtful {
            return Err(TooMany {
                name,
                excess: found.excess,
                doubtful,
            });
        }
        // It stands once in all requests, so it is a marker.
        if doubtful == 1 {
            for window in &mut self.windows {
                let place = window.calls.iter().position(|call| call.name == name);
                match place {
                    Some(place) if found.excess > 0 => {
                        window.arrived = window.arrived.max(place + 1);
                        // What was missing a moment ago may have arrived since.
                        if window.missing < window.arrived {
                            window.missing = window.calls.len();
                        }
                    }
                    Some(place) if place >= window.arrived => {
                        window.missing = window.missing.min(place);
                    }
                    // Not of this request, or older than what is known: a later call of it has been
                    // seen since.
                    _ => {}
                }
            }
        }
        self.found.insert(name, found);
        Ok(())
    }

    /// Returns whether every call has arrived, as far as the answers say. Only without open
    /// [`questions`](Self::questions).
    pub(crate) fn is_complete(&self) -> bool {
        self.outcome().iter().flatten().all(|arrived| *arrived)
    }

    /// Returns the patterns that show first when the server goes on: of each request the first that
    /// are missing.
    pub(crate) fn frontier(&self) -> Vec<PatternName> {
        let mut names = BTreeSet::new();
        for window in &self.windows {
            let between = window.between().filter(|call| {
                let found = self.found.get(&call.name);
                let excess = found.map_or(0, |found| found.excess);
                // A pattern whose calls have all been counted would show nothing new.
                excess < self.times.get(&call.name).copied().unwrap_or(0)
            });
            let next = between
                .chain(window.calls.get(window.missing))
                .map(|call| call.name);
            names.extend(next.take(FRONTIER));
        }
        names.into_iter().collect()
    }

    /// Returns whether an answer is another than the one before.
    pub(crate) fn is_news(&self, name: &PatternName, found: &PatternAnswer) -> bool {
        self.found
            .get(name)
            .is_none_or(|known| known.excess != found.excess)
    }

    /// Forgets the answers about patterns that stand more than once, so that they are asked about
    /// again.
    pub(crate) fn ask_again(&mut self) {
        let times = &self.times;
        self.found.retain(|name, _| times.get(name) == Some(&1));
    }

    /// Returns for each request's calls whether they have arrived. Only without open
    /// [`questions`](Self::questions).
    pub(crate) fn outcome(&self) -> Vec<Vec<bool>> {
        self.assigned().0
    }

    /// Returns a pattern that was counted for a call whose metadata is not there: the server died
    /// between the two.
    pub(crate) fn without_metadata(&self) -> Option<PatternName> {
        let (_, left) = self.assigned();
        let mut names: Vec<PatternName> = left
            .into_iter()
            .filter_map(|(name, n)| (n > 0).then_some(name))
            .collect();
        // By name, so that the error is the same whenever it is found again.
        names.sort_unstable();
        names.first().copied()
    }

    /// Returns the outcome, and the learn calls that belong to nobody.
    fn assigned(&self) -> (Vec<Vec<bool>>, HashMap<PatternName, u64>) {
        let mut left: HashMap<PatternName, u64> = self
            .found
            .iter()
            .map(|(name, found)| (*name, found.excess))
            .collect();
        let mut outcome: Vec<Vec<bool>> = self
            .windows
            .iter()
            .map(|window| vec![false; window.calls.len()])
            .collect();
        // What is known to have arrived takes its share of the counts first; the rest is for the
        // calls between.
        for (window, arrived) in self.windows.iter().zip(&mut outcome) {
            for (call, arrived) in window.calls.iter().zip(arrived).take(window.arrived) {
                *arrived = true;
                let left = left.entry(call.name).or_default();
                *left = left.saturating_sub(1);
            }
        }
        // Calls whose metadata is there come first, then those without any: equal calls are the
        // same to the server but for that.
        for with_metadata in [true, false] {
            for (window, arrived) in self.windows.iter().zip(&mut outcome) {
                for place in window.arrived..window.missing {
                    let call = &window.calls[place];
                    let is_held = self
                        .found
                        .get(&call.name)
                        .is_some_and(|found| found.holds(&call.metadata));
                    let left = left.entry(call.name).or_default();
                    if *left > 0 && is_held && call.metadata.is_empty() != with_metadata {
                        *left -= 1;
                        arrived[place] = true;
                    }
                }
            }
        }
        (outcome, left)
    }

    /// Returns the marker in the middle of what is unknown of a request.
    fn marker(&self, window: &Window) -> Option<PatternName> {
        let is_marker = |place: &usize| self.times.get(&window.calls[*place].name) == Some(&1);
        let unknown: Vec<usize> = (window.arrived..window.missing).filter(is_marker).collect();
        // The first question is about the last marker: mostly all of a request has arrived, and one
        // answer says so.
        let is_fresh = window.arrived == 0 && window.missing == window.calls.len();
        let place = match is_fresh {
            true => unknown.last(),
            false => unknown.get(unknown.len() / 2),
        };
        place.map(|place| window.calls[*place].name)
    }
}

/// Patterns of a request that are watched at most.
const FRONTIER: usize = 8;

impl Window {
    /// Returns the calls between the last that is known to have arrived and the first that is known
    /// to be missing.
    fn between(&self) -> impl Iterator<Item = &Doubtful> {
        self.calls[self.arrived..self.missing].iter()
    }
}

impl PatternAnswer {
    /// Returns whether all of a call's metadata is known.
    fn holds(&self, metadata: &Map<String, Value>) -> bool {
        metadata.iter().all(|(key, value)| {
            let known = self.metadata.get(key);
            // A KATO keeps values as Python's `str` writes them, which leaves text as it is;
            // training sends nothing but text.
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            known.is_some_and(|known| known.contains(&value))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(symbol: u8) -> Doubtful {
        let name = PatternName::of_events(&[[symbol.to_string()], ["x".to_owned()]]);
        Doubtful {
            name,
            metadata: Map::new(),
        }
    }

    /// Asks until nothing is unknown; how many questions it took.
    fn solve(search: &mut ArrivalSearch, server: &HashMap<PatternName, u64>) -> usize {
        let mut n_questions = 0;
        loop {
            let questions = search.questions();
            if questions.is_empty() {
                return n_questions;
            }
            for name in questions {
                n_questions += 1;
                let excess = server.get(&name).copied().unwrap_or(0);
                let found = PatternAnswer {
                    excess,
                    ..PatternAnswer::default()
                };
                search.record_answer(name, found).unwrap();
            }
        }
    }

    fn learned(requests: &[Vec<Doubtful>], arrived: &[usize]) -> HashMap<PatternName, u64> {
        let mut server = HashMap::new();
        for (request, n) in requests.iter().zip(arrived) {
            for call in &request[..*n] {
                *server.entry(call.name).or_default() += 1;
            }
        }
        server
    }

    proptest! {
        /// Whatever arrived, what is sent after it makes every pattern's count right.
        #[test]
        fn what_is_missing_makes_all_counts_right(
            requests in prop::collection::vec(prop::collection::vec(0u8..40, 0..30), 0..5),
            shares in prop::collection::vec(0.0..=1.0, 5),
        ) {
            let requests: Vec<Vec<Doubtful>> =
                requests.into_iter().map(|request| request.into_iter().map(call).collect()).collect();
            let arrived: Vec<usize> =
                requests.iter().zip(&shares).map(|(request, share)| (request.len() as f64 * share) as usize).collect();
            let mut server = learned(&requests, &arrived);
            let mut search = ArrivalSearch::new(requests.clone());
            solve(&mut search, &server);
            for (request, arrived) in requests.iter().zip(search.outcome()) {
                for (call, _) in request.iter().zip(arrived).filter(|(_, arrived)| !arrived) {
                    *server.entry(call.name).or_default() += 1;
                }
            }
            let all: Vec<usize> = requests.iter().map(Vec::len).collect();
            prop_assert_eq!(server, learned(&requests, &all));
        }

        /// A request of distinct patterns costs the logarithm of its length.
        #[test]
        fn questions_are_few(
            (n, arrived) in (1..200usize).prop_flat_map(|n| (Just(n), prop_oneof![3 => 0..n, 1 => Just(n)])),
        ) {
            let request: Vec<Doubtful> = (0..n).map(|n| call(n as u8)).collect();
            let requests = [request];
            let server = learned(&requests, &[arrived]);
            let mut search = ArrivalSearch::new(requests.to_vec());
            let n_questions = solve(&mut search, &server);
            prop_assert!(n_questions <= 2 + n.ilog2() as usize, "{n_questions} of {n}");
            prop_assert!(arrived < n || n_questions == 1);
            prop_assert_eq!(search.outcome()[0].iter().filter(|arrived| **arrived).count(), arrived);
            prop_assert_eq!(search.is_complete(), arrived == n);
            let missing = requests[0].get(arrived).map(|call| call.name);
            prop_assert_eq!(search.frontier(), Vec::from_iter(missing));
        }
    }

    #[test]
    fn what_arrives_while_it_is_asked_about_is_taken_in() {
        let requests = vec![(0..20).map(call).collect::<Vec<_>>()];
        let mut search = ArrivalSearch::new(requests.clone());
        solve(&mut search, &learned(&requests, &[3]));
        let later = learned(&requests, &[12]);
        for name in search.frontier() {
            let found = PatternAnswer {
                excess: later[&name],
                ..PatternAnswer::default()
            };
            assert!(search.is_news(&name, &found));
            search.record_answer(name, found).unwrap();
        }
        solve(&mut search, &later);
        let n = search.outcome()[0]
            .iter()
            .filter(|arrived| **arrived)
            .count();
        assert_eq!(n, 12);
    }

    #[test]
    fn more_learn_calls_than_were_ever_sent_are_an_error() {
        let mut search = ArrivalSearch::new(vec![vec![call(1), call(2)]]);
        let found = PatternAnswer {
            excess: 2,
            ..PatternAnswer::default()
        };
        let error = search.record_answer(call(1).name, found).unwrap_err();
        assert_eq!((error.excess, error.doubtful), (2, 1));
    }

    #[test]
    fn of_equal_calls_that_with_metadata_arrived_whose_metadata_is_there() {
        let title = Map::from_iter([("title".to_owned(), Value::from("d7"))]);
        let with = Doubtful {
            metadata: title,
            ..call(1)
        };
        for (metadata, expected) in [
            (BTreeMap::new(), [true, false]),
            (
                BTreeMap::from([("title".to_owned(), vec!["d7".to_owned()])]),
                [false, true],
            ),
        ] {
            let mut search = ArrivalSearch::new(vec![vec![call(1)], vec![with.clone()]]);
            let found = PatternAnswer {
                excess: 1,
                metadata,
            };
            search.record_answer(call(1).name, found).unwrap();
            assert_eq!(search.outcome().concat(), expected);
        }
    }
}
