//! Every other command that takes time.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::interrupted::{interrupt, n_moments};
use crate::program::kato;
use crate::random::Random;
use crate::workplace::Workplace;

#[test]
fn every_command_obeys_at_once() {
    let place = Workplace::new(3_000_000);
    place.undisturbed("corpus.jsonl");
    // Some commands end at the first damaged record, of which corpus.jsonl has many.
    let clean = "corpus --like corpus.jsonl --text-size 3MB --seed 1 --out clean.jsonl";
    let made = line_command(&place, clean).status().unwrap();
    assert!(made.success());
    let lines = [
        "bench clean.jsonl --max-documents 100000 --workers 1 --repeat 5",
        "estimate clean.jsonl --levels 4,3 --text-size 300MB",
        "datasets stats corpus.jsonl --quiet",
        "hardware",
        "evaluate corpus.jsonl --kb undisturbed --unseen clean.jsonl --quiet",
        "inspect --kb undisturbed",
        "inspect --kb undisturbed --node node0 --export out.jsonl",
        "analyze --kb undisturbed",
        "score --kb undisturbed corpus.jsonl",
        "next --kb undisturbed --text the",
        "predict --kb undisturbed --text ships",
        "generate --kb undisturbed --text ships",
        "corpus --like corpus.jsonl --text-size 1GB --seed 1",
        "cluster forecast --text-size 1TB",
        "runs list --in .",
        "runs export undisturbed exported --in .",
        "datasets info corpus.jsonl",
    ];
    let mut random = Random::from_seed(39);
    for _ in 0..n_moments().div_ceil(2) {
        for line in lines {
            let mut command = line_command(&place, line);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            let after = random.delay(Duration::from_secs(1));
            interrupt(command, after, &mut random);
        }
    }
}

/// The command of a line, in the workplace.
fn line_command(place: &Workplace, line: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = kato(words[0]);
    command
        .args(&words[1..])
        .current_dir(place.path(""))
        .stdin(Stdio::null());
    command
}
