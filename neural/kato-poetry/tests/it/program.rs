//! The program `kato-poetry`, as a user runs it.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use kato_random::SplitMix64;
use kato_test_needs::ends_within;
use serde_json::Value;

use crate::support::sonnets_file;

type Done = Result<(), Box<dyn Error>>;

/// Flags of a training that takes a moment.
const SMALL: [&str; 18] = [
    "--unit",
    "gap",
    "--titles",
    "--dims",
    "6",
    "--hidden",
    "7",
    "--layers",
    "1",
    "--bottleneck",
    "4",
    "--batch",
    "3",
    "--epochs",
    "2",
    "--threads",
    "1",
    "--json",
];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kato-poetry"))
}

fn run(arguments: &[&str]) -> Result<Output, Box<dyn Error>> {
    Ok(program().args(arguments).output()?)
}

fn train(folder: &Path) -> Command {
    let mut command = program();
    command
        .arg("train")
        .arg(sonnets_file())
        .arg("--out")
        .arg(folder)
        .args(SMALL);
    command
}

fn json(output: &Output) -> Result<Value, Box<dyn Error>> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn a_run_is_trained_asked_and_compared() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let place = at.to_str().ok_or("a path of text")?;
    let outcome = json(&train(&at).output()?)?;
    assert_eq!(
        (&outcome["ending"], &outcome["n_epochs"]),
        (&"complete".into(), &2.into())
    );
    assert!(at.join("report.html").exists());

    let rebuilt = json(&run(&["reconstruct", place, "--json"])?)?;
    assert_eq!(rebuilt[0]["tokens"][0]["word"], "<POEM_START>");
    let found = json(&run(&[
        "neighbours",
        place,
        "Shall I compare thee",
        "--limit",
        "2",
        "--json",
    ])?)?;
    assert_eq!(found.as_array().map(Vec::len), Some(2));
    let texts = json(&run(&[
        "walk",
        place,
        "the eye / of heaven",
        "true minds",
        "--json",
    ])?)?;
    assert_eq!(texts.as_array().map(Vec::len), Some(5));
    let codes = folder.path().join("codes.npy");
    let out = codes.to_str().ok_or("a path of text")?;
    assert_eq!(
        json(&run(&["encode", place, "--out", out, "--json"])?)?["poems"],
        6
    );
    assert_eq!(kato_poetry::npy::read::<f32>(&codes)?.0, [6, 4]);
    let compared = json(&run(&["compare", place, place, "--json"])?)?;
    assert_eq!(compared["settings"].as_array().map(Vec::len), Some(0));

    // More epochs go on where it ended.
    let outcome = json(&run(&["resume", place, "--epochs", "3", "--json"])?)?;
    assert_eq!(outcome["n_epochs"], 3);
    // The run keeps how many.
    let outcome = json(&run(&["resume", place, "--json"])?)?;
    assert_eq!(outcome["n_epochs"], 3);
    let kept = std::fs::read_to_string(at.join("settings.toml"))?;
    assert!(kept.contains("epochs = 3"), "{kept}");
    Ok(())
}

#[test]
fn exit_codes_say_what_to_do() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let place = at.to_str().ok_or("a path of text")?;
    let code =
        |arguments: &[&str]| -> Result<_, Box<dyn Error>> { Ok(run(arguments)?.status.code()) };
    assert_eq!(code(&["train"])?, Some(2));
    assert_eq!(code(&["resume", place])?, Some(2), "there is no run");
    assert_eq!(code(&["train", "/nowhere.json", "--out", place])?, Some(1));
    let poems = folder.path().join("poems.json");
    std::fs::write(&poems, r#"[{"text": "the sea, the sea, it is wide"}]"#)?;
    let poems = poems.to_str().ok_or("a path of text")?;
    let twice = code(&["train", poems, poems, "--out", place])?;
    assert_eq!(twice, Some(2), "poems would be learned from and judged");
    let seed = ["--seed", "18446744073709551615"];
    let seeded = [&["train", poems, "--out", place][..], &seed].concat();
    assert_eq!(code(&seeded)?, Some(2), "no file of settings holds it");
    assert!(train(&at).output()?.status.success());
    assert_eq!(
        train(&at).output()?.status.code(),
        Some(6),
        "there is a run"
    );
    let names = folder.path().join("codes.json");
    let names = names.to_str().ok_or("a path of text")?;
    let encode = ["encode", place, "--out", names];
    assert_eq!(code(&encode)?, Some(2), "names would replace the vectors");
    let vectors = folder.path().join("poems.npy");
    let vectors = vectors.to_str().ok_or("a path of text")?;
    let encode = ["encode", place, "--text", poems, "--out", vectors];
    assert_eq!(code(&encode)?, Some(6), "names would replace the poems");
    for idle in [
        ["--memory-mib", "5"].as_slice(),
        &["--dims", "3", "--vectors", poems],
    ] {
        let idle = [&["train", poems, "--out", "other"][..], idle].concat();
        assert_eq!(code(&idle)?, Some(2), "{idle:?}");
    }
    for steps in ["1", "100000000000"] {
        assert_eq!(code(&["walk", place, "a", "b", "--steps", steps])?, Some(2));
    }
    let codes = folder.path().join("codes.npy");
    let codes = codes.to_str().ok_or("a path of text")?;
    let encode = ["encode", place, "--text", "-", "--out", codes];
    let encode = program().args(encode).stdin(Stdio::null()).output()?;
    assert_eq!(encode.status.code(), Some(2));
    Ok(())
}

#[test]
fn a_dry_run_measures_and_writes_nothing() -> Done {
    let folder = tempfile::tempdir()?;
    let file = sonnets_file();
    let text = file.to_str().ok_or("a path of text")?;
    let mut command = program();
    command
        .current_dir(folder.path())
        .args(["train", text, "--dry-run"])
        .args(SMALL);
    let measured = json(&command.output()?)?;
    assert!(measured["n_parameters"].as_u64() > Some(0));
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_saved_and_says_how_to_go_on() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    // So many epochs that it cannot be over by then.
    let mut child = train(&at)
        .args([
            "--set",
            "training.epochs=100000",
            "--set",
            "training.patience=100000",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let begun = Instant::now();
    let history = at.join("history.jsonl");
    while std::fs::metadata(&history).map_or(0, |file| file.len()) == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "no epoch in two minutes"
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    assert!(killed.success());
    let status = child.wait()?;
    let mut errors = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().ok_or("piped")?, &mut errors)?;
    assert_eq!(status.code(), Some(130), "{errors}");
    assert!(
        errors.contains("go on with `kato-poetry resume"),
        "{errors}"
    );
    Ok(())
}

/// Trials of rates end by themselves long after the signal, if they do not heed it.
#[cfg(unix)]
#[test]
fn the_first_signal_ends_what_does_not_train_yet() -> Done {
    let sonnets = sonnets_file();
    let text = sonnets.to_str().ok_or("a path of text")?;
    let mut child = program()
        .args(["train", text, "--find-rate"])
        .args(SMALL)
        .args(["--set", "model.hidden=150"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = BufReader::new(child.stderr.take().ok_or("piped")?);
    // The last line before the trials.
    let is_told = |line: Result<String, _>| line.is_ok_and(|line| line.starts_with("vectors:"));
    assert!(errors.lines().any(is_told));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    assert!(killed.success());
    assert_eq!(child.wait()?.code(), Some(130));
    Ok(())
}

/// The trial waits for a text that nobody writes to its end.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_trial_of_a_batch_with_the_search() -> Done {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("sonnets.txt");
    assert!(Command::new("mkfifo").arg(&text).status()?.success());
    let mut search = program()
        .arg("train")
        .arg(&text)
        .arg("--find-batch")
        .args(SMALL)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    // The search reads it first.
    std::fs::write(&text, std::fs::read(sonnets_file())?)?;
    let errors = BufReader::new(search.stderr.take().ok_or("piped")?);
    let is_told = |line: Result<String, _>| line.is_ok_and(|line| line.starts_with("vectors:"));
    assert!(errors.lines().any(is_told));
    // Open as soon as the trial reads.
    let mut writer = std::fs::OpenOptions::new().write(true).open(&text)?;
    let killed = Command::new("kill")
        .args(["-TERM", &search.id().to_string()])
        .status()?;
    assert!(killed.success());
    assert_eq!(search.wait()?.code(), Some(130));
    let nobody_reads = writer.write_all(b"\n").unwrap_err();
    assert_eq!(nobody_reads.kind(), std::io::ErrorKind::BrokenPipe);
    Ok(())
}

/// Returns of every epoch what does not depend on time.
fn epochs(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let text = std::fs::read_to_string(folder.join("history.jsonl"))?;
    let lines = text.lines().map(|line| -> Result<String, Box<dyn Error>> {
        let record: Value = serde_json::from_str(line)?;
        Ok(format!(
            "{} {} {}",
            record["step"], record["train_loss"], record["validation"]
        ))
    });
    lines.collect()
}

#[test]
fn a_run_that_was_killed_at_any_moment_ends_with_the_same_epochs() -> Done {
    let folder = tempfile::tempdir()?;
    let flags = [
        "--set",
        "training.epochs=6",
        "--set",
        "training.save_steps=2",
    ];
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let begun = Instant::now();
    assert!(train(&whole).args(flags).output()?.status.success());
    let longest = begun.elapsed();
    let expected = epochs(&whole)?;
    assert_eq!(expected.len(), 6);

    let next = || {
        // Before there is a run, there is nothing to go on with.
        let mut command = if killed.join("run.json").exists() {
            let mut resume = program();
            resume.arg("resume").arg(&killed);
            resume
        } else {
            let mut begin = train(&killed);
            begin.args(flags);
            begin
        };
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let n_kills = std::env::var("KATO_NEURAL_KILLS").map_or(Ok(5), |n| n.parse())?;
    let mut moments = SplitMix64::from_seed(11);
    for kill in 0..n_kills {
        let mut child = next().spawn()?;
        if ends_within(&mut child, longest.mul_f64(moments.unit())) {
            assert!(child.wait()?.success(), "kill {kill}");
            assert_eq!(epochs(&killed)?, expected, "kill {kill}");
            std::fs::remove_dir_all(&killed)?;
        }
        // One that has ended is past it.
        child.kill()?;
        child.wait()?;
    }
    assert!(next().status()?.success());
    assert_eq!(epochs(&killed)?, expected);
    Ok(())
}

#[test]
fn the_batch_that_is_found_leaves_room_and_trains() -> Done {
    let sonnets = sonnets_file();
    let text = sonnets.to_str().ok_or("a path of text")?;
    let find = |mebibytes: &str| -> Result<Output, Box<dyn Error>> {
        let memory = ["--find-batch", "--memory-mib", mebibytes];
        Ok(program()
            .args(["train", text])
            .args(SMALL)
            .args(memory)
            .output()?)
    };
    let found = json(&find("1000")?)?;
    let number = |name: &str| found[name].as_u64().ok_or("a number");
    assert!(number("peak_bytes")? * 5 <= number("limit_bytes")? * 4);
    // All that are trained on, which is less than there could be.
    let dry = program()
        .args(["train", text, "--dry-run"])
        .args(SMALL)
        .output()?;
    let n_train = json(&dry)?["n_chunks"].as_u64().ok_or("a number")?;
    assert_eq!(number("batch")?, n_train - n_train % 2);
    let folder = tempfile::tempdir()?;
    let batch = number("batch")?.to_string();
    let set = format!("training.batch={batch}");
    let outcome = train(&folder.path().join("run"))
        .args(["--set", &set])
        .output()?;
    assert_eq!(json(&outcome)?["ending"], "complete");
    // The number that it finds would change nothing there.
    let budget = ["--batching", "token-budget", "--find-batch"];
    let mut refused = program();
    refused.args(["train", text]).args(SMALL).args(budget);
    let refused = refused.output()?;
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--find-batch has no effect"), "{said}");
    // A process alone takes more than a mebibyte.
    let none = find("1")?;
    let said = String::from_utf8_lossy(&none.stderr);
    assert_eq!(none.status.code(), Some(5), "{said}");
    assert!(said.contains("does not fit"), "{said}");
    Ok(())
}

#[test]
fn a_step_that_batch_norm_would_see_in_parts_is_refused_before_anything_is_made() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    for parted in ["training.accumulate=2", "training.max_tokens_at_once=60"] {
        for more in [&[][..], &["--dry-run"], &["--find-rate"]] {
            let refused = train(&at).args(["--set", parted]).args(more).output()?;
            let said = String::from_utf8_lossy(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{parted}: {said}");
            assert!(said.contains("batch_norm_by_part"), "{said}");
            assert!(!at.exists(), "{parted}");
        }
    }
    Ok(())
}

#[test]
fn vectors_are_read_by_the_threads_that_were_asked_for() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("glove.txt");
    std::fs::write(&file, "sea 1 2\nthee -1 0.5\n")?;
    let file = file.to_str().ok_or("a path of text")?;
    let bench = ["bench", "glove", file, "--rounds", "1", "--json"];
    for (threads, expected) in [("1", vec![1]), ("3", vec![1, 3])] {
        let measured = json(&run(&[&bench[..], &["--threads", threads]].concat())?)?;
        let readings = measured["readings"].as_array().ok_or("an array")?;
        let of_each = readings.iter().map(|reading| reading["n_threads"].as_u64());
        assert_eq!(of_each.collect::<Option<Vec<_>>>(), Some(expected));
    }
    Ok(())
}

#[test]
fn a_trial_that_fails_ends_the_search_as_it_ends_itself() -> Done {
    let sonnets = sonnets_file();
    let text = sonnets.to_str().ok_or("a path of text")?;
    // Any two chunks have more, and batch norm is not to see them in parts.
    let parted = ["--set", "training.max_tokens_at_once=3"];
    let ended = |how: &str| run(&[&["train", text, how][..], &SMALL, &parted].concat());
    let (trial, search) = (ended("--dry-run")?, ended("--find-batch")?);
    assert_eq!(trial.status.code(), Some(2));
    let said = String::from_utf8_lossy(&search.stderr);
    assert_eq!(search.status.code(), Some(2), "{said}");
    assert!(said.contains("the trial of a batch of 2 failed"), "{said}");
    Ok(())
}
