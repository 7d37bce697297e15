//! The recommendation of the Python original, a formula over a rate that nobody has measured,
//! against ours: the same prices, and another answer where it is wrong.

use kato_planner::{Catalogue, Interval, Requirements, RunCosts, recommend};

/// Sizes and prices of the original.
const MEMORY_GB: [f64; 6] = [16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
const STORAGE_GB: [f64; 5] = [500.0, 1000.0, 2000.0, 4000.0, 8000.0];
const MEMORY_USD_A_GB: f64 = 5.0;
const STORAGE_USD_A_GB: f64 = 0.10;
const REST_USD: f64 = 500.0;

/// Samples a second of four cores: the original takes 44, and 0.45 of that for a slow machine.
const SLOW: f64 = 44.0 * 0.45;

#[derive(Debug, PartialEq)]
struct Answer {
    cores: u64,
    memory_gb: f64,
    storage_gb: f64,
    processor: String,
    processor_cores: u64,
    usd: f64,
    hours: f64,
}

/// Recommends as the original does, with the processors of our catalogue.
fn original(samples: f64, hours: f64, baseline: f64) -> Answer {
    let times = samples / (hours * 3600.0) / baseline;
    let cores = match times {
        ..=1.0 => 4.0,
        ..=4.0 => (4.0 * times).floor(),
        ..=8.0 => 16.0 + (4.0 * (times - 4.0)).floor(),
        _ => 32.0 + (2.0 * (times - 8.0)).floor(),
    };
    let at_least =
        |wanted: f64, sizes: &[f64]| *sizes.iter().find(|size| **size >= wanted).unwrap();
    let memory_gb = at_least(2.0 + 0.1 * cores + samples / 1e6, &MEMORY_GB);
    // 10 GB a million samples.
    let storage_gb = at_least(samples / 1e5, &STORAGE_GB);
    let mut processors = Catalogue::builtin().processors;
    processors.sort_by(|a, b| a.usd.total_cmp(&b.usd));
    let enough = processors.iter().find(|p| p.cores as f64 >= cores);
    let largest = processors.iter().max_by_key(|p| p.cores);
    let processor = enough.or(largest).unwrap();
    Answer {
        cores: cores as u64,
        memory_gb,
        storage_gb,
        processor: processor.name.clone(),
        processor_cores: processor.cores,
        usd: processor.usd + memory_gb * MEMORY_USD_A_GB + storage_gb * STORAGE_USD_A_GB + REST_USD,
        hours: samples / (baseline * processor.cores as f64 / 4.0) / 3600.0,
    }
}

#[test]
fn the_catalogue_has_the_processors_and_prices_of_the_original() {
    // Recorded from the original: 100 million samples in 48 hours on a slow machine.
    let answer = original(100e6, 48.0, SLOW);
    assert_eq!((answer.hours * 10.0).round() / 10.0, 87.7);
    let recorded = Answer {
        cores: 74,
        memory_gb: 128.0,
        storage_gb: 1000.0,
        processor: "AMD EPYC 7763".to_owned(),
        processor_cores: 64,
        usd: 8440.0,
        hours: answer.hours,
    };
    assert_eq!(answer, recorded);
}

#[test]
fn where_the_original_recommends_a_machine_that_is_too_slow_ours_says_that_none_does_it() {
    let (samples, hours) = (100e6, 48.0);
    let theirs = original(samples, hours, SLOW);
    assert!(theirs.hours > 1.5 * hours, "its own figures say so");
    // The same work as costs: core seconds at the rate that it takes for a core.
    let core_seconds = Interval::exact(samples / (SLOW / 4.0));
    let costs = RunCosts::new(core_seconds, Interval::exact(samples * 1e4));
    let catalogue = Catalogue::builtin();
    let wanted = Requirements::new().with_hours(hours);
    let ours = recommend(&costs, &wanted, &catalogue).unwrap();
    let same = ours
        .options
        .iter()
        .find(|option| option.machine.contains(&theirs.processor));
    let same = same.unwrap();
    // It takes about as long here too: threads count a little less than cores of their own.
    assert!(
        (0.6..2.0).contains(&(same.hours.value / theirs.hours)),
        "{same:?}"
    );
    assert!(!same.shortfalls.is_empty(), "{same:?}");
}
