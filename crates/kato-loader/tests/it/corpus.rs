//! A real corpus, when the environment names one.

use std::path::PathBuf;

use kato_loader::{Document, TextUnit};

use crate::support::builder;

#[test]
fn a_real_corpus_resumes_exactly() {
    let Some(folder) = std::env::var_os("KATO_CORPUS_DIR").map(PathBuf::from) else {
        println!("skipped: KATO_CORPUS_DIR is not set");
        return;
    };
    let open = || {
        builder()
            .with_input(folder.join("tinyshakespeare.txt"))
            .with_text_unit(TextUnit::Paragraphs)
    };
    let all: Vec<Document> = open().build().unwrap().map(Result::unwrap).collect();
    assert!(all.len() > 1000);
    for k in (0..all.len()).step_by(all.len() / 23) {
        let mut first = open().build().unwrap();
        let mut found: Vec<Document> = first.by_ref().take(k).map(Result::unwrap).collect();
        found.extend(
            open()
                .with_cursor(first.cursor())
                .build()
                .unwrap()
                .map(Result::unwrap),
        );
        assert!(found == all, "interrupted after {k}");
    }
}
