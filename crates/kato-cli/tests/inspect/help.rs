//! The help of every program, as its users read it.

use crate::programs::Workplace;

/// All of them but `runs`, whose subcommands have help of their own (target `runs`).
const PROGRAMS: [&str; 24] = [
    "analyze", "hardware", "bench", "cleanup", "count", "datasets", "estimate", "evaluate",
    "forget", "generate", "index", "inspect", "corpus", "next", "plan", "predict", "purge",
    "retire", "salvage", "score", "serve", "trace", "train", "tune",
];

fn help(program: &str, argument: &str) -> String {
    let output = Workplace::new()
        .command(program, &[argument])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Of the whole program: features add flags.
#[cfg(feature = "full")]
#[test]
fn help_is_complete() {
    for program in PROGRAMS {
        insta::assert_snapshot!(format!("{program}_help"), help(program, "--help"));
    }
}

#[test]
fn short_help_is_shorter_and_wrapped() {
    for program in PROGRAMS {
        let text = help(program, "-h");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(text.lines().count() < help(program, "--help").lines().count());
    }
}
