//! Pattern records: the lines in which patterns are exchanged.

use std::error::Error as _;

use kato_model::{EmotiveMap, Event, Metadata, Pattern, PatternRecord, RecordError};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const NAME: &str = "395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4";

fn line(name: &str, length: u32, emotives: &str) -> String {
    format!(
        r#"{{"name":"{name}","pattern_data":[["a","b"]],"length":{length},"frequency":1,"emotives":{emotives},"metadata":{{}}}}"#
    )
}

#[test]
fn both_generations_forms_of_no_emotives_are_read() {
    let written = line(NAME, 2, "[]");
    for stored in [
        line(NAME, 2, "[]"),
        line(NAME, 2, "{}"),
        line(&format!("PTRN|{NAME}"), 2, "{}"),
        format!(
            r#"{{"_id":7,"frequency":1,"length":2,"pattern_data":[["a","b"]],"name":"{NAME}"}}"#
        ),
    ] {
        let record = PatternRecord::from_json(&stored).unwrap();
        assert_eq!(record.to_json().unwrap(), written);
        assert_eq!(
            serde_json::from_str::<PatternRecord>(&stored).unwrap(),
            record
        );
    }
}

#[test]
fn metadata_is_read_in_any_order_and_written_sorted() {
    let stored =
        line(NAME, 2, "[]").replace(r#""metadata":{}"#, r#""metadata":{"k":["b","a","b"]}"#);
    let record = PatternRecord::from_json(&stored).unwrap();
    assert!(
        record
            .to_json()
            .unwrap()
            .ends_with(r#""metadata":{"k":["a","b"]}}"#)
    );
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    let other = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
    let error = PatternRecord::from_json(&line(other, 2, "[]")).unwrap_err();
    assert!(matches!(error, RecordError::NameMismatch { .. }));
    assert!(
        error.to_string().contains(other) && error.to_string().contains(NAME),
        "{error}"
    );
    let through_serde = serde_json::from_str::<PatternRecord>(&line(other, 2, "[]")).unwrap_err();
    assert!(through_serde.to_string().contains(NAME));

    let error = PatternRecord::from_json(&line(NAME, 1, "[]")).unwrap_err();
    assert!(matches!(
        error,
        RecordError::LengthMismatch {
            stated: 1,
            counted: 2,
            ..
        }
    ));
}

#[test]
fn malformed_records_say_what_is_wrong() {
    for (stored, expected) in [
        (line(NAME, 2, r#"{"joy":1.0}"#), "expected a list of maps"),
        (line(NAME, 2, "7"), "a list of maps, or an empty map"),
        (line("x", 2, "[]"), "40 lower-case"),
        (
            line(NAME, 2, "[]").replace("frequency", "often"),
            "missing field `frequency`",
        ),
        (line(NAME, 2, "[]") + "x", "trailing characters"),
        (String::new(), "EOF"),
    ] {
        let error = PatternRecord::from_json(&stored).unwrap_err();
        assert!(matches!(error, RecordError::Malformed { .. }));
        let source = error.source().unwrap().to_string();
        assert!(source.contains(expected), "{source}");
    }
}

#[test]
fn emotives_without_a_json_form_are_not_written() {
    let mut record = PatternRecord::from_json(&line(NAME, 2, "[]")).unwrap();
    record
        .emotives
        .push(EmotiveMap::from([("joy".to_owned(), f64::NAN)]));
    let error = record.to_json().unwrap_err();
    assert!(matches!(error, RecordError::Unwritable { .. }));
    assert!(error.source().unwrap().to_string().contains("joy"));
}

fn record() -> impl Strategy<Value = PatternRecord> {
    let finite =
        any::<f64>().prop_filter("JSON has finite numbers only", |value| value.is_finite());
    let emotives = vec(btree_map(any::<String>(), finite, 0..3), 0..3);
    let metadata = vec((any::<String>(), any::<String>()), 0..4);
    (
        vec(vec(any::<String>(), 0..4), 0..4),
        any::<u64>(),
        emotives,
        metadata,
    )
        .prop_map(|(events, frequency, emotives, values)| {
            let pattern = Pattern::new(events.into_iter().map(Event::in_given_order).collect());
            let mut metadata = Metadata::default();
            for (key, value) in values {
                metadata.insert_text(&key, value, None);
            }
            PatternRecord {
                pattern,
                frequency,
                emotives,
                metadata,
            }
        })
}

proptest! {
    #[test]
    fn records_survive_the_round_trip(record in record()) {
        let written = record.to_json().unwrap();
        prop_assert!(!written.contains('\n'));
        let read = PatternRecord::from_json(&written).unwrap();
        prop_assert_eq!(read.to_json().unwrap(), written);
        prop_assert_eq!(read, record);
    }
}
