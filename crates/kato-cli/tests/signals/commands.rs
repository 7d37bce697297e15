//! Every other command that takes time.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::interrupted::{interrupt, n_moments};
use crate::program::kato;
use crate::random::Random;
use crate::signal::signal;
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

#[test]
fn a_file_beyond_its_limit_is_an_error_and_no_end_by_a_signal() {
    let place = Workplace::new(300_000);
    place.undisturbed("corpus.jsonl");
    for line in [
        "inspect --kb undisturbed --node node0 --export out.jsonl",
        "corpus --like corpus.jsonl --text-size 3MB --seed 1 --out made.jsonl",
        "train corpus.jsonl --kb limited --quiet --skip-errors",
        "index --kb undisturbed",
        "salvage undisturbed --out saved",
        "runs export undisturbed exported",
    ] {
        let command = line_command(&place, line);
        // Blocks of 512 bytes or of 1,024, by the shell.
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 20 && exec \"$0\" \"$@\""]);
        limited.arg(command.get_program()).args(command.get_args());
        let output = limited.current_dir(place.path("")).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{line}: {told}");
        assert!(told.contains("File too large"), "{line}: {told}");
        let ways_out = told.matches("raise the limit (`ulimit -f`)").count();
        assert_eq!(ways_out, 1, "{line}: {told}");
        assert_eq!(
            told.contains("resume"),
            line.starts_with("train"),
            "{line}: {told}"
        );
    }
}

/// As by `nohup`: what its terminal sends is ignored, and stays so.
#[cfg(target_os = "linux")]
#[test]
fn a_command_that_is_to_outlive_its_terminal_does() {
    let place = Workplace::new(1_000);
    let server = kato("serve");
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP && exec \"$0\" \"$@\""]);
    ignoring.arg(server.get_program()).args(server.get_args());
    ignoring.args(["--in-memory", "--addr", "127.0.0.1:0"]);
    ignoring.current_dir(place.path("")).stdout(Stdio::piped());
    let mut server = ignoring.spawn().unwrap();
    let mut listening = String::new();
    let mut lines = BufReader::new(server.stdout.take().unwrap());
    lines.read_line(&mut listening).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    signal(&server, "TERM");
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & 1, 1, "{status}");
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
