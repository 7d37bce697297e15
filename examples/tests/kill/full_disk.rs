//! A disk that is full: an error that says what to do, and a run that goes on once there is space.

use std::fs;
use std::io::Write;
use std::process::Command;

use crate::report::stderr;
use crate::workplace::Workplace;

/// Runs a command under a limit on the size of files, which the system reports like a full disk.
fn limited(command: &Command, blocks: u32) -> Command {
    let mut shell = Command::new("sh");
    let script = format!(r#"trap "" XFSZ; ulimit -f {blocks}; exec "$0" "$@""#);
    shell
        .args(["-c", &script])
        .arg(command.get_program())
        .args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}

#[test]
fn a_full_disk_loses_nothing_that_was_committed() {
    let place = Workplace::new(1_500_000);
    // What repeats takes little space, so that there are commits before the disk is full.
    let corpus = fs::read(place.path("corpus.jsonl")).unwrap();
    let mut file = fs::File::create(place.path("corpus.jsonl")).unwrap();
    for idx in 0..1_500 {
        let text = "The same words again and again. ".repeat(30);
        writeln!(file, r#"{{"id":"same-{idx}","text":"{text}"}}"#).unwrap();
    }
    file.write_all(&corpus).unwrap();
    drop(file);
    let expected = place.undisturbed("corpus.jsonl");

    let mut committed = 0;
    for arguments in [
        ["--commit-interval", "0"].as_slice(),
        &["--resume", "--commit-interval", "0"],
    ] {
        let more = [arguments, &["--workers", "1", "--memory", "2MB"]].concat();
        // Blocks of 512 or of 1,024 bytes, as the shell likes.
        let output = limited(&place.train("corpus.jsonl", "kb", &more), 128)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let message = stderr(&output);
        assert!(message.contains("no space left while writing"), "{message}");
        assert!(
            message.contains("everything committed is safe; free some space and resume"),
            "{message}"
        );
        let now = place.committed("kb").unwrap();
        assert!(
            now >= committed && now > 0,
            "{now} documents after {committed}"
        );
        assert!(now < expected.samples());
        committed = now;
    }
    place.finish("corpus.jsonl", "kb").assert_equals(&expected);
}
