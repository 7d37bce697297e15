//! Every other command that takes time.

use std::process::Stdio;
use std::time::Duration;

use crate::interrupted::{interrupt, n_moments};
use crate::program::kato;
use crate::random::Random;
use crate::workplace::Workplace;

#[test]
fn every_command_obeys_at_once() {
    let place = Workplace::new(3_000_000);
    place.undisturbed("corpus.jsonl");
    let lines = [
        "bench corpus.jsonl --max-documents 100000 --workers 1 --repeat 5",
        "estimate corpus.jsonl --levels 4,3 --text-size 1GB",
        "datasets stats corpus.jsonl --quiet",
        "hardware",
        "evaluate corpus.jsonl --kb undisturbed --quiet",
        "inspect --kb undisturbed",
        "inspect --kb undisturbed --node node0 --export out.jsonl",
        "analyze --kb undisturbed",
        "score --kb undisturbed corpus.jsonl",
        "next --kb undisturbed --text the",
        "predict --kb undisturbed --text ships",
        "generate --kb undisturbed --text ships",
        "corpus --like corpus.jsonl --bytes 1GB --seed 1",
        "cluster forecast --text 1TB",
        "runs list --in .",
        "runs export undisturbed exported --in .",
        "datasets info corpus.jsonl",
    ];
    let mut random = Random::from_seed(39);
    for _ in 0..n_moments().div_ceil(2) {
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut command = kato(words[0]);
            command
                .args(&words[1..])
                .current_dir(place.path(""))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            let after = random.delay(Duration::from_secs(1));
            interrupt(command, after, &mut random);
        }
    }
}
