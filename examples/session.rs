//! Uses KATO in process, without text, store or server: a node that observes, learns and predicts, with
//! events of several symbols, emotives and metadata.
//!
//! Run: `cargo run --release -p kato-examples --example session -- "red light,stop" "green light,go"`

use std::io::Write;
use std::process::ExitCode;

use kato::model::{Event, MetadataValue};
use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let events = "events between commas, symbols of an event between blanks";
    run(
        &[
            ("[LEARNED]", events),
            ("[OBSERVED]", "what is observed then, likewise"),
        ],
        session,
    )
}

fn session(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let learned = arguments.or(0, "red light,brake,stop,green light,go");
    let observed = arguments.or(1, "light red,stop");
    let engine = Engine::in_memory(&["traffic"]);
    let mut session = engine.node("traffic")?.session(SessionConfig::default());

    for event in learned.split(',') {
        // Symbols of one event have no order: KATO sorts them.
        let observation = Observation::strings(event.split_whitespace())
            .with_emotive("safety", 1.0)
            .with_metadata("source", MetadataValue::Text("a driver".to_owned()));
        session.observe(observation)?;
    }
    writeln!(out, "learned {}", session.learn()?)?;

    for event in observed.split(',') {
        session.observe(Observation::strings(event.split_whitespace()))?;
    }
    let answer = session.predict()?;
    for prediction in answer.predictions.iter().take(3) {
        let (name, similarity) = (prediction.name, prediction.similarity);
        let (present, future) = (text(&prediction.present), text(&prediction.future));
        let missing = prediction.missing.concat().join(" ");
        writeln!(out, "{name} resembles it by {similarity:.2}")?;
        writeln!(
            out,
            "  now: {present}\n  missing: {missing}\n  next: {future}"
        )?;
    }
    if answer.predictions.is_empty() {
        writeln!(out, "nothing that was learned is like it")?;
    }
    Ok(())
}

fn text(events: &[Event]) -> String {
    let events: Vec<String> = events
        .iter()
        .map(|event| event.symbols().join(" "))
        .collect();
    events.join(",")
}
