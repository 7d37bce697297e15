//! What is kept while parts of one file are read and parts of the next are planned.

use std::io;
use std::sync::Arc;

use super::{Corpus, Sequential, at};
use crate::cursor::{Mark, Position};
use crate::inputs::{self, Input};
use crate::interrupt::Interrupt;
use crate::options::CorpusOptions;

fn corpus(names: &[&str]) -> Corpus {
    let selection = CorpusOptions::default();
    let inputs = names
        .iter()
        .map(|name| Input::Reader((*name).to_owned(), Box::new(io::empty())))
        .collect();
    let listing = inputs::resolve(
        inputs,
        &selection,
        &Interrupt::default(),
        #[cfg(feature = "remote")]
        &crate::remote::Access::default(),
    );
    Corpus {
        files: listing.unwrap().files.into_iter().map(Arc::new).collect(),
        selection: Arc::new(selection),
    }
}

#[test]
fn a_file_is_cut_once_while_the_next_one_is_planned() {
    let corpus = corpus(&["a.txt", "b.txt"]);
    let mut position = Position::default();
    let mut sequential = Sequential::new(&corpus, position);
    let mut parts_of = |file| sequential.parts_of(&corpus, file, true).unwrap();
    let (first, second) = (parts_of(0), parts_of(1));
    assert!(Arc::ptr_eq(&first, &parts_of(0)));
    assert!(Arc::ptr_eq(&second, &parts_of(1)));

    sequential.next_file(&corpus, &mut position);
    assert_eq!(position, at(1, Mark::default()));
    assert_eq!(sequential.cuts.keys().collect::<Vec<_>>(), [&1]);
}
