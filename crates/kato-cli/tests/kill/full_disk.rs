//! A disk that is full: an error that says what to do, and a run that goes on once there is space.

use std::fs;
use std::io::Write;

use crate::disk::limited;
use crate::report::stderr;
use crate::workplace::Workplace;

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
        let output = limited(&place.train("corpus.jsonl", "kb", &more), 128)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
        let message = stderr(&output);
        assert!(
            message.contains("the limit on the size of files was reached while writing"),
            "{message}"
        );
        assert!(
            message.contains("everything committed is safe; raise the limit (`ulimit -f`)")
                && message.ends_with("; --resume goes on from there\n"),
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
