//! Knowledge bases of one commit and of many, with an index and without, damaged, and then every
//! command asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use crate::files::segments_below;
use crate::harm::damage_one;
use crate::place::{Place, train};
use crate::random::Random;
use crate::trials::{self, Outcome};

/// Every command that reads a knowledge base.
const QUESTIONS: [&str; 14] = [
    "inspect --kb KB --json",
    "inspect --kb KB --node node0 --export -",
    "inspect --kb KB --node node2 --export -",
    "inspect --kb KB --node node1 --histogram",
    r#"predict --kb KB --text "Some carry timber, some carry" --json"#,
    r#"predict --kb KB --node node1 --text "Some carry timber, some carry" --json"#,
    r#"generate --kb KB --text "Some carry" --max-tokens 20 --json"#,
    r#"generate --kb KB --text "Some carry" --max-tokens 20 --head --json"#,
    r#"next --kb KB --text "Some carry" --json"#,
    "score --kb KB question.txt --json",
    "analyze --kb KB --json",
    "evaluate --kb KB --max-documents 3 --max-questions 20 --quiet --json --no-head",
    "runs show KB --in . --json",
    "runs export KB KB-export --in .",
];

/// A place with knowledge bases of every kind, and what each command answers over them.
struct Trained {
    place: Place,
    answers: BTreeMap<String, String>,
}

static TRAINED: LazyLock<Trained> = LazyLock::new(|| {
    let place = Place::new(40_000);
    place.train("one", "--hold-out 0.1");
    place.train("indexed", "--hold-out 0.1 --index");
    // Commits as often as there is something, and a history that a later run goes on from.
    place.train("many", "--hold-out 0.1 --max-documents 10");
    for n in [20, 30] {
        let more = format!("--hold-out 0.1 --max-documents {n} --resume");
        place.train("many", &more);
    }
    place.train("many", "--hold-out 0.1 --resume --index");
    let mut answers = BTreeMap::new();
    for kb in KBS {
        for line in questions(kb) {
            answers.insert(line.clone(), place.succeeds(&line));
            std::fs::remove_dir_all(place.file(&format!("{kb}-export"))).ok();
        }
    }
    Trained { place, answers }
});

const KBS: [&str; 3] = ["one", "indexed", "many"];

fn questions(kb: &str) -> impl Iterator<Item = String> {
    QUESTIONS.iter().map(move |line| line.replace("KB", kb))
}

/// The lock says nothing, whatever is in it.
fn counts(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name != "LOCK")
}

#[test]
fn no_command_answers_an_absence_or_an_older_state() {
    trials::run("commands", 4, |random: &mut Random| {
        let kb = random.pick(&KBS);
        let place = Place::copy_of(&TRAINED.place);
        let (path, harm) = damage_one(&place.file(kb), random, counts);
        let mut outcome = Outcome::new(format!("{kb}/{harm}"));
        let before = segments_below(&place.file(kb));
        for line in questions(kb) {
            let output = place.run(&line);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            match output.status.code() {
                Some(0) if place.answer_of(&output) == TRAINED.answers[&line] => {
                    match error.is_empty() {
                        true => outcome.saw("answered"),
                        false => outcome.saw("answered with a warning"),
                    }
                }
                // A run without its run.json is one that was not recorded, and says so.
                Some(0) if line.starts_with("runs show") && harm.ends_with("run.json: removed") => {
                    outcome.saw("unrecorded");
                }
                Some(1 | 6) if error.starts_with("error: ") || error.contains("\nerror: ") => {
                    outcome.saw("refused");
                }
                code => {
                    let text = place.answer_of(&output);
                    let text: String = text.chars().take(300).collect();
                    outcome.is_wrong(format!("{line}: {code:?}: {text} {error}"));
                }
            }
        }
        if !before.is_subset(&segments_below(place.path())) {
            outcome.is_wrong(format!("a reader deleted a segment; {}", path.display()));
        }
        outcome
    });
}

#[test]
fn a_run_is_resumed_to_the_same_or_refused_and_what_is_whole_stays() {
    trials::run("resume", 6, |random: &mut Random| {
        let kb = random.pick(&KBS);
        let place = Place::copy_of(&TRAINED.place);
        let (_, harm) = damage_one(&place.file(kb), random, counts);
        let mut outcome = Outcome::new(format!("{kb}/{harm}"));
        let before = segments_below(&place.file(kb));
        let output = place.run(&train(kb, "--hold-out 0.1 --resume"));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => {
                match error.is_empty() {
                    true => outcome.saw("resumed"),
                    false => outcome.saw("resumed with a warning"),
                }
                for node in ["node0", "node1", "node2"] {
                    let line = format!("inspect --kb {kb} --node {node} --export -");
                    let output = place.run(&line);
                    let same = TRAINED.answers.get(&line).cloned();
                    let same = same.unwrap_or_else(|| TRAINED.place.succeeds(&line));
                    if !output.status.success() {
                        // Nothing had to be learned, so nothing was read.
                        outcome.saw("resumed, and still damaged");
                    } else if place.answer_of(&output) != same {
                        outcome.is_wrong(format!("resumed to another {node}: {error}"));
                    }
                }
            }
            Some(1 | 6) if error.contains("error: ") => outcome.saw("refused"),
            code => outcome.is_wrong(format!("{code:?}: {error}")),
        }
        if !before.is_subset(&segments_below(place.path())) {
            outcome.is_wrong(format!("a segment was deleted: {error}"));
        }
        outcome
    });
}
