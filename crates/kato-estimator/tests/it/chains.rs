//! From a part to all, from all to ten copies of it, and from all to all and another corpus.

use kato_estimator::EstimatedHierarchy;
use rayon::prelude::*;

use crate::corpus::{
    self, Corpus, Draws, Found, Tokens, median, percent, print_found, print_header,
};

const SEEDS: u64 = 6;

fn tokens(corpora: &[&'static Corpus]) -> Vec<Tokens<'static>> {
    let documents = corpora.iter().flat_map(|corpus| &corpus.documents);
    let tokens = documents.map(|document| (&document.paragraphs[..], document.text.len() as u64));
    tokens.collect()
}

#[test]
fn each_step_from_a_part_to_more_than_all_is_told_within_intervals() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    let (rows, plays) = (&corpora[0], &corpora[2]);
    let one = tokens(&[rows]);
    let both = tokens(&[rows, plays]);
    let n = one.len();
    let steps = [
        ("1 % → all", one.clone(), n / 100),
        ("10 % → all", one.clone(), n / 10),
        ("all → 10 copies", one.repeat(10), n),
        ("all → all and another corpus", both, n),
    ];
    let hierarchy = EstimatedHierarchy::new([5, 7, 9]).unwrap();
    let found = |(name, documents, n): &(&'static str, Vec<Tokens<'_>>, usize)| {
        let of_seed = |seed| Found::from(&hierarchy, documents, *n, &mut Draws::from_seed(seed));
        (*name, (0..SEEDS).map(of_seed).collect::<Vec<_>>())
    };
    let all: Vec<_> = steps.par_iter().map(found).collect();
    print_header("documents drawn of them");
    for (name, found) in &all {
        print_found(name, found);
        let error = percent(median(found.iter().map(|found| found.error)));
        assert!(error < 4.0, "{name}: {error:.1} %");
    }
    let holds = all
        .iter()
        .flat_map(|(_, found)| found)
        .filter(|found| found.holds);
    let (holds, all) = (holds.count(), all.len() * SEEDS as usize);
    assert!(holds * 10 >= all * 9, "{holds} of {all}");
}
