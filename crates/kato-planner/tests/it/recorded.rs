//! The original's recorded runs: each predicted from the others, and runs of ten times the size
//! from the small ones.

use kato_planner::{LearnCallModel, PlanError, RecordedRun};
use serde_json::Value;

const RECORDED: &str = include_str!("../data/recorded-runs.jsonl");

fn recorded() -> Vec<(String, RecordedRun)> {
    let runs = RECORDED.lines().map(|line| {
        let run: Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| run[name].as_f64().unwrap();
        let record = RecordedRun::new(number("samples"), number("learns"), number("seconds"));
        let record = record.with_batch_size(number("batch_size"));
        (run["chunk_sizes"].to_string(), record)
    });
    runs.collect()
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64
}

/// Prints a table of one row; `docs/costs.md` has all three.
#[expect(clippy::print_stdout, reason = "docs/costs.md is written by it")]
fn tell(predicted: &str, errors: &[f64], what_else: &str) {
    println!("\n| predicted | mean error | what else |\n|---|--:|---|");
    println!(
        "| {predicted} | {:.1} % | {what_else} |",
        100.0 * mean(errors)
    );
}

#[test]
fn every_run_is_predicted_from_the_others() {
    let runs: Vec<RecordedRun> = recorded().into_iter().map(|(_, run)| run).collect();
    let errors = LearnCallModel::leave_one_out(&runs);
    assert_eq!(errors.len(), 23);
    let worst = errors
        .iter()
        .fold(0.0_f64, |worst, error| worst.max(error.abs()));
    tell(
        "each run from the 22 others",
        &errors,
        &format!("worst {:.1} %", 100.0 * worst),
    );
    // The original's own estimator is 24.6 % off, a constant rate of learn calls 9.7 %.
    assert!(mean(&errors) <= 0.06, "{errors:?}");
}

#[test]
fn every_configuration_is_predicted_from_the_others() {
    // Repeats of a configuration would make leaving one run out too easy.
    let runs = recorded();
    let mut errors = Vec::new();
    let mut covered = 0;
    let configurations: std::collections::BTreeSet<&String> =
        runs.iter().map(|(sizes, _)| sizes).collect();
    for sizes in configurations {
        let others: Vec<RecordedRun> = runs
            .iter()
            .filter(|(other, _)| other != sizes)
            .map(|(_, run)| *run)
            .collect();
        let model = LearnCallModel::fit(&others).unwrap();
        for (_, run) in runs.iter().filter(|(other, _)| other == sizes) {
            let predicted = model
                .predict(run.samples, run.learns, run.batch_size)
                .unwrap();
            errors.push(predicted.value / run.seconds - 1.0);
            covered += usize::from(predicted.covers(run.seconds));
        }
    }
    tell(
        "each configuration from the others",
        &errors,
        &format!("{covered} of {} within their intervals", errors.len()),
    );
    assert_eq!(errors.len(), 23);
    assert!(mean(&errors) <= 0.06);
    assert!(covered >= 20, "{covered}");
}

#[test]
fn runs_of_ten_times_the_size_are_predicted_from_the_small_ones() {
    let runs = recorded();
    let small: Vec<RecordedRun> = runs
        .iter()
        .map(|(_, run)| *run)
        .filter(|run| run.samples <= 100.0)
        .collect();
    assert_eq!(small.len(), 8);
    let model = LearnCallModel::fit(&small).unwrap();
    // No small run was made with another batch size, so nothing is known of that.
    let large = runs.iter().map(|(_, run)| run);
    let large = large.filter(|run| run.samples > 100.0 && run.batch_size == 50.0);
    let errors: Vec<f64> = large
        .map(|run| {
            let predicted = model
                .predict(run.samples, run.learns, run.batch_size)
                .unwrap();
            predicted.value / run.seconds - 1.0
        })
        .collect();
    tell("10 runs of 1,000 documents from the 8 of 100", &errors, "");
    assert_eq!(errors.len(), 10);
    assert!(mean(&errors) <= 0.06, "{errors:?}");
}

#[test]
fn ten_times_the_samples_take_ten_times_as_long() {
    let runs: Vec<RecordedRun> = recorded().into_iter().map(|(_, run)| run).collect();
    let model = LearnCallModel::fit(&runs).unwrap();
    let (small, large) = (
        model.predict(1e3, 4e4, 50.0).unwrap(),
        model.predict(1e4, 4e5, 50.0).unwrap(),
    );
    assert!((large.value / small.value - 10.0).abs() < 1e-9);
    assert!(small.low < small.value && small.value < small.high);
}

#[test]
fn too_few_and_impossible_runs_are_refused() {
    let run = RecordedRun::new(100.0, 4_000.0, 50.0);
    assert!(matches!(
        LearnCallModel::fit(&[run, run]),
        Err(PlanError::TooLittle { .. })
    ));
    // Three times the same: a rate, and nothing more.
    assert!(LearnCallModel::fit(&[run; 3]).is_ok());
    let impossible = RecordedRun::new(0.0, 1.0, 1.0);
    assert!(matches!(
        LearnCallModel::fit(&[impossible; 5]),
        Err(PlanError::Value { .. })
    ));
    assert!(LearnCallModel::leave_one_out(&[run]).is_empty());
}
