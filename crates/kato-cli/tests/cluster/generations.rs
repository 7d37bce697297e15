//! A plan that grows: generations with real processes.

use std::fs;

use crate::place::Place;

/// Learns, merges, seals and publishes the last generation.
fn work(place: &Place, tasks: u32, kb: &str) {
    for task in 0..tasks {
        place.succeeds(&format!("cluster learn --task {task} --workers 1"));
    }
    place.succeeds("cluster merge --all");
    place.succeeds("cluster seal --all");
    place.succeeds(&format!("cluster publish --kb {kb}"));
}

#[test]
fn a_plan_that_is_extended_ends_in_what_one_machine_learns_of_both() {
    let place = Place::new();
    place.add_corpus("more", 6..8);
    let levels = "--levels 4,3 --metadata --provenance";
    for (sources, kb) in [("corpus", "alone"), ("corpus more", "both-alone")] {
        place.succeeds(&format!(
            "train {sources} --kb {kb} {levels} --workers 1 --quiet"
        ));
    }
    place.succeeds(&format!(
        "cluster plan corpus {levels} --tasks 2 --ranges 2"
    ));
    work(&place, 2, "together");
    place.succeeds("cluster tag first");

    let extend = "cluster extend more --tasks 2";
    let planned = place.answer(extend);
    assert_eq!(
        (&planned["done"], &planned["generation"]),
        (&"now".into(), &1.into())
    );
    assert_eq!(place.answer(extend)["done"], "before");
    // As an extension that was cut off leaves it: nothing is done with it, and the same again mends it.
    fs::remove_file(place.path("plan/generations/0001/plan-digest.json")).unwrap();
    assert!(place.fails("cluster status", 1).contains("cut off"));
    assert_eq!(place.answer(extend)["done"], "before");
    // Readers have the published one until the next is; whoever works, works on the next.
    assert_eq!(
        place.answer("cluster status --generation newest")["generation"],
        0
    );
    let status = place.answer("cluster status");
    assert_eq!(
        (&status["generation"], &status["tasks_done"]),
        (&1.into(), &0.into())
    );
    assert!(
        place
            .fails("cluster publish --kb both", 4)
            .contains("tasks are not done")
    );
    place.succeeds("cluster publish --kb again --generation first");
    place.assert_equal_exports("alone", "again");

    work(&place, 2, "both");
    place.assert_equal_exports("alone", "together");
    place.assert_equal_exports("both-alone", "both");
    // Totals as well, and the position from which training goes on: nothing is left to learn.
    let inspected = |kb: &str| place.answer(&format!("inspect --kb {kb}"))["nodes"].clone();
    assert_eq!(inspected("both-alone"), inspected("both"));
    place.succeeds(&format!(
        "train corpus more --kb both {levels} --resume --workers 1 --quiet"
    ));
    place.assert_equal_exports("both-alone", "both");

    let difference = place.answer("cluster diff first newest");
    for level in difference["levels"].as_array().unwrap() {
        assert_eq!(level["only_left"], 0, "{difference}");
        assert!(level["right_learns"].as_u64() > level["left_learns"].as_u64());
    }
    assert!(
        difference["levels"][0]["changed"].as_u64() > Some(0),
        "{difference}"
    );
    // A name stays where it is, and a generation is also named by its digest.
    assert!(
        place
            .fails("cluster tag first", 6)
            .contains("generation 0 already")
    );
    place.succeeds("cluster tag first --generation 0");
    let status = place.answer("cluster status");
    let digest = status["generations"][0]["plan"].as_str().unwrap();
    assert_eq!(status["generations"][0]["tags"][0], "first");
    let line = format!("cluster publish --kb named --generation {}", &digest[..12]);
    place.succeeds(&line);
    place.assert_equal_exports("alone", "named");
    let said = place.fails("cluster publish --kb none --generation 7", 2);
    assert!(said.contains("7 names no generation"), "{said}");
    // How it is read is the plan's matter.
    let said = place.fails("cluster extend more --tasks 2 --field body", 2);
    assert!(said.contains("the plan says"), "{said}");
}
