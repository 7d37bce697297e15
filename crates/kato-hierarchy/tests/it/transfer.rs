//! Transfer functions: the values that the original gives, as tables.

use kato_engine::{Engine, Observation, Sequence, SessionConfig};
use kato_hierarchy::transfer::{Transfer, TransferField, Transferable, transfer_predictions};
use kato_prediction::config::RankMetric::{self, Confidence, Potential, Snr};

struct Named {
    name: &'static str,
    potential: f64,
    confidence: f64,
}

impl Transferable for Named {
    fn symbols(&self, _: TransferField) -> Vec<String> {
        vec![self.name.to_owned()]
    }

    fn metric(&self, metric: RankMetric) -> Option<f64> {
        match metric {
            Potential => Some(self.potential),
            Confidence => Some(self.confidence),
            _ => None,
        }
    }
}

const PREDICTIONS: [Named; 2] = [
    Named {
        name: "a",
        potential: 0.2,
        confidence: 0.9,
    },
    Named {
        name: "b",
        potential: 0.8,
        confidence: 0.1,
    },
];
const NAME: TransferField = TransferField::Name;

const fn at_least(metric: RankMetric, threshold: f64) -> Transfer {
    Transfer::Threshold { metric, threshold }
}

const fn best(n: usize, metric: RankMetric) -> Transfer {
    Transfer::TopN { n, metric }
}

const fn weighted(metric: RankMetric, min_weight: f64, max_repeats: usize) -> Transfer {
    Transfer::Weighted {
        metric,
        min_weight,
        max_repeats,
    }
}

#[test]
fn golden_values() {
    let table = [
        (Transfer::All, "ab"),
        (at_least(Potential, 0.9), "a"),
        (at_least(Potential, 0.5), "b"),
        (best(1, Potential), "b"),
        (best(3, Potential), "ba"),
        // No prediction has it, so all are 0, and the order stays.
        (best(3, Snr), "ab"),
        (weighted(Confidence, 0.3, 5), "aaaa"),
        (weighted(Potential, 0.1, 5), "abbbb"),
        (weighted(Confidence, 2.0, 5), "a"),
        (weighted(Confidence, 0.3, 0), "a"),
    ];
    for (transfer, expected) in table {
        let symbols = transfer.apply(&PREDICTIONS, NAME);
        assert_eq!(symbols.concat(), expected, "{transfer:?}");
    }
}

#[test]
fn of_no_predictions_nothing_is_transferred() {
    let none: [Named; 0] = [];
    for transfer in [
        Transfer::All,
        at_least(Potential, 0.3),
        best(3, Potential),
        weighted(Confidence, 0.3, 5),
    ] {
        assert!(transfer.apply(&none, NAME).is_empty(), "{transfer:?}");
    }
}

#[test]
fn only_the_fields_that_there_are_have_names() {
    for name in [
        "name", "past", "present", "future", "missing", "matches", "extras",
    ] {
        assert!(name.parse::<TransferField>().is_ok());
    }
    let error = "sequence".parse::<TransferField>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"sequence\" is no `transfer field`: it must be name, past, present, future, missing, matches or extras"
    );
}

#[test]
fn every_field_of_a_prediction_is_observed_symbol_by_symbol() {
    let engine = Engine::in_memory(&["node0", "node1"]);
    let mut source = engine
        .node("node0")
        .unwrap()
        .session(SessionConfig::default());
    let observe =
        |words: &[&str]| Sequence::new(words.iter().map(|word| Observation::strings([*word])));
    source
        .observe_sequence(observe(&["x", "a", "b", "c", "y", "z"]).learn_at_end())
        .unwrap();
    source.observe_sequence(observe(&["a", "q", "c"])).unwrap();
    let name = source.predict().unwrap().predictions[0]
        .name
        .prefixed()
        .to_string();
    for (field, expected) in [
        (TransferField::Name, vec![name.as_str()]),
        (TransferField::Past, vec!["x"]),
        (TransferField::Present, vec!["a", "b", "c"]),
        (TransferField::Future, vec!["y", "z"]),
        (TransferField::Missing, vec!["b"]),
        (TransferField::Matches, vec!["a", "c"]),
        (TransferField::Extras, vec!["q"]),
    ] {
        let mut target = engine
            .node("node1")
            .unwrap()
            .session(SessionConfig::default());
        let outcome = transfer_predictions(&source, &mut target, field, &Transfer::All, 5).unwrap();
        assert_eq!(
            (outcome.n_predictions, outcome.n_items),
            (1, expected.len())
        );
        let stm: Vec<_> = target
            .stm()
            .iter()
            .flat_map(|event| event.symbols())
            .collect();
        assert_eq!(stm, expected, "{field:?}");
    }
    assert_eq!(source.stm().len(), 3);
}
