//! A record that cannot be read: named, listed, and never left out.

use std::fs::OpenOptions;
use std::io::Write as _;

use crate::place::Place;

#[test]
fn the_task_of_a_bad_record_is_listed_and_refused_until_it_is_given_up() {
    let place = Place::new();
    let mut file = OpenOptions::new();
    let file = file.append(true).open(place.path("corpus/4.jsonl"));
    writeln!(file.unwrap(), "{{\"text\": \"never closed").unwrap();
    place.succeeds("cluster plan corpus --levels 4,3 --tasks 3");
    let is_bad = |task: &u32| {
        let line = format!("cluster learn --task {task} --workers 1");
        !place.run(&line).status.success()
    };
    let bad: Vec<u32> = (0..3).filter(is_bad).collect();
    let [bad] = bad.as_slice() else {
        panic!("one record is bad, and these tasks failed: {bad:?}");
    };
    let line = format!("cluster learn --task {bad} --workers 1");
    for attempts in 2..=3 {
        let said = place.fails(&line, 1);
        assert!(said.contains("4.jsonl") && said.contains("byte"), "{said}");
        // Of a task no record is left out, so nobody is told to.
        assert!(!said.contains("--on-bad"), "{said}");
        let listed = format!("task {bad} failed {attempts} times");
        for line in [
            "cluster status",
            "cluster merge --all",
            "cluster publish --kb kb",
        ] {
            let said = match line {
                "cluster status" => place.succeeds(line),
                _ => place.fails(line, 1),
            };
            assert!(
                said.contains(&listed) && said.contains("4.jsonl"),
                "{line}: {said}"
            );
        }
    }
    let status = place.answer("cluster status");
    assert_eq!(status["tasks_failed"], 1);
    assert_eq!(status["failures"][0]["given_up"], true);
    assert!(
        place
            .fails("cluster merge --all", 1)
            .contains("nothing is left out")
    );
    // No option leaves it out.
    for option in ["--on-bad skip", "--max-rows 3", "--skip 1"] {
        let said = place.fails(&format!("{line} {option}"), 2);
        assert!(said.contains("all of its records"), "{said}");
    }
}
