//! Fuzz target for names: what the literal says, what is read back, and the fast ways to the same
//! name.

use kato_model::naming::{
    LiteralTable, NameScratch, name_of_ids, name_of_names, processor_id, write_events_literal,
};
use kato_model::vector::{sum_vectors, write_numpy_text};
use kato_model::{Event, Pattern, PatternName, Symbol, SymbolTable, VectorName};
use sha1::{Digest, Sha1};

use crate::input::Input;
use crate::literal_reader::read_events;

/// Checks names of patterns, vectors and nodes, and their texts.
///
/// # Panics
///
/// When a promise of `kato-model` about names is broken.
pub fn names(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.below(4) {
        0 => events(&mut input),
        1 => prepared(&mut input),
        2 => texts(&mut input),
        _ => vectors(&mut input),
    }
}

/// Checks names of patterns against an independent reader and an independent hash.
fn events(input: &mut Input<'_>) {
    let events = input.list(6, |input| input.list(4, Input::text));
    let mut literal = String::new();
    write_events_literal(&events, &mut literal);
    assert_eq!(read_events(&literal), events);
    assert!(!literal.contains(char::is_control), "{literal:?}");

    let name = PatternName::of_events(&events);
    assert_eq!(name.as_bytes()[..], Sha1::digest(&literal)[..]);
    let n_symbols = events.iter().map(Vec::len).sum();
    let pattern = Pattern::new(events.into_iter().map(Event::in_given_order).collect());
    assert_eq!((pattern.name(), pattern.length()), (name, n_symbols));
    round_trips(name);
}

/// Checks the ways to a name from tables of prepared text, with one symbol an event.
fn prepared(input: &mut Input<'_>) {
    let symbols = input.list(12, Input::text);
    let table = LiteralTable::new(&symbols);
    let mut scratch = NameScratch::default();
    // Used for two lists, so that leftovers of the first would show in the second. An id may be one
    // that the table does not have.
    let ids = input.list(40, |input| input.below(symbols.len() + 1) as u32);
    for ids in [&ids[..], &ids[ids.len() / 2..]] {
        let events: Option<Vec<[&String; 1]>> = ids
            .iter()
            .map(|&id| Some([symbols.get(id as usize)?]))
            .collect();
        let expected = events.as_ref().map(|events| PatternName::of_events(events));
        assert_eq!(name_of_ids(&table, ids, &mut scratch).ok(), expected);
        let children: Vec<PatternName> = events
            .iter()
            .flatten()
            .map(|event| PatternName::of_events(&[event]))
            .collect();
        let names: Vec<[String; 1]> = children
            .iter()
            .map(|child| [child.prefixed().to_string()])
            .collect();
        assert_eq!(
            name_of_names(&children, &mut scratch),
            PatternName::of_events(&names)
        );
    }
    let mut interned = SymbolTable::new();
    for symbol in &symbols {
        let id = interned.intern(symbol);
        assert_eq!(interned.text(id), Some(symbol.as_str()));
        assert_eq!(
            (interned.intern(symbol), interned.id(symbol)),
            (id, Some(id))
        );
    }
}

/// Checks texts that are names, or nearly.
fn texts(input: &mut Input<'_>) {
    let digits: String = input
        .list(41, |input| {
            input.choose(&['0', '9', 'a', 'f', 'F', 'g', 'é'])
        })
        .into_iter()
        .collect();
    let text = match input.below(4) {
        0 => format!("PTRN|{digits}"),
        1 => digits,
        2 => format!("PTRN|{}", "0123456789abcdef".repeat(3).split_at(40).0),
        _ => input.text(),
    };
    match text.parse::<PatternName>() {
        Ok(name) => {
            assert!(
                text == name.to_string() || text == name.prefixed().to_string(),
                "{text}"
            );
            round_trips(name);
        }
        Err(error) => assert!(error.to_string().contains("40 lower-case")),
    }
    assert_eq!(Symbol::from(text.as_str()).to_string(), text);
    let is_name = matches!(Symbol::from(text.as_str()), Symbol::Name(_));
    assert_eq!(is_name, PatternName::from_symbol(&text).is_some());

    let service = input.text();
    let suffix = format!("_{}", service.replace('-', "_"));
    assert!(
        processor_id(&text, &service).ends_with(&suffix),
        "{text} {service}"
    );
}

/// Checks names of vectors.
fn vectors(input: &mut Input<'_>) {
    let most = input.choose(&[3, 20, 1100]);
    let vectors = input.list(3, |input| input.list(most, Input::number));
    for vector in &vectors {
        let mut text = String::new();
        write_numpy_text(vector, &mut text);
        assert!(text.starts_with('[') && text.ends_with(']'), "{text}");
        assert!(text.lines().all(|line| line.len() <= 76), "{text}");
        let n_shown = text[1..text.len() - 1].split_whitespace().count();
        // Beyond 1000 numbers numpy prints the first three, three dots and the last three.
        let n_expected = if vector.len() > 1000 { 7 } else { vector.len() };
        assert_eq!(n_shown, n_expected, "{text}");
        let name = VectorName::of_vector(vector);
        assert_eq!(name.to_string().parse(), Ok(name));
    }
    let sum = sum_vectors(&vectors);
    assert_eq!(
        VectorName::of_observation(&vectors),
        sum.map(|sum| VectorName::of_vector(&sum))
    );
}

/// Checks that a name survives all ways of writing and reading it.
fn round_trips(name: PatternName) {
    assert_eq!(name.to_string().parse(), Ok(name));
    let symbol = name.prefixed().to_string();
    assert_eq!(symbol.parse(), Ok(name));
    assert_eq!(PatternName::from_symbol(&symbol), Some(name));
    assert_eq!(Symbol::from(symbol.as_str()), Symbol::Name(name));
    assert_eq!(PatternName::from_bytes(*name.as_bytes()), name);
    assert_eq!(name.leading_u64().to_be_bytes(), name.as_bytes()[..8]);
    let json = serde_json::to_string(&name).map_err(|error| error.to_string());
    let read = json.and_then(|json| {
        serde_json::from_str::<PatternName>(&json).map_err(|error| error.to_string())
    });
    assert_eq!(read, Ok(name));
}
