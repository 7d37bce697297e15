//! What people see.

use crate::programs::Workplace;

/// The overview without what differs from machine to machine: the size on the disk.
fn without_sizes(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match line.split_once("storage    ") {
            Some((indent, _)) => format!("{indent}storage    [size]\n"),
            None => format!("{line}\n"),
        });
    lines.collect()
}

#[test]
fn the_overview_tells_the_run_the_nodes_and_their_most_frequent_patterns() {
    let place = Workplace::trained();
    insta::assert_snapshot!("overview", without_sizes(&place.inspect(&["--kb", "kb"])));
    insta::assert_snapshot!(
        "overview_of_one_node",
        without_sizes(&place.inspect(&["--kb", "kb", "--node", "node2", "--limit", "2"]))
    );
}

#[test]
fn an_empty_knowledge_base_is_told_to_be_empty() {
    let place = Workplace::new();
    place.train("empty.txt", "kb");
    insta::assert_snapshot!(
        "overview_of_nothing",
        without_sizes(&place.inspect(&["--kb", "kb"]))
    );
    insta::assert_snapshot!(
        "histogram_of_nothing",
        place.inspect(&["--kb", "kb", "--histogram"])
    );
}

#[test]
fn the_histogram_is_a_picture() {
    let place = Workplace::trained();
    insta::assert_snapshot!("histogram", place.inspect(&["--kb", "kb", "--histogram"]));
}

#[test]
fn a_pattern_is_traced_down_to_its_tokens() {
    let place = Workplace::trained();
    let overview = place.inspect_json(&["--kb", "kb"]);
    let name = overview["nodes"][2]["top"][0]["name"].as_str().unwrap();
    let tree = place.inspect(&["--kb", "kb", "--pattern", name]);
    insta::assert_snapshot!("pattern", tree);
    // With the prefix that symbols have, and by its first digits.
    assert_eq!(
        place.inspect(&["--kb", "kb", "--pattern", &format!("PTRN|{name}")]),
        tree
    );
    assert_eq!(
        place.inspect(&["--kb", "kb", "--pattern", &name[..12]]),
        tree
    );
    // The node is a preference, and no filter; standard error says where another one has it.
    for typed in [name, &name[..12]] {
        let told = format!("node0 has no pattern {typed}: this is that of node2\n");
        for (node, said) in [("node0", told.as_str()), ("node2", "")] {
            let arguments = ["--kb", "kb", "--node", node, "--pattern", typed];
            let output = place.run("inspect", &arguments);
            assert_eq!(String::from_utf8(output.stdout).unwrap(), tree);
            assert_eq!(String::from_utf8(output.stderr).unwrap(), said, "{node}");
        }
    }

    let name = overview["nodes"][0]["top"][0]["name"].as_str().unwrap();
    insta::assert_snapshot!(
        "lowest_pattern",
        place.inspect(&["--kb", "kb", "--pattern", name])
    );
}

#[test]
fn patterns_that_no_node_holds_are_shown_as_unknown() {
    let place = Workplace::trained();
    place.train("empty.txt", "partial");
    place.inspect(&["--kb", "kb", "--node", "node1", "--export", "node1.jsonl"]);
    place.inspect(&[
        "--kb",
        "partial",
        "--node",
        "node1",
        "--import",
        "node1.jsonl",
    ]);
    let top = &place.inspect_json(&["--kb", "partial"])["nodes"][1]["top"][0];
    insta::assert_snapshot!(
        "unknown",
        place.inspect(&[
            "--kb",
            "partial",
            "--pattern",
            top["name"].as_str().unwrap()
        ])
    );
}

#[test]
fn exports_and_imports_are_counted() {
    let place = Workplace::trained();
    place.train("empty.txt", "copy");
    let exported = place.inspect(&["--kb", "kb", "--node", "node1", "--export", "n.jsonl"]);
    assert_eq!(exported, "120 patterns of node1 written to n.jsonl\n");
    let import = || place.inspect(&["--kb", "copy", "--node", "node1", "--import", "n.jsonl"]);
    assert_eq!(
        import(),
        "120 patterns added to node1, 120 of them new; 244 learn calls\n"
    );
    assert_eq!(
        import(),
        "120 patterns added to node1, 0 of them new; 244 learn calls\n"
    );
}
