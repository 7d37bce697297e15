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

/// Compresses less than a block of text as `zstd --long=28` does, and no smaller: its window is 256 MiB.
fn with_long_window(text: &[u8]) -> Vec<u8> {
    let block = u32::try_from(text.len()).unwrap() << 3 | 1;
    let head = [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3];
    [&head, &block.to_le_bytes()[..3], text].concat()
}

#[test]
fn whether_a_file_may_be_read_is_said_to_every_step_that_reads_it() {
    let place = Place::new();
    for corpus in ["corpus", "more"] {
        let text = fs::read(place.path("corpus/0.jsonl")).unwrap();
        fs::write(
            place.path(&format!("{corpus}.jsonl.zst")),
            with_long_window(&text),
        )
        .unwrap();
    }
    for step in [
        "plan corpus.jsonl.zst --levels 4,3 --tasks 1 --by-positions",
        "learn --task 0",
        "extend more.jsonl.zst --tasks 1 --by-positions",
        "learn --task 0",
    ] {
        let said = place.fails(&format!("cluster {step}"), 1);
        assert!(
            said.contains("allow it with --max-window"),
            "{step}: {said}"
        );
        place.succeeds(&format!("cluster {step} --max-window 256MiB"));
    }
    fs::write(place.path("blank.jsonl"), "{\"text\":\"\"}\n").unwrap();
    let extend = "cluster extend blank.jsonl --tasks 1 --by-positions --max-window 256MiB";
    let said = place.fails(extend, 1);
    assert!(said.contains("allow it with --allow-empty"), "{said}");
    place.succeeds(&format!("{extend} --allow-empty"));
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
