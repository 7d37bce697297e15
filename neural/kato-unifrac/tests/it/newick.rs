//! Newick texts: what is read, and what is said of what is not.

use kato_unifrac::Tree;
use kato_unifrac::newick::{NewickOptions, parse};
use proptest::prelude::*;

use super::oracle::cases;

/// Writes a tree as the reader numbers it: label, length and parent of each node.
fn shown(text: &str) -> Vec<String> {
    let tree = Tree::from_newick(text).unwrap();
    (0..tree.n_nodes())
        .map(|node| {
            let length = tree
                .length(node)
                .map_or("-".to_owned(), |length| length.to_string());
            let parent = tree
                .parent(node)
                .map_or("-".to_owned(), |parent| parent.to_string());
            format!("{} {length} {parent}", tree.label(node))
        })
        .collect()
}

#[test]
fn what_the_format_has() {
    for (text, nodes) in [
        ("(a:1,b:2e-1);", &["a 1 2", "b 0.2 2", " - -"][..]),
        // Inner labels, lengths of the root, single children, a tree that is one tip.
        ("((a)x:3)y:4;", &["a - 1", "x 3 2", "y 4 -"]),
        ("a;", &["a - -"]),
        // White space and comments, nested ones too, between any two parts.
        (
            "[&R] ( a [x[y]z] : [q] 1 ,\n\tb:2 ) [c] ; ",
            &["a 1 2", "b 2 2", " - -"],
        ),
        // Quotes hold everything, and a pair of them stands for one.
        (
            "('a b,(:;[]''':1,'':2);",
            &["a b,(:;[]' 1 2", " 2 2", " - -"],
        ),
        ("(a_b:1,'c_d':2);", &["a_b 1 2", "c_d 2 2", " - -"]),
        // A polytomy, tips without names, a forgotten semicolon.
        ("(a,,c,d)", &["a - 4", " - 4", "c - 4", "d - 4", " - -"]),
    ] {
        assert_eq!(shown(text), nodes, "{text}");
    }
}

#[test]
fn underscores_mean_spaces_only_where_asked_and_outside_of_quotes() {
    let options = NewickOptions::default().with_underscores_as_spaces();
    let tree = parse("(a_b,'c_d');", options).unwrap();
    assert_eq!([tree.label(0), tree.label(1)], ["a b", "c_d"]);
}

#[test]
fn support_is_the_number_of_an_inner_node() {
    let tree = Tree::from_newick("((1,2)0.98,(c,d)clade);").unwrap();
    let support: Vec<_> = (0..tree.n_nodes()).map(|node| tree.support(node)).collect();
    assert_eq!(support, [None, None, Some(0.98), None, None, None, None]);
}

#[test]
fn further_trees_are_counted() {
    assert_eq!(
        Tree::from_newick("(a,b);\n(c,d);(e,f)")
            .unwrap()
            .n_further_trees(),
        2
    );
}

#[test]
fn errors_have_the_place() {
    for (text, message) in [
        (
            "",
            "line 1, column 1 of the tree: there is no tree; name another file",
        ),
        (
            " [only words]",
            "line 1, column 1 of the tree: there is no tree; name another file",
        ),
        (
            "(a,b",
            "line 1, column 1 of the tree: the tree that begins here lacks a `)`",
        ),
        (
            "(a,\n(b;",
            "line 1, column 1 of the tree: the tree that begins here lacks a `)`",
        ),
        (
            "(a,b));",
            "line 1, column 6 of the tree: `)` closes nothing; add a `(`",
        ),
        (
            "a,b;",
            "line 1, column 2 of the tree: `,` outside of all brackets; put the parts in `(` and `)`",
        ),
        (
            "(a b);",
            "line 1, column 4 of the tree: a `,`, `)` or `;` must stand here; a label with spaces or \
             signs belongs in single quotes",
        ),
        (
            "(a:1,\nb:x);",
            "line 2, column 3 of the tree: a finite number must follow `:`; write a length, or drop the `:`",
        ),
        (
            "(a:inf);",
            "line 1, column 4 of the tree: a finite number must follow `:`; write a length, or drop the `:`",
        ),
        (
            "('a);",
            "line 1, column 2 of the tree: the quote that opens here is never closed",
        ),
        (
            "(a[x);",
            "line 1, column 3 of the tree: the comment that opens here is never closed; add a `]`",
        ),
    ] {
        assert_eq!(
            Tree::from_newick(text).unwrap_err().to_string(),
            message,
            "{text}"
        );
    }
}

#[test]
fn a_tree_may_be_as_deep_as_it_is_long() {
    let n_levels = 1_000_000;
    let text = "(".repeat(n_levels) + "a:1" + &"):1".repeat(n_levels) + ";";
    let tree = Tree::from_newick(&text).unwrap();
    assert_eq!((tree.n_nodes(), tree.n_tips()), (n_levels + 1, 1));
}

proptest! {
    #[test]
    fn no_text_panics(text in r"[(),:;'\[\] a_1.e\-\n]{0,40}") {
        let _ = Tree::from_newick(&text);
    }

    #[test]
    fn a_tree_written_out_is_read_back(case in cases(1)) {
        let tree = &case.tree;
        // Children come before their parents, so each node's text is whole when its parent needs it.
        let mut texts = vec![Vec::new(); tree.n_nodes()];
        let mut whole = String::new();
        for node in 0..tree.n_nodes() {
            let children = std::mem::take(&mut texts[node]).join(",");
            let mut text = if children.is_empty() { String::new() } else { format!("({children})") };
            text.push_str(tree.label(node));
            if let Some(length) = tree.length(node) {
                text += &format!(":{length}");
            }
            match tree.parent(node) {
                Some(parent) => texts[parent].push(text),
                None => whole = text + ";",
            }
        }
        prop_assert_eq!(&whole, &case.newick);
        prop_assert_eq!(&Tree::from_newick(&whole).unwrap(), tree);
    }
}
