//! The check of table and tree: every finding at once, and what options do about it.

use kato_unifrac::check::{FindingKind, Severity};
use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Table, Tree, check};

fn table(text: &str) -> Table {
    Table::from_classic(text).unwrap()
}

#[test]
fn everything_is_found_at_once() {
    let table = Table::from_entries(
        ["a", "a", "b c", "x", "neg"].map(str::to_owned).to_vec(),
        ["s", "s", "empty", "gone", "bad", "nan"]
            .map(str::to_owned)
            .to_vec(),
        [
            (0, 0, 1.0),
            (1, 1, 1.0),
            (3, 3, 2.0),
            (4, 4, -1.0),
            (2, 5, f64::NAN),
        ],
    )
    .unwrap();
    let tree = Tree::from_newick("(a:1,b_c,neg:-1,(d:1,d:1,d:1):2,:1):3;(a,b);").unwrap();
    assert_eq!(
        check(&table, &tree).to_string(),
        "1 name stands at several tips: `d`: rename or prune them in the tree\n\
         1 name stands at several features: `a`: rename them, or add them up\n\
         1 name stands at several samples: `s`: rename them, or add them up\n\
         2 samples have negative or infinite counts: `bad`, `nan`: correct them, or take the samples \
         out\n\
         1 tree follows the first in the file: keep one of them\n\
         2 features of the table are no tips of the tree: `b c`, `x`: name the tree that the table was \
         made with, or leave them out with `without_unknown_features`\n\
         1 branch has no length: `b_c`: give lengths, or count these as zero with \
         `with_absent_lengths_as_zero`\n\
         1 branch has a negative length: `neg`: correct them, or count these as zero with \
         `with_negative_lengths_as_zero`\n\
         1 sample holds nothing: `empty`: take them out of the table, or leave them out with \
         `without_empty_samples`\n\
         2 samples hold no tip of the tree: `gone`, `nan`: take them out of the table, or leave them \
         out with `without_empty_samples`\n\
         note, 1 of these features is a tip if `_` in the tree means a space: `b c`: read the tree \
         `with_underscores_as_spaces`\n\
         note, 1 root has a length above it: it does not count\n\
         note, 1 root has three children or more, as unrooted trees have: if nobody chose the root, \
         choose it first\n\
         note, 1 tip has no name: they match nothing and change nothing\n\
         note, 4 tips of the tree are no features of the table: `b_c`, `d`, `d`, `d`: they change \
         nothing"
    );
}

#[test]
fn ten_names_are_shown_of_many() {
    let lines: String = (0..25).map(|i| format!("f{i}\t1\n")).collect();
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    let check = check(&table(&format!("#OTU ID\ts\n{lines}")), &tree);
    let finding = check.finding(FindingKind::UnknownFeatures).unwrap();
    assert_eq!((finding.n, finding.examples.len()), (25, 10));
    assert!(
        finding.to_string().contains("`f9` and 15 more: "),
        "{finding}"
    );
    assert_eq!(
        (
            check.n_samples,
            check.n_features,
            check.n_tips,
            check.n_matched
        ),
        (1, 25, 2, 0)
    );
}

#[test]
fn a_fit_finds_nothing() {
    let tree = Tree::from_newick("(a:1,b:2);").unwrap();
    let check = check(&table("#OTU ID\ts\na\t1\nb\t1\n"), &tree);
    assert_eq!((check.to_string().as_str(), check.findings.len()), ("", 0));
}

#[test]
fn each_choice_is_refused_until_its_option_is_given() {
    let sound = "#OTU ID\ts\tt\na\t1\t0\nb\t1\t2\n";
    let lacks = MatchOptions::default();
    for (newick, text, kind, options) in [
        (
            "(a:1,c:1);",
            sound,
            FindingKind::UnknownFeatures,
            lacks.without_unknown_features(),
        ),
        (
            "(a:1,b);",
            sound,
            FindingKind::AbsentLengths,
            lacks.with_absent_lengths_as_zero(),
        ),
        (
            "(a:1,b:-1);",
            sound,
            FindingKind::NegativeLengths,
            lacks.with_negative_lengths_as_zero(),
        ),
        (
            "(a:1,b:1);",
            "#OTU ID\ts\tt\na\t1\t0\n",
            FindingKind::EmptySamples,
            lacks.without_empty_samples(),
        ),
    ] {
        let (table, tree) = (table(text), Tree::from_newick(newick).unwrap());
        assert_eq!(kind.severity(), Severity::Choice);
        let refusal = Community::new(&table, &tree, lacks)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains(&check(&table, &tree).finding(kind).unwrap().to_string()));
        // What unknown features leave empty is left out with them.
        let options = if kind == FindingKind::UnknownFeatures {
            assert!(Community::new(&table, &tree, options).is_err());
            options.without_empty_samples()
        } else {
            options
        };
        let community = Community::new(&table, &tree, options).unwrap();
        for metric in super::distances::METRICS {
            let distances = community
                .distances(metric, ComputeOptions::default())
                .unwrap();
            assert!(
                distances
                    .condensed()
                    .iter()
                    .all(|distance| distance.is_finite())
            );
        }
        let n_left_out = community.left_out().samples.len();
        assert_eq!(community.n_samples() + n_left_out, table.n_samples());
    }
}

#[test]
fn no_option_passes_over_a_fault() {
    let all = MatchOptions::default()
        .without_unknown_features()
        .without_empty_samples()
        .with_absent_lengths_as_zero()
        .with_negative_lengths_as_zero();
    let sound = "#OTU ID\ts\na\t1\nb\t1\n";
    for (newick, text) in [
        ("(a:1,a:1,b:1);", sound),
        ("(a:1,b:1);", "#OTU ID\ts\na\t1\na\t1\n"),
        ("(a:1,b:1);", "#OTU ID\ts\ts\na\t1\t1\n"),
        ("(a:1,b:1);", "#OTU ID\ts\na\t-1\nb\t2\n"),
        ("(a:1,b:1);", "#OTU ID\ts\na\tinf\n"),
        ("(a:1,b:1);", "#OTU ID\ts\na\tNaN\n"),
        ("(a:1,b:1);", "#OTU ID\ts\na\t1e308\nb\t1e308\n"),
        ("(a:1e308,b:1e308);", sound),
        ("(a:1,b:1);(a:1,b:1);", sound),
    ] {
        let tree = Tree::from_newick(newick).unwrap();
        assert!(
            Community::new(&table(text), &tree, all).is_err(),
            "{newick} {text}"
        );
    }
}

#[test]
fn what_is_left_out_is_listed_and_does_not_count() {
    let table = table("#OTU ID\ts\tt\tu\na\t1\t0\t1\nb\t1\t0\t3\nx\t6\t2\t0\n");
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    let options = MatchOptions::default()
        .without_unknown_features()
        .without_empty_samples();
    let community = Community::new(&table, &tree, options).unwrap();
    let left_out = community.left_out();
    assert_eq!(
        (&left_out.features[..], left_out.count),
        (&["x".to_owned()][..], 8.0)
    );
    assert_eq!(
        (&left_out.samples[..], community.sample_ids().len()),
        (&["t".to_owned()][..], 2)
    );
    // Half and half against one quarter and three.
    let distances = community
        .distances(Metric::Weighted, ComputeOptions::default())
        .unwrap();
    assert_eq!(distances.get(0, 1), 0.5);
}
