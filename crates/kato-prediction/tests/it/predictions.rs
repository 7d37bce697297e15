//! Complete predictions of KATO 3.10.1, recorded: oracle and index reproduce them, the index as
//! JSON of the same shape.

use std::collections::BTreeMap;

use kato_model::emotives::mean_emotives;
use kato_model::{EmotiveMap, Event, KatoGeneration, PatternName};
use kato_prediction::{PatternIndex, Prediction, PredictionConfig};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::golden::{self, is_close};
use crate::oracle::{Answer, Answers, Events, Future, Oracle};

#[derive(Deserialize)]
struct Row {
    id: String,
    config: Map<String, Value>,
    learn: Vec<Lesson>,
    #[serde(default)]
    finalize_training: bool,
    observed: Events,
    kb: Vec<Known>,
    predictions: Vec<Map<String, Value>>,
    future_potentials: Vec<RecordedFuture>,
}

#[derive(Deserialize)]
struct Lesson {
    events: Events,
    times: usize,
    name: String,
    #[serde(default)]
    emotives: Vec<Option<EmotiveMap>>,
}

#[derive(Deserialize)]
struct Known {
    name: String,
    frequency: u64,
}

#[derive(Deserialize)]
struct RecordedFuture {
    future: Events,
    aggregate_potential: f64,
    supporting_patterns: usize,
    total_weighted_frequency: f64,
}

#[test]
fn the_oracle_reproduces_recorded_predictions() {
    for row in rows() {
        let oracle = oracle(&row);
        let answers = oracle.predict(&events(&row.observed), &config(&row.config));
        check_row(&row, &answers);
    }
}

#[test]
fn the_index_reproduces_recorded_predictions() {
    for row in rows() {
        let index = index(&row);
        let predictions = index.predict(&events(&row.observed), &config(&row.config));
        let of = |prediction: &Prediction| {
            let json = serde_json::to_value(prediction).unwrap();
            recorded(&row, json.as_object().unwrap())
        };
        let answers = Answers {
            predictions: predictions.predictions.iter().map(of).collect(),
            futures: predictions
                .future_potentials
                .iter()
                .map(Future::of)
                .collect(),
        };
        check_row(&row, &answers);
    }
}

fn rows() -> Vec<Row> {
    golden::rows(include_str!("../data/predictions.jsonl"))
}

fn oracle(row: &Row) -> Oracle {
    let mut oracle = Oracle::default();
    for lesson in &row.learn {
        for _ in 0..lesson.times {
            let name = oracle.learn(&events(&lesson.events), &lesson.maps());
            assert_eq!(name.prefixed().to_string(), lesson.name, "{}", row.id);
        }
    }
    if row.finalize_training {
        oracle.finalize();
    }
    oracle
}

fn index(row: &Row) -> PatternIndex {
    let mut index = PatternIndex::new();
    let oracle = oracle(row);
    for lesson in &row.learn {
        for _ in 0..lesson.times {
            let name = index.learn(&events(&lesson.events)).unwrap();
            index.add_affinity(&name, &mean_emotives(&lesson.maps()));
            index.set_emotives(&name, oracle.emotives(&name));
        }
    }
    if row.finalize_training {
        index.finalize();
    }
    index
}

impl Lesson {
    fn maps(&self) -> Vec<EmotiveMap> {
        self.emotives.iter().flatten().cloned().collect()
    }
}

fn events(events: &Events) -> Vec<Event> {
    events.iter().map(Event::new).collect()
}

/// The settings of a row, which names only those that are not the default.
fn config(settings: &Map<String, Value>) -> PredictionConfig {
    let mut config = PredictionConfig {
        generation: KatoGeneration::V3_10,
        ..PredictionConfig::default()
    };
    for (key, value) in settings {
        let value = value.clone();
        match key.as_str() {
            "recall_threshold" => config.recall_threshold = value.as_f64().unwrap(),
            "max_predictions" => config.max_predictions = as_count(&value),
            "use_token_matching" => config.use_token_matching = value.as_bool().unwrap(),
            "fuzzy_token_threshold" => config.fuzzy_token_threshold = value.as_f64(),
            "affinity_emotive" => config.affinity_emotive = value.as_str().map(str::to_owned),
            "filter_pipeline" => config.filter_pipeline = serde_json::from_value(value).unwrap(),
            "jaccard_threshold" => config.filters.jaccard_threshold = value.as_f64().unwrap(),
            "jaccard_min_overlap" => config.filters.jaccard_min_overlap = as_count(&value),
            _ => panic!("unknown setting {key}"),
        }
    }
    config
}

fn as_count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn check_row(row: &Row, answers: &Answers) {
    let id = &row.id;
    let expected: Vec<Answer> = row.predictions.iter().map(|p| recorded(row, p)).collect();
    let actual = &answers.predictions;
    assert_eq!(
        actual.len(),
        expected.len(),
        "number of predictions of {id}"
    );
    let potential = |answer: &Answer| answer.number("potential").unwrap();
    let least = expected.last().map(potential);
    for (actual, expected) in actual.iter().zip(&expected) {
        let values = (potential(actual), potential(expected));
        assert!(
            is_close(values.0, values.1),
            "potentials {values:?} of {id}"
        );
    }
    // Which of several equal ones are cut off is chance in the original.
    let is_last = |answer: &Answer| least.is_some_and(|least| is_close(potential(answer), least));
    for expected in &expected {
        match actual.iter().find(|actual| actual.name == expected.name) {
            Some(actual) => assert_same(id, actual, expected),
            None => assert!(is_last(expected), "{} is missing in {id}", expected.name),
        }
    }
    for actual in actual {
        let is_expected = expected.iter().any(|expected| expected.name == actual.name);
        assert!(is_expected || is_last(actual), "{} of {id}", actual.name);
    }
    check_futures(row, &answers.futures);
}

fn check_futures(row: &Row, futures: &[Future]) {
    let id = &row.id;
    assert_eq!(
        futures.len(),
        row.future_potentials.len(),
        "number of futures of {id}"
    );
    for (actual, expected) in futures.iter().zip(&row.future_potentials) {
        assert!(
            is_close(actual.aggregate_potential, expected.aggregate_potential),
            "{id}"
        );
    }
    for expected in &row.future_potentials {
        let actual = futures
            .iter()
            .find(|actual| actual.events == expected.future);
        let actual = actual.unwrap_or_else(|| panic!("{:?} of {id}", expected.future));
        assert_eq!(
            actual.supporting_patterns, expected.supporting_patterns,
            "{id}"
        );
        for (actual, expected) in [
            (actual.aggregate_potential, expected.aggregate_potential),
            (
                actual.total_weighted_frequency,
                expected.total_weighted_frequency,
            ),
        ] {
            assert!(is_close(actual, expected), "future of {id}");
        }
    }
}

/// A recorded prediction, of either shape.
fn recorded(row: &Row, fields: &Map<String, Value>) -> Answer {
    let name = fields["name"].as_str().unwrap();
    let of = |known: &&Known| known.name.ends_with(name);
    let known = row.kb.iter().find(of).unwrap();
    let frequency = fields["frequency"].as_u64().unwrap();
    assert_eq!(frequency, known.frequency, "{}", row.id);
    let is_flat = fields.contains_key("pattern_data");
    let list = |key: &str| -> Vec<String> { parse(&fields[key]) };
    let events = |key: &str| -> Events {
        match is_flat {
            true => list(key).into_iter().map(|symbol| vec![symbol]).collect(),
            false => parse(&fields[key]),
        }
    };
    let anomalies: Vec<BTreeMap<String, Value>> = parse(&fields["anomalies"]);
    let anomaly = |anomaly: BTreeMap<String, Value>| {
        let [observed, expected] = ["observed", "expected"].map(|key| parse(&anomaly[key]));
        (observed, expected, anomaly["similarity"].as_f64().unwrap())
    };
    let sequence = if is_flat { "pattern_data" } else { "sequence" };
    let is_number = |value: &Value| value.is_number() || value.is_null();
    let no_metrics = ["frequency", "length"];
    Answer {
        name: name.parse::<PatternName>().unwrap(),
        frequency,
        emotives: parse(&fields["emotives"]),
        matches: list("matches"),
        past: events("past"),
        present: events("present"),
        future: events("future"),
        missing: events("missing"),
        extras: events("extras"),
        anomalies: anomalies.into_iter().map(anomaly).collect(),
        sequence: parse(&fields[sequence]),
        numbers: fields
            .iter()
            .filter(|(key, value)| is_number(value) && !no_metrics.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.as_f64()))
            .collect(),
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// Equal in every field, numbers to 1e-9.
fn assert_same(id: &str, actual: &Answer, expected: &Answer) {
    let lists = |answer: &Answer| {
        let Answer {
            matches,
            past,
            present,
            future,
            missing,
            extras,
            sequence,
            ..
        } = answer.clone();
        (
            matches,
            [past, present, future, missing, extras, sequence],
            answer.frequency,
        )
    };
    assert_eq!(lists(actual), lists(expected), "{id}");
    let keys = |answer: &Answer| answer.numbers.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(actual), keys(expected), "{id}");
    for (key, expected) in &expected.numbers {
        let actual = actual.numbers[key];
        let is_equal = match (actual, *expected) {
            (Some(actual), Some(expected)) => is_close(actual, expected),
            (actual, expected) => actual == expected,
        };
        assert!(
            is_equal,
            "{key} of {id}: {actual:?} instead of {expected:?}"
        );
    }
    let emotives = |answer: &Answer| answer.emotives.clone().into_iter().unzip();
    let (a, b): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) = (emotives(actual), emotives(expected));
    assert_eq!(a.0, b.0, "{id}");
    assert!(
        a.1.iter().zip(&b.1).all(|(a, b)| is_close(*a, *b)),
        "emotives of {id}"
    );
    assert_eq!(actual.anomalies.len(), expected.anomalies.len(), "{id}");
    for (a, b) in actual.anomalies.iter().zip(&expected.anomalies) {
        assert!(
            (&a.0, &a.1) == (&b.0, &b.1) && is_close(a.2, b.2),
            "{a:?} {b:?} of {id}"
        );
    }
}
