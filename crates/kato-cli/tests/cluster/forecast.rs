//! `kato cluster forecast`: what a run on many machines would take.

use std::process::Output;

use serde_json::Value;

use crate::program::kato;

fn forecast(arguments: &[&str]) -> Output {
    let mut command = kato("cluster");
    command.arg("forecast").args(arguments).output().unwrap()
}

#[test]
fn a_forecast_needs_no_plan_and_is_the_same_again() {
    let ask = || forecast(&["--text", "1TB", "--workers", "10,100", "--json"]);
    let output = ask();
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(number("seconds") > 0.0 && number("usd") > 0.0);
        // Each range is a segment, and its symbols are numbers of 32 bits.
        assert!(number("most_symbols_a_range") < 4_294_967_295.0);
    }
    assert!(rows[1]["seconds"].as_f64() < rows[0]["seconds"].as_f64());
    assert_eq!(ask().stdout, output.stdout);
    let text = String::from_utf8(forecast(&["--text", "1TB"]).stdout).unwrap();
    assert!(text.contains("no cluster of this size was tried"), "{text}");
}

#[test]
fn what_no_run_has_is_an_error() {
    for wrong in [
        ["--threads", "0"],
        ["--machines", "0"],
        ["--learn-rate", "0"],
        ["--network", "0"],
        ["--deaths", "nan"],
    ] {
        let output = forecast(&[&["--text-size", "1GB"], &wrong[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(wrong[0]), "{told}");
    }
}
