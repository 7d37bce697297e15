//! `bench items`: what each item of the optimisation plan does to speed, memory and result.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use kato_neural::program::{CommandFailure, say, say_json, tell};
use kato_neural::run::{Signals, output_unless_interrupted};
use kato_report::figures::median;
use serde::Serialize;
use serde_json::Value;

use super::cli::BenchItemsArguments;

/// Arguments that switch an item, and what it is called.
const ITEMS: [(&str, &[&str]); 15] = [
    ("all defaults", &[]),
    ("bf16 products", &["--precision", "bf16"]),
    ("operation by operation", &["--set", "training.fused=false"]),
    (
        "operation by operation, all results kept",
        &[
            "--set",
            "training.fused=false",
            "--set",
            "training.recompute=false",
        ],
    ),
    (
        "attention that keeps all probabilities",
        &["--set", "training.attention=plain"],
    ),
    ("no worker", &["--set", "training.workers=0"]),
    ("four workers", &["--set", "training.workers=4"]),
    ("two replicas", &["--replicas", "2"]),
    (
        "two replicas as processes",
        &["--replicas", "2", "--processes"],
    ),
    (
        "two replicas, the state divided",
        &["--replicas", "2", "--sharded"],
    ),
    (
        "the same as processes, checkpoints in shares",
        &[
            "--replicas",
            "2",
            "--processes",
            "--sharded",
            "--set",
            "training.sharded_checkpoints=true",
        ],
    ),
    ("2,000 tokens at once", &["--max-tokens-at-once", "2000"]),
    (
        "steps of two batches of half the size",
        &[
            "--set",
            "training.accumulate=2",
            "--set",
            "training.batch=4",
        ],
    ),
    ("sequences in chunks of 16", &["--set", "model.chunk=16"]),
    ("no cache", &["--no-cache"]),
];

/// One training of an item.
#[derive(Debug, Clone, Copy, Serialize)]
struct Round {
    tokens_a_second: f64,
    tokens_a_processor_second: f64,
    peak_mib: f64,
    wait_share: f64,
    /// Seconds of the process that were neither training nor judging epochs.
    other_s: f64,
    r2: f64,
}

/// An item with its trainings.
#[derive(Debug, Serialize)]
struct Item {
    name: &'static str,
    arguments: &'static [&'static str],
    rounds: Vec<Round>,
}

/// Pre-trains with the arguments of each item, in turns, each in a process of its own.
pub(crate) fn items(
    arguments: &BenchItemsArguments,
    signals: &Signals,
) -> Result<(), CommandFailure> {
    // A signal ends the process that is at work first, which would go on without this one.
    let interrupt = signals.begin_training();
    let folder = tempfile::tempdir()?;
    let [samples, sequences] = [arguments.samples, arguments.sequences].map(|n| n.to_string());
    let made = [
        "synth",
        "--out",
        "c",
        "--depth",
        "1000",
        "--length",
        "60",
        "--samples",
        &samples,
        "--sequences",
        &sequences,
        "--json",
    ];
    child(folder.path(), &made, interrupt)?;
    let mut items: Vec<Item> = ITEMS
        .iter()
        .map(|&(name, arguments)| Item {
            name,
            arguments,
            rounds: Vec::new(),
        })
        .collect();
    let before = load();
    for round in 0..arguments.rounds {
        // In turns, so that what else the machine does is shared by all.
        for (at, item) in items.iter_mut().enumerate() {
            let which = (at, round);
            let found = train(
                folder.path(),
                item.arguments,
                which,
                arguments.epochs,
                interrupt,
            )?;
            tell(format_args!(
                "round {}: {}: {:.0} tokens a second, R² {:.3}",
                round + 1,
                item.name,
                found.tokens_a_second,
                found.r2
            ));
            item.rounds.push(found);
        }
    }
    if arguments.output.json {
        return say_json(&serde_json::json!({
            "items": items, "load_before": before, "load_after": load(),
        }));
    }
    say(table(&items))?;
    say(format_args!(
        "\nMedian, and lowest to highest of {} rounds; load {} before and {} after.",
        arguments.rounds,
        before.as_deref().unwrap_or("unknown"),
        load().as_deref().unwrap_or("unknown")
    ))
}

/// Pre-trains once.
fn train(
    folder: &Path,
    item: &[&str],
    (at, round): (usize, u16),
    epochs: u64,
    interrupt: &AtomicBool,
) -> Result<Round, CommandFailure> {
    let (out, seed) = (
        format!("run-{at}-{round}"),
        format!("training.seed={round}"),
    );
    let epochs = epochs.to_string();
    let mut arguments = vec![
        "pretrain",
        "c/table.biom",
        "--tree",
        "c/tree.nwk",
        "--depth",
        "1000",
        "--max-bp",
        "60",
        "--width",
        "32",
        "--rate",
        "0.003",
        "--batch",
        "8",
        "--epochs",
        &epochs,
        "--set",
        "model.nucleotide_layers=2",
        "--set",
        "model.sample_layers=2",
        "--set",
        "loss.unifrac=30",
        "--set",
        "loss.nucleotides=0.1",
        "--set",
        "training.patience=1000",
        "--out",
        &out,
        "--set",
        &seed,
        "--json",
    ];
    if !item.contains(&"--no-cache") {
        arguments.extend(["--cache", "cache"]);
    }
    arguments.extend(item);
    let begun = Instant::now();
    let outcome = child(folder, &arguments, interrupt)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let history = std::fs::read_to_string(folder.join(&out).join("history.jsonl"))?;
    let (mut n_tokens, mut train_s, mut waited_s, mut judge_s) = (0.0, 0.0, 0.0, 0.0);
    for line in history.lines() {
        let epoch: Value = serde_json::from_str(line).map_err(std::io::Error::from)?;
        let number = |name: &str| epoch[name].as_f64().unwrap_or(0.0);
        n_tokens += number("n_tokens");
        train_s += number("train_s");
        waited_s += number("train_s") * number("wait_share");
        judge_s += number("judge_s");
    }
    let scores = outcome["test"].as_array();
    let r2 = scores.and_then(|scores| scores.iter().find(|score| score["name"] == "r2"));
    let number = |name: &str| outcome[name].as_f64().unwrap_or(f64::NAN);
    Ok(Round {
        tokens_a_second: n_tokens / train_s,
        tokens_a_processor_second: n_tokens / number("processor_s"),
        peak_mib: number("peak_bytes") / f64::from(1 << 20),
        wait_share: waited_s / train_s,
        other_s: wall_s - train_s - judge_s,
        r2: r2
            .and_then(|score| score["value"].as_f64())
            .unwrap_or(f64::NAN),
    })
}

/// Runs this program and returns what it prints as JSON.
fn child(
    folder: &Path,
    arguments: &[&str],
    interrupt: &AtomicBool,
) -> Result<Value, CommandFailure> {
    // As many as were asked for, which this process does not compute with.
    let n_threads = rayon::current_num_threads().to_string();
    let mut program = Command::new(std::env::current_exe()?);
    program
        .current_dir(folder)
        .args(arguments)
        .args(["--threads", &n_threads]);
    let output = output_unless_interrupted(&mut program, interrupt)?;
    let output = output.ok_or(CommandFailure::Interrupted)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let text = format!("`{}` failed: {}", arguments.join(" "), said.trim());
        return Err(CommandFailure::Usage(text));
    }
    Ok(serde_json::from_slice(&output.stdout).map_err(std::io::Error::from)?)
}

/// Returns the table of the documentation, in Markdown.
fn table(items: &[Item]) -> String {
    let mut text = "| item, alone | tokens a second | a processor second | at most resident, MiB | waiting for data | other s | R² of held-out distances |\n|---|---|---|---|---|---|---|".to_owned();
    for item in items {
        let column = |of: fn(&Round) -> f64, digits| spread(&item.rounds, of, digits);
        let cells = [
            column(|round| round.tokens_a_second, 0),
            column(|round| round.tokens_a_processor_second, 0),
            column(|round| round.peak_mib, 0),
            column(|round| 100.0 * round.wait_share, 1) + " %",
            column(|round| round.other_s, 1),
            column(|round| round.r2, 3),
        ];
        text.push_str(&format!("\n| {} | {} |", item.name, cells.join(" | ")));
    }
    text
}

/// Returns the median of a figure, and its range where there are several rounds.
fn spread(rounds: &[Round], of: fn(&Round) -> f64, digits: usize) -> String {
    let mut values: Vec<f64> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let median = median(values.iter().copied()).unwrap_or(f64::NAN);
    match values[..] {
        [lowest, .., highest] => {
            format!("{median:.digits$} ({lowest:.digits$} to {highest:.digits$})")
        }
        _ => format!("{median:.digits$}"),
    }
}

/// Returns the load of the machine over the last minute.
fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    Some(text.split_whitespace().next()?.to_owned())
}
