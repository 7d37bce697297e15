//! Pattern names and the text they are the hash of.

use kato_model::naming::{
    LiteralTable, NameScratch, UnknownSymbolId, name_of_ids, name_of_names, processor_id,
    processor_id_in, write_events_literal,
};
use kato_model::{Event, KatoGeneration, Pattern, PatternName};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::literal_reader::read_events;
use crate::rows;

#[derive(serde::Deserialize)]
struct NameRow {
    events: Vec<Vec<String>>,
    hashed_text: String,
    length: usize,
    sha1: String,
    name: String,
}

#[test]
fn names_are_those_of_the_original() {
    let rows: Vec<NameRow> = rows(include_str!("../data/pattern_names.jsonl"));
    assert_eq!(rows.len(), 240);
    for row in rows {
        let mut text = String::new();
        write_events_literal(&row.events, &mut text);
        assert_eq!(text, row.hashed_text);
        assert_eq!(read_events(&text), row.events);

        let events = row.events.into_iter().map(Event::in_given_order).collect();
        let pattern = Pattern::new(events);
        assert_eq!(pattern.name().to_string(), row.sha1, "{text}");
        assert_eq!(pattern.name().prefixed().to_string(), row.name);
        assert_eq!(pattern.length(), row.length);
    }
}

#[derive(serde::Deserialize)]
struct ProcessorRow {
    service_name: String,
    node_id: String,
    processor_id: String,
}

#[test]
fn processor_ids_are_those_of_the_original() {
    let rows: Vec<ProcessorRow> = rows(include_str!("../data/processor_ids.jsonl"));
    assert_eq!(rows.len(), 38);
    for row in rows {
        assert_eq!(
            processor_id(&row.node_id, &row.service_name),
            row.processor_id
        );
    }
}

#[test]
fn from_5_on_processor_ids_keep_words_alone() {
    // As KATO 6.3.2 answers them.
    let long = |symbol: &str, n| symbol.repeat(n);
    for (node_id, expected) in [
        ("plain_1".to_owned(), "plain_1_kato".to_owned()),
        ("a@b".to_owned(), "a_b_kato".to_owned()),
        ("a(b)".to_owned(), "a_b__kato".to_owned()),
        ("ä".to_owned(), "__kato".to_owned()),
        ("日本".to_owned(), "___kato".to_owned()),
        ("a\tb".to_owned(), "a_b_kato".to_owned()),
        (String::new(), "_kato".to_owned()),
        (long("x", 55), format!("{}_kato", long("x", 55))),
        (long("é", 60), format!("{}_d16fdf44_kato", long("_", 46))),
    ] {
        assert_eq!(
            processor_id_in(KatoGeneration::V6, &node_id, "kato"),
            expected
        );
    }
    let service = processor_id_in(KatoGeneration::V6, "n", "my.kato");
    assert_eq!(service, "n_my_kato");
}

#[test]
fn a_very_long_service_name_leaves_only_the_hash_of_the_node() {
    let service = "s".repeat(60);
    assert_eq!(processor_id("n1", &service), format!("_c82561ec_{service}"));
}

#[test]
fn names_are_read_with_and_without_prefix_and_nothing_else() {
    let digits = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
    let name: PatternName = digits.parse().unwrap();
    for (text, is_name, is_symbol) in [
        (digits.to_owned(), true, false),
        (format!("PTRN|{digits}"), true, true),
        (format!("PTRN|PTRN|{digits}"), false, false),
        (format!("VCTR|{digits}"), false, false),
        (digits.to_uppercase(), false, false),
        (format!("PTRN|{}", digits.to_uppercase()), false, false),
        (format!("{digits}0"), false, false),
        (digits[1..].to_owned(), false, false),
        (format!(" {digits}"), false, false),
        (digits.replace('a', "é"), false, false),
        (String::new(), false, false),
        ("PTRN|".to_owned(), false, false),
    ] {
        assert_eq!(text.parse().ok(), is_name.then_some(name), "{text}");
        assert_eq!(
            PatternName::from_symbol(&text),
            is_symbol.then_some(name),
            "{text}"
        );
        let json = serde_json::to_string(&text).unwrap();
        assert_eq!(
            serde_json::from_str(&json).ok(),
            is_name.then_some(name),
            "{text}"
        );
    }
    assert_eq!(serde_json::to_string(&name).unwrap(), format!("{digits:?}"));
    assert_eq!(PatternName::from_bytes(*name.as_bytes()), name);
    assert_eq!(
        "x".parse::<PatternName>().unwrap_err().to_string(),
        "read \"x\" as a pattern name: give 40 lower-case hexadecimal digits, with or without a leading PTRN|"
    );
}

#[test]
fn a_number_outside_the_table_is_an_error() {
    let table = LiteralTable::new(["a"]);
    let error = name_of_ids(&table, &[0, 1], &mut NameScratch::default()).unwrap_err();
    assert_eq!(
        error,
        UnknownSymbolId {
            id: 1,
            table_len: 1
        }
    );
    assert!(name_of_ids(&table, &[u32::MAX], &mut NameScratch::default()).is_err());
    assert!(LiteralTable::new([""; 0]).is_empty());
}

#[test]
fn a_pattern_without_events_has_a_name() {
    let empty = PatternName::of_events::<Event, _>(&[]);
    let mut scratch = NameScratch::default();
    assert_eq!(
        name_of_ids(&LiteralTable::new([""; 0]), &[], &mut scratch),
        Ok(empty)
    );
    assert_eq!(name_of_names(&[], &mut scratch), empty);
}

/// Every text length around the block boundaries of SHA-1.
#[test]
fn prepared_names_equal_plain_names_at_every_length() {
    let symbols: Vec<String> = (0..200).map(|len| "x".repeat(len)).collect();
    let table = LiteralTable::new(&symbols);
    let mut scratch = NameScratch::default();
    for (id, symbol) in (0..).zip(&symbols) {
        let name = name_of_ids(&table, &[id], &mut scratch);
        assert_eq!(name, Ok(PatternName::of_events(&[[symbol]])));
    }
}

fn symbol() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "['\"\\\\ \t\n\r,a\\[\\]]{0,6}",
        "[a-z]{0,40}",
    ]
}

proptest! {
    #[test]
    fn the_literal_stands_for_the_events(events in vec(vec(symbol(), 0..4), 0..5)) {
        let mut text = String::new();
        write_events_literal(&events, &mut text);
        prop_assert_eq!(read_events(&text), events);
        prop_assert!(!text.contains(|character: char| character.is_control()));
    }

    #[test]
    fn different_events_have_different_names(
        left in vec(vec("[ab]?", 0..3), 0..4),
        right in vec(vec("[ab]?", 0..3), 0..4),
    ) {
        let names = (PatternName::of_events(&left), PatternName::of_events(&right));
        prop_assert_eq!(names.0 == names.1, left == right);
    }

    #[test]
    fn the_order_of_names_is_that_of_their_text(left: [u8; 20], right: [u8; 20]) {
        let (left, right) = (PatternName::from_bytes(left), PatternName::from_bytes(right));
        prop_assert_eq!(left.cmp(&right), left.to_string().cmp(&right.to_string()));
        prop_assert_eq!(left.to_string().parse(), Ok(left));
    }

    #[test]
    fn prepared_names_equal_plain_names(
        symbols in vec(symbol(), 1..20),
        picks in vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let table = LiteralTable::new(&symbols);
        let ids: Vec<u32> = picks.iter().map(|pick| pick.index(symbols.len()) as u32).collect();
        let events: Vec<[&String; 1]> = ids.iter().map(|id| [&symbols[*id as usize]]).collect();
        // The scratch is used before, so that leftovers would show.
        let mut scratch = NameScratch::default();
        let children: Vec<PatternName> = events.iter().map(|event| PatternName::of_events(&[event])).collect();
        let texts: Vec<[String; 1]> = children.iter().map(|child| [child.prefixed().to_string()]).collect();
        prop_assert_eq!(name_of_names(&children, &mut scratch), PatternName::of_events(&texts));
        prop_assert_eq!(name_of_ids(&table, &ids, &mut scratch), Ok(PatternName::of_events(&events)));
    }

    #[test]
    fn observed_strings_are_sorted_by_code_point(strings in vec(any::<String>(), 0..8)) {
        let event = Event::new(strings.clone());
        let mut expected: Vec<Vec<char>> = strings.iter().map(|string| string.chars().collect()).collect();
        expected.sort();
        let found: Vec<Vec<char>> = event.symbols().iter().map(|symbol| symbol.chars().collect()).collect();
        prop_assert_eq!(found, expected);
    }
}
