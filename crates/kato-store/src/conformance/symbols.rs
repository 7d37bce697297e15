//! Tests that patterns come back with the symbols and events that they were learned with.

use kato_model::{Event, PatternName, Symbol};

use super::{
    CallSymbol, Fixture, LearnCall, Lessons, commit, content, create, learned, stage, teach,
};
use crate::contract::SymbolCounts;

/// Checks that names of patterns are the same symbols whether the node below learned them in the
/// same batch, in another or never.
pub fn children_are_names(fixture: &impl Fixture) {
    let never = PatternName::of_events(&[["never learned"]]);
    let lessons = Lessons::new(
        2,
        vec![
            LearnCall::text(0, &["a", "b"]),
            LearnCall::text(0, &["c", "d"]),
            LearnCall::new(
                1,
                [
                    CallSymbol::Learned(0),
                    CallSymbol::Learned(1),
                    CallSymbol::Text(never.prefixed().to_string()),
                    // Once as a child and once as text, where the batch allows it.
                    CallSymbol::Text(
                        PatternName::of_events(&[["a"], ["b"]])
                            .prefixed()
                            .to_string(),
                    ),
                ],
            ),
        ],
    );
    let expected = [0, 1].map(|idx| Symbol::Name(lessons.name(idx)));
    let expected = [
        expected[0].clone(),
        expected[1].clone(),
        Symbol::Name(never),
        expected[0].clone(),
    ];
    let mut counts = [(0, 2), (1, 1)]
        .map(|(idx, frequency)| {
            (
                Symbol::Name(lessons.name(idx)),
                SymbolCounts {
                    frequency,
                    member_frequency: 1,
                },
            )
        })
        .to_vec();
    counts.push((
        Symbol::Name(never),
        SymbolCounts {
            frequency: 1,
            member_frequency: 1,
        },
    ));
    counts.sort_by(|(a, _), (b, _)| a.cmp(b));

    let together = create(fixture, &["node0", "node1"]);
    teach(&together, &lessons);
    let apart = create(fixture, &["node0", "node1"]);
    for picked in [[2].as_slice(), &[1], &[0]] {
        let staged = stage(&apart, lessons.batch(picked));
        commit(&apart, vec![staged], serde_json::Value::Null);
    }
    for store in [together, apart] {
        let parent = learned(&store, 1, lessons.name(2));
        assert_eq!(parent.symbols, expected);
        assert_eq!(content(&store)[1].symbol_counts, counts);
    }
}

/// Checks that any text is a symbol and comes back as it was; only `PTRN|` and 40 lower-case digits
/// is a name.
pub fn every_text_is_a_symbol(fixture: &impl Fixture) {
    let upper = format!("PTRN|{}", "A".repeat(40));
    let long = "猫".repeat(100_000);
    let texts = [
        "",
        " ",
        "\0",
        "\n",
        "\"",
        "'",
        "\\",
        "é",
        "e\u{301}",
        "\u{10ffff}",
        "PTRN|",
        "PTRN|x",
        &upper,
        "VCTR|0",
        &long,
    ];
    let mut lessons: Vec<LearnCall> = texts
        .iter()
        .map(|text| LearnCall::text(0, &[text, ""]))
        .collect();
    lessons.push(LearnCall::text(0, &texts));
    let lessons = Lessons::new(1, lessons);
    let store = create(fixture, &["node0"]);
    teach(&store, &lessons);
    let store = fixture.reopen(store);
    let pattern = learned(&store, 0, lessons.name(texts.len()));
    let expected: Vec<Symbol> = texts
        .iter()
        .map(|&text| Symbol::Text(text.into()))
        .collect();
    assert_eq!(pattern.symbols, expected);
    let mut sorted = expected;
    sorted.sort();
    let counted: Vec<Symbol> = content(&store)
        .remove(0)
        .symbol_counts
        .into_iter()
        .map(|(symbol, _)| symbol)
        .collect();
    assert_eq!(counted, sorted);
}

/// Checks that events of any number of symbols are kept, none included, and patterns without
/// events.
pub fn events_keep_their_bounds(fixture: &impl Fixture) {
    let event = |texts: &[&str]| -> Vec<CallSymbol> {
        texts
            .iter()
            .map(|&text| CallSymbol::Text(text.to_owned()))
            .collect()
    };
    let cases: Vec<Vec<Vec<CallSymbol>>> = vec![
        vec![],
        vec![vec![]],
        vec![vec![], vec![]],
        vec![event(&["a"]), event(&["b"])],
        vec![event(&["a", "b"])],
        vec![event(&["a", "b"]), vec![]],
        vec![vec![], event(&["b", "a"])],
        vec![event(&["a", "a", "a"]), event(&["a"])],
    ];
    let lessons = cases
        .iter()
        .map(|events| LearnCall::with_events(0, events.clone()))
        .collect();
    let lessons = Lessons::new(1, lessons);
    let store = create(fixture, &["node0"]);
    teach(&store, &lessons);
    teach(&store, &lessons);
    let store = fixture.reopen(store);
    for (idx, events) in cases.iter().enumerate() {
        let pattern = learned(&store, 0, lessons.name(idx));
        let text = |part: &CallSymbol| match part {
            CallSymbol::Text(text) => text.clone(),
            CallSymbol::Learned(idx) => lessons.name(*idx).prefixed().to_string(),
        };
        let expected: Vec<Event> = events
            .iter()
            .map(|event| Event::in_given_order(event.iter().map(text).collect()))
            .collect();
        assert_eq!((pattern.events(), pattern.frequency), (expected, 2));
    }
    let _ = content(&store);
}
