//! The record of a cluster, damaged between its steps: a later step refuses, or comes to the same.

use std::path::Path;
use std::sync::LazyLock;

use crate::harm::damage_one;
use crate::place::Place;
use crate::random::Random;
use crate::trials::{self, Outcome};

const STEPS: [&str; 6] = [
    "cluster --store plan plan clean.jsonl --tokenizer tokenizer.json --levels 4,3,2 --tasks 3 --ranges 2",
    "cluster --store plan learn --task 0",
    "cluster --store plan learn --task 1",
    "cluster --store plan learn --task 2",
    "cluster --store plan merge --all",
    "cluster --store plan seal --all",
];
const PUBLISH: &str = "cluster --store plan publish --kb published";
const NODES: [&str; 3] = ["node0", "node1", "node2"];

/// Places after each step, and the exports of what is published.
static STEPPED: LazyLock<(Vec<Place>, Vec<String>)> = LazyLock::new(|| {
    let place = Place::new(30_000);
    let corpus = std::fs::read_to_string(place.file("corpus.jsonl")).unwrap();
    // A task ends with a record that cannot be read.
    let whole = corpus.lines().filter(|line| line.ends_with('}'));
    let whole: Vec<&str> = whole.filter(|line| !line.contains("blank")).collect();
    std::fs::write(place.file("clean.jsonl"), whole.join("\n")).unwrap();
    let mut places = Vec::new();
    for step in STEPS {
        place.succeeds(step);
        places.push(Place::copy_of(&place));
    }
    place.succeeds(PUBLISH);
    (places, exports(&place).unwrap())
});

fn exports(place: &Place) -> Result<Vec<String>, String> {
    NODES
        .iter()
        .map(|node| {
            let output = place.run(&format!("inspect --kb published --node {node} --export -"));
            match output.status.success() {
                true => Ok(String::from_utf8(output.stdout).unwrap()),
                false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            }
        })
        .collect()
}

#[test]
fn a_cluster_over_damaged_records_comes_to_the_same_or_refuses() {
    trials::run("cluster", 4, |random: &mut Random| {
        let (places, expected) = &*STEPPED;
        let done = random.below(places.len() as u64) as usize;
        let place = Place::copy_of(&places[done]);
        let (_, harm) = damage_one(&place.file("plan"), random, |_: &Path| true);
        let mut outcome = Outcome::new(format!("after step {done}, {harm}"));
        for step in STEPS[done + 1..].iter().chain([&PUBLISH]) {
            let output = place.run(step);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            match output.status.code() {
                Some(0) => {}
                Some(1 | 4 | 6) if error.contains("error: ") => {
                    outcome.saw("refused");
                    return outcome;
                }
                code => {
                    outcome.is_wrong(format!("{step}: {code:?}: {error}"));
                    return outcome;
                }
            }
        }
        match exports(&place) {
            Ok(found) if found == *expected => outcome.saw("the same"),
            Ok(_) => outcome.is_wrong("another knowledge base".to_owned()),
            Err(error) => outcome.is_wrong(format!("published, and: {error}")),
        }
        outcome
    });
}
