//! Comparison of disk figures with those of fio: on the same file, in turns, with large blocks in
//! the same pages of memory.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use kato_shared_memory::SharedMemory;
use kato_test_needs::{in_path, is_thorough, needed, pass_over};
use serde_json::Value;

use super::block_file::{BlockFile, LARGE};
use super::blocks::ALIGNMENT;
use super::disk::{random, sequential_read, sequential_write};
use crate::figure::{Measured, MeasurementMethod};
use crate::statistics::{percentiles, spread};
use crate::{Allowance, Cancellation};

const FILE: u64 = 256 << 20;

/// An access: fio's name for it, the size of its blocks, and the measurement to compare.
type Access = (
    &'static str,
    &'static str,
    fn(&Allowance, &mut BlockFile) -> Measured,
);

const ACCESSES: [Access; 4] = [
    ("write", "1M", |a, file| sequential_write(a, file).unwrap()),
    ("read", "1M", |a, file| sequential_read(a, file).unwrap()),
    ("randwrite", "4k", |a, file| {
        random(a, file, BlockFile::write).0
    }),
    ("randread", "4k", |a, file| {
        random(a, file, BlockFile::read).0
    }),
];

/// Returns the operations a second of one access by fio: one in flight, direct, for so many
/// seconds, in memory of its own unless some is given.
///
/// The first rate is that while an operation was in flight, the second includes what fio does
/// between operations: it takes some 25 µs to scramble a block of 1 MiB.
fn fio(
    path: &Path,
    access: &str,
    block: &str,
    memory: Option<&SharedMemory>,
    seconds: f64,
) -> (f64, f64) {
    let memory = memory.map(|memory| format!("--mem=mmapshared:{}", memory.path().display()));
    let output = Command::new("fio")
        .args(memory)
        .args([
            "--name=beside",
            "--ioengine=psync",
            "--iodepth=1",
            "--direct=1",
        ])
        .args([
            "--allow_file_create=0",
            "--fallocate=none",
            "--norandommap",
            "--thread",
        ])
        .args(["--time_based", "--output-format=json"])
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--size={FILE}"))
        .arg(format!("--rw={access}"))
        .arg(format!("--bs={block}"))
        .arg(format!("--runtime={}ms", seconds * 1000.0))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let start = text.find('{').unwrap_or_else(|| panic!("fio: {text}"));
    let answer: Value = serde_json::from_str(&text[start..]).unwrap();
    let side = if access.ends_with("write") {
        "write"
    } else {
        "read"
    };
    let found = &answer["jobs"][0][side];
    let nanos = found["clat_ns"]["mean"].as_f64().unwrap();
    (1e9 / nanos, found["iops"].as_f64().unwrap())
}

#[test]
fn disk_figures_are_those_of_fio() {
    if needed(in_path(&["fio"]), "no fio: install the package `fio`").is_none() {
        return;
    }
    if !is_thorough() {
        // Most of a minute, which is taken every night.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("blocks");
    let file = File::create_new(&path).unwrap();
    drop(file);
    let open = || File::options().read(true).write(true).open(&path).unwrap();
    let allowance =
        |seconds: f64| Allowance::new(Duration::from_secs_f64(seconds), &Cancellation::new());
    let mut ours = BlockFile::from_file(open(), 1).unwrap();
    if ours.method != MeasurementMethod::Direct {
        let place = dir.path().display();
        pass_over(&format!("no direct access in {place}: {}", ours.note));
        return;
    }
    ours.fill(&allowance(60.0), FILE).unwrap();
    assert_eq!(ours.len, FILE);
    // Long turns are for figures that are to be published.
    let is_long = std::env::var_os("KATO_FIO_LONG").is_some();
    let (pairs, seconds) = if is_long { (9, 2.0) } else { (5, 0.6) };
    for (access, block, measure) in ACCESSES {
        // What a disk does in a second with large blocks depends on where the blocks lie in memory,
        // by two fifths: a place is drawn for each pair of turns, and is the same for both.
        let place = || {
            let memory = SharedMemory::new(LARGE + ALIGNMENT).unwrap();
            (block == "1M").then_some(memory)
        };
        let mut once = |memory: Option<&SharedMemory>| {
            if let Some(memory) = memory {
                ours.use_memory(memory.map().unwrap());
            }
            let measured = measure(&allowance(seconds), &mut ours);
            let value = measured.known().unwrap().value;
            if block == "1M" {
                value * 1e6 / f64::from(1 << 20)
            } else {
                value
            }
        };
        let mut rates = Vec::new();
        // Other programs disturb: what differs is measured again, and all of it counts.
        for set in 1..=3 {
            for pair in 0..pairs {
                // Turns of the shape A B B A, so that a machine that slows down disturbs both
                // alike.
                let memory = place();
                let memory = memory.as_ref();
                let first = (pair % 2 == 0).then(|| once(memory));
                let theirs = fio(&path, access, block, memory, seconds);
                rates.push((first.unwrap_or_else(|| once(memory)), theirs.0, theirs.1));
            }
            let median = |of: &dyn Fn(&(f64, f64, f64)) -> f64| {
                let values: Vec<f64> = rates.iter().map(of).collect();
                (percentiles(&values).unwrap().p50, spread(&values).unwrap())
            };
            let [own, theirs, whole] = [
                median(&|pair| pair.0).0,
                median(&|pair| pair.1).0,
                median(&|pair| pair.2).0,
            ];
            let (ratio, spread) = median(&|pair| pair.0 / pair.1);
            // Twice the standard error of a median: beyond a tenth, only that is noise.
            let noise = 2.0 * 0.93 * spread / (rates.len() as f64).sqrt();
            println!(
                "{access} {block}: {own:.0}/s, fio {theirs:.0}/s ({whole:.0}/s), ratio {ratio:.3} ± {noise:.3}"
            );
            if (ratio - 1.0).abs() <= 0.1 {
                break;
            }
            assert!(
                set < 3 || (ratio - 1.0).abs() <= 0.1 + noise,
                "{access}: {rates:.0?}"
            );
        }
    }
}
