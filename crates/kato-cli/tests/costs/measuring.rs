//! The machine is measured in time, and nothing is left behind.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::Place;

#[test]
fn a_quick_analysis_takes_less_than_ten_seconds_and_leaves_nothing_behind() {
    let place = Place::new(1);
    let before = entries(&place);
    let start = Instant::now();
    let analysis = place.json_of("hardware", &["--quick", "--json", "--quiet"]);
    let took = start.elapsed();
    // On top of the analysis the program starts and ends.
    assert!(took < Duration::from_secs(11), "{took:?}");
    assert!(analysis["seconds"].as_f64().unwrap() < 10.0);
    assert_eq!(entries(&place), before);

    let benchmarks = &analysis["benchmarks"];
    assert!(
        benchmarks["naming"]["tokens_one_core"]["value"]
            .as_f64()
            .unwrap()
            > 0.0,
        "{benchmarks}"
    );
    // Services that were not named are unknown, with what to do, and no number.
    let unknown = serde_json::to_string(&benchmarks["mongodb"]).unwrap();
    assert!(unknown.contains("no MongoDB was named"), "{unknown}");
    assert!(!unknown.contains("\"value\""), "{unknown}");
    let predictions = analysis["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), 1);
    assert_ne!(predictions[0]["samples_per_second"], Value::Null);
}

#[test]
fn a_directory_that_is_not_there_is_refused_by_its_option() {
    let place = Place::new(1);
    let told = place.refusal("hardware", &["--directory", "nowhere", "--quiet"], 2);
    assert!(told.starts_with("error: --directory nowhere: "), "{told}");
}

#[test]
fn a_service_without_an_address_is_refused_by_its_option_before_anything_is_measured() {
    let place = Place::new(1);
    for (option, expected) in [
        ("--server", "--server is no address: give http://host:port"),
        (
            "--mongodb",
            "--mongodb is no address: give mongodb://host:port",
        ),
    ] {
        let told = place.refusal("hardware", &[option, "nonsense", "--quiet"], 2);
        assert_eq!(told.trim_end(), format!("error: {expected}"));
    }
}

#[test]
fn services_that_are_down_are_unknown_and_the_rest_is_measured() {
    let place = Place::new(1);
    let nobody = [
        "--mongodb",
        "mongodb://127.0.0.1:9",
        "--server",
        "http://127.0.0.1:9",
    ];
    let arguments = [&["--quick", "--json", "--quiet"], &nobody[..]].concat();
    let analysis = place.json_of("hardware", &arguments);
    for service in ["mongodb", "kato"] {
        let found = serde_json::to_string(&analysis["benchmarks"][service]).unwrap();
        assert!(
            found.contains("\"unknown\"") && !found.contains("\"value\""),
            "{found}"
        );
    }
    assert_eq!(analysis["predictions"].as_array().unwrap().len(), 3);
    assert!(analysis["benchmarks"]["decoding"]["value"].is_number());
}

fn entries(place: &Place) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(place.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
