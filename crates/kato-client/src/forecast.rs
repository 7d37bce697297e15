//! The effect of an operation on a session, computed on this side: needed only to recognise, in
//! doubt, whether the operation acted.

use kato_model::PatternName;
use kato_protocol::Observation;

use crate::mirror::{Mirror, exact_event, has_attributes, makes_event};

/// The settings of a session that decide about learning; `None` where they are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AutoLearn {
    pub(crate) max_pattern_length: Option<u64>,
    pub(crate) rolling: bool,
}

/// Observations, and when to learn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps<'a> {
    pub(crate) observations: Vec<&'a Observation>,
    pub(crate) learn_after_each: bool,
    pub(crate) learn_at_end: bool,
    pub(crate) clear_between: bool,
}

impl Steps<'_> {
    /// Returns the number of observations that make an event.
    pub(crate) fn n_events(&self) -> usize {
        self.observations
            .iter()
            .filter(|observation| makes_event(observation))
            .count()
    }

    /// Returns whether any observation has emotives or metadata.
    pub(crate) fn have_attributes(&self) -> bool {
        self.observations
            .iter()
            .any(|observation| has_attributes(observation))
    }

    /// Returns whether every event holds one symbol, which alone teaches nothing.
    pub(crate) fn are_single_symbols(&self) -> bool {
        let is_single = |observation: &&Observation| {
            observation.strings.len() <= 1 && observation.vectors.is_empty()
        };
        self.observations.iter().all(is_single)
    }

    /// Returns whether anything could be learned, with `n_events` in the short-term memory before;
    /// yes if it is not known.
    pub(crate) fn may_learn(&self, n_events: usize, auto: AutoLearn) -> bool {
        let limit = match auto.max_pattern_length {
            Some(0) => false,
            Some(limit) => (n_events + self.n_events()) as u64 >= limit,
            // A limit that is not known may be reached by any event, but not without one: KATO
            // checks it after observations that make an event.
            None => self.n_events() > 0,
        };
        self.learn_after_each || self.learn_at_end || limit
    }
}

/// The effect of the steps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Forecast {
    /// For every observation the number of events left and the name that was learned
    /// automatically.
    pub(crate) steps: Vec<(usize, Option<String>)>,
    /// Names of all learns in KATO's order: prefixed, empty if there were too few symbols.
    pub(crate) learned: Vec<String>,
    /// Name of the learn in the end.
    pub(crate) last: Option<String>,
    /// The pattern that is learned before all others.
    first: Option<String>,
    /// The short-term memory in the end; only its length counts unless `exact`.
    pub(crate) stm: Vec<Vec<String>>,
    exact: bool,
}

impl Forecast {
    /// Computes the effect of `steps` on `mirror`. `None` if a name or a setting cannot be known on
    /// this side.
    pub(crate) fn compute(mirror: &Mirror, auto: AutoLearn, steps: &Steps<'_>) -> Option<Self> {
        // The setting has to be known only where it could matter.
        let limit = if steps.may_learn(mirror.n_events(), auto) && steps.n_events() > 0 {
            usize::try_from(auto.max_pattern_length?).unwrap_or(usize::MAX)
        } else {
            0
        };
        let stm = mirror.exact_stm();
        let mut forecast = Self {
            exact: stm.is_some(),
            stm: stm.unwrap_or_else(|| vec![Vec::new(); mirror.n_events()]),
            ..Self::default()
        };
        for (idx, observation) in steps.observations.iter().enumerate() {
            if steps.clear_between && idx > 0 {
                forecast.stm.clear();
                // Whatever was unknown is gone: an empty memory is known exactly.
                forecast.exact = true;
            }
            let mut name = None;
            if makes_event(observation) {
                forecast.observe(observation);
                if limit > 0 && forecast.stm.len() >= limit {
                    // KATO's rule: after a learn ROLLING keeps the last events, one fewer than the
                    // limit, and CLEAR keeps none.
                    let kept = if auto.rolling { limit - 1 } else { 0 };
                    name = Some(forecast.learn(kept)?);
                }
            }
            if steps.learn_after_each && !forecast.stm.is_empty() {
                let name = forecast.learn(0)?;
                forecast.learned.push(name);
            }
            // After the learn that follows each observation: KATO lists the automatic one last,
            // although it happens first.
            forecast.learned.extend(name.clone());
            let name = name.filter(|name| !name.is_empty());
            forecast.steps.push((forecast.stm.len(), name));
        }
        if steps.learn_at_end && !forecast.stm.is_empty() {
            let name = forecast.learn(0)?;
            forecast.learned.push(name.clone());
            forecast.last = Some(name);
        }
        Some(forecast)
    }

    /// Returns the pattern that is learned first; `None` if nothing is.
    pub(crate) fn first_pattern(&self) -> Option<&str> {
        // Not the first of `learned`: KATO lists an automatic learn behind a later one.
        self.first.as_deref()
    }

    /// Returns the short-term memory in the end, if its symbols are known.
    pub(crate) fn exact_stm(&self) -> Option<&[Vec<String>]> {
        self.exact.then_some(self.stm.as_slice())
    }

    /// Adds an event.
    fn observe(&mut self, observation: &Observation) {
        let event = exact_event(observation);
        self.exact &= event.is_some();
        self.stm.push(event.unwrap_or_default());
    }

    /// Learns the short-term memory, of which the last events are kept; `None` if its symbols are
    /// not known.
    fn learn(&mut self, kept: usize) -> Option<String> {
        if !self.exact {
            return None;
        }
        let name = pattern_name(&self.stm);
        if self.first.is_none() && !name.is_empty() {
            self.first = Some(name.clone());
        }
        self.stm.drain(..self.stm.len().saturating_sub(kept));
        Some(name)
    }
}

/// Returns the name as KATO answers it: prefixed, empty for fewer than two symbols.
pub(crate) fn pattern_name(events: &[Vec<String>]) -> String {
    if events.iter().map(Vec::len).sum::<usize>() < 2 {
        return String::new();
    }
    PatternName::of_events(events).prefixed().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(symbols: &[&str]) -> Vec<Observation> {
        symbols
            .iter()
            .map(|symbol| Observation::strings([*symbol]))
            .collect()
    }

    fn names(of: &[&[&str]]) -> Vec<String> {
        of.iter()
            .map(|symbols| {
                let events: Vec<_> = symbols
                    .iter()
                    .map(|symbol| vec![(*symbol).to_owned()])
                    .collect();
                pattern_name(&events)
            })
            .collect()
    }

    #[test]
    fn rolling_learns_every_window() {
        let auto = AutoLearn {
            max_pattern_length: Some(3),
            rolling: true,
        };
        let observations = observations(&["a", "b", "c", "d", "e"]);
        let steps = Steps {
            observations: observations.iter().collect(),
            ..Steps::default()
        };
        let forecast = Forecast::compute(&Mirror::default(), auto, &steps).expect("known");
        let expected = names(&[&["a", "b", "c"], &["b", "c", "d"], &["c", "d", "e"]]);
        assert_eq!(forecast.learned, expected);
        assert_eq!(forecast.stm, [["d"], ["e"]]);
        assert_eq!(forecast.steps[1], (2, None));
        assert_eq!(forecast.steps[2], (2, Some(expected[0].clone())));
    }

    #[test]
    fn the_automatic_learn_is_first_though_it_is_listed_behind() {
        let auto = AutoLearn {
            max_pattern_length: Some(2),
            rolling: true,
        };
        let [first, second] = [
            Observation::strings(["a"]),
            Observation::strings(["b", "c"]),
        ];
        let mut mirror = Mirror::default();
        mirror.observed(&first, 1, 1);
        let steps = Steps {
            observations: vec![&second],
            learn_after_each: true,
            ..Steps::default()
        };
        let forecast = Forecast::compute(&mirror, auto, &steps).expect("known");
        let whole = pattern_name(&[vec!["a".into()], vec!["b".into(), "c".into()]]);
        let rest = pattern_name(&[vec!["b".into(), "c".into()]]);
        assert_eq!(forecast.learned, [rest, whole.clone()]);
        assert_eq!(forecast.first_pattern(), Some(whole.as_str()));
    }

    #[test]
    fn clearing_mode_learns_chunks_and_the_end_takes_the_rest() {
        let auto = AutoLearn {
            max_pattern_length: Some(2),
            rolling: false,
        };
        let observations = observations(&["a", "b", "c", "d", "e"]);
        let steps = Steps {
            observations: observations.iter().collect(),
            learn_at_end: true,
            ..Steps::default()
        };
        let forecast = Forecast::compute(&Mirror::default(), auto, &steps).expect("known");
        assert_eq!(forecast.learned[..2], names(&[&["a", "b"], &["c", "d"]]));
        assert_eq!(
            forecast.last.as_deref(),
            Some(""),
            "one symbol is no pattern"
        );
        assert!(forecast.stm.is_empty());
    }

    #[test]
    fn nothing_is_said_where_the_server_decides() {
        let observations = observations(&["a"]);
        let steps = Steps {
            observations: observations.iter().collect(),
            ..Steps::default()
        };
        let unknown = AutoLearn::default();
        assert_eq!(Forecast::compute(&Mirror::default(), unknown, &steps), None);
    }
}
