//! What builders and heads say that they take is what the allocator counts: memory is given to them by it.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use kato_head::{HeadBuilder, HeadOptions};
use kato_model::{Event, PatternName};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Patterns of five symbols out of `n_symbols`, each as long as its last argument says.
fn pattern(number: usize, n_symbols: usize, length: usize) -> Vec<Event> {
    let symbol = |place: usize| {
        let symbol = (number * 31 + place * place * 17) % n_symbols;
        Event::new([format!("{symbol:0length$}")])
    };
    (0..5).map(symbol).collect()
}

/// Checks that `said` is within a fiftieth of what was allocated since `before`.
fn check(what: &str, said: usize, before: usize) {
    let taken = ALLOCATOR.current_usage() - before;
    let share = said as f64 / taken as f64;
    assert!((0.98..1.02).contains(&share), "{what}: {said} of {taken}");
}

#[test]
fn what_is_said_of_memory_is_what_is_taken() {
    // Texts weigh most, or n-grams do.
    for (what, n_patterns, n_symbols, length) in
        [("texts", 4_000, 4_000, 500), ("n-grams", 40_000, 900, 8)]
    {
        let before = ALLOCATOR.current_usage();
        let mut builder = HeadBuilder::new(HeadOptions::default()).unwrap();
        for number in 0..n_patterns {
            let events = pattern(number, n_symbols, length);
            let name = PatternName::of_events(&events);
            builder.add(0, &name, &events, 1).unwrap();
        }
        check(&format!("builder, {what}"), builder.heap_bytes(), before);
        let head = builder.finish().unwrap();
        check(&format!("head, {what}"), head.heap_bytes(), before);
    }
    unknown_names();
}

/// Counts patterns of names that nobody has learned: hardly more than a table of these.
fn unknown_names() {
    let before = ALLOCATOR.current_usage();
    let mut builder = HeadBuilder::new(HeadOptions::default()).unwrap();
    for number in 0..8_000 {
        let name = |place: usize| PatternName::of_events(&[[format!("{number} {place}")]]);
        let events: Vec<Event> = (0..5)
            .map(|place| Event::new([name(place).prefixed().to_string()]))
            .collect();
        let name = PatternName::of_events(&events);
        builder.add(1, &name, &events, 1).unwrap();
    }
    check("builder, unknown names", builder.heap_bytes(), before);
    let head = builder.finish().unwrap();
    check("head, unknown names", head.heap_bytes(), before);
}
