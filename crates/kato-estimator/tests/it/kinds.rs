//! Made corpora of kinds that repeat: repeats of documents, of paragraphs and
//! of fields, by popularity and in groups, alone and mixed.

use kato_estimator::EstimatedHierarchy;
use rayon::prelude::*;

use crate::corpus::{Draws, Found, Tokens, median, percent, print_found, print_header};

/// The token ids of the paragraphs of a document.
type Made = Vec<Vec<u32>>;

/// Documents of a corpus, and one in so many of them is drawn.
const DOCUMENTS: usize = 1_000;
const ONE_IN: usize = 20;
const SEEDS: u64 = 3;
/// Bytes of text that a token stands for.
const BYTES: u64 = 4;

/// Returns a number from 0 to 1.
fn unit(draws: &mut Draws) -> f64 {
    draws.below(1 << 52) as f64 / (1u64 << 52) as f64
}

/// Returns a number below `n`, one twice as large half as often, as Zipf's law has it.
fn popular(draws: &mut Draws, n: usize) -> usize {
    ((n as f64 + 1.0).powf(unit(draws)) as usize - 1).min(n - 1)
}

fn words(draws: &mut Draws, n: usize) -> Vec<u32> {
    let word = |_| popular(draws, 20_000) as u32;
    (0..n).map(word).collect()
}

fn paragraph(draws: &mut Draws) -> Vec<u32> {
    let n = 10 + draws.below(30);
    words(draws, n)
}

fn page(draws: &mut Draws) -> Made {
    let n = 1 + draws.below(5);
    (0..n).map(|_| paragraph(draws)).collect()
}

/// Documents that are all new.
fn new(draws: &mut Draws) -> Vec<Made> {
    (0..DOCUMENTS).map(|_| page(draws)).collect()
}

/// A few documents are much longer than the others.
fn long(draws: &mut Draws) -> Vec<Made> {
    let length = |draws: &mut Draws| (0.3 / (unit(draws) + 0.003)) as usize + 1;
    let document = |_| {
        let n = length(draws);
        (0..n).map(|_| paragraph(draws)).collect()
    };
    (0..DOCUMENTS).map(document).collect()
}

/// Whole documents stand there by popularity, as in a crawl.
fn copied(draws: &mut Draws) -> Vec<Made> {
    let pages = new(draws);
    let draw = |_| pages[popular(draws, DOCUMENTS)].clone();
    (0..DOCUMENTS).map(draw).collect()
}

/// Every document stands there three times.
fn thrice(draws: &mut Draws) -> Vec<Made> {
    let pages = new(draws);
    let third = pages.iter().take(DOCUMENTS / 3);
    third.flat_map(|page| vec![page.clone(); 3]).collect()
}

/// Half of the paragraphs are of a pool, by popularity.
fn pooled(draws: &mut Draws) -> Vec<Made> {
    let pool: Vec<Vec<u32>> = (0..300).map(|_| paragraph(draws)).collect();
    let mut pages = new(draws);
    for paragraph in pages.iter_mut().flatten() {
        if draws.below(2) == 0 {
            paragraph.clone_from(&pool[popular(draws, pool.len())]);
        }
    }
    pages
}

/// Documents are templates with fields that differ.
fn filled(draws: &mut Draws) -> Vec<Made> {
    let templates: Vec<Made> = (0..5).map(|_| page(draws)).collect();
    let document = |_| {
        let mut document = templates[draws.below(templates.len())].clone();
        for token in document.iter_mut().flatten() {
            if draws.below(8) == 0 {
                *token = 50_000 + popular(draws, 5_000) as u32;
            }
        }
        document
    };
    (0..DOCUMENTS).map(document).collect()
}

/// Groups of one to sixty versions, each of which leaves most paragraphs as they were.
fn versions(draws: &mut Draws) -> Vec<Made> {
    let mut all: Vec<Made> = Vec::new();
    while all.len() < DOCUMENTS {
        let mut version = page(draws);
        for _ in 0..=popular(draws, 60) {
            all.push(version.clone());
            let at = draws.below(version.len());
            version[at] = paragraph(draws);
        }
    }
    all
}

/// Returns a mixture of two kinds, with so many of ten documents of the first.
fn mixed(draws: &mut Draws, [one, other]: [Kind; 2], of_ten: usize) -> Vec<Made> {
    let parts = [(one, of_ten), (other, 10 - of_ten)];
    let of_part = parts.map(|(kind, of_ten)| {
        let mut documents = kind(draws);
        documents.truncate(of_ten * documents.len() / 10);
        documents
    });
    of_part.concat()
}

type Kind = fn(&mut Draws) -> Vec<Made>;

const KINDS: [(&str, Kind); 15] = [
    ("new", new),
    ("long", long),
    ("copied", copied),
    ("thrice", thrice),
    ("pooled", pooled),
    ("filled", filled),
    ("versions", versions),
    ("new and copied, 1:1", |draws| {
        mixed(draws, [new, copied], 5)
    }),
    ("long and versions, 7:3", |draws| {
        mixed(draws, [long, versions], 7)
    }),
    ("filled and new, 9:1", |draws| {
        mixed(draws, [filled, new], 9)
    }),
    ("new and pooled, 3:7", |draws| {
        mixed(draws, [new, pooled], 3)
    }),
    ("long and copied, 8:2", |draws| {
        mixed(draws, [long, copied], 8)
    }),
    ("versions and filled, 5:5", |draws| {
        mixed(draws, [versions, filled], 5)
    }),
    ("new and thrice, 9:1", |draws| {
        mixed(draws, [new, thrice], 9)
    }),
    ("pooled and long, 1:9", |draws| {
        mixed(draws, [pooled, long], 1)
    }),
];

#[test]
fn a_twentieth_of_made_kinds_tells_the_whole_within_intervals() {
    let hierarchy = EstimatedHierarchy::new([5, 3]).unwrap();
    let of_kind = |(name, kind): &(&'static str, Kind)| {
        let of_seed = |seed| {
            let mut draws = Draws::from_seed(seed);
            let documents = kind(&mut draws);
            let bytes = |document: &Made| BYTES * document.iter().flatten().count() as u64;
            let documents: Vec<Tokens<'_>> = documents.iter().map(|d| (&d[..], bytes(d))).collect();
            Found::from(&hierarchy, &documents, documents.len() / ONE_IN, &mut draws)
        };
        (*name, (0..SEEDS).map(of_seed).collect::<Vec<_>>())
    };
    let kinds: Vec<_> = KINDS.par_iter().map(of_kind).collect();
    print_header("kind");
    for (name, found) in &kinds {
        print_found(name, found);
    }
    let all: Vec<&Found> = kinds.iter().flat_map(|(_, found)| found).collect();
    let holds = all.iter().filter(|found| found.holds).count();
    let error = percent(median(all.iter().map(|found| found.error)));
    println!(
        "all: median error {error:.1} %, {holds} of {} hold",
        all.len()
    );
    // Fewer than of real text: groups of documents that repeat each other are all that most kinds have, and
    // of fifty documents often no two are of the same group.
    assert!(holds * 10 >= all.len() * 7, "{holds} of {}", all.len());
    assert!(error < 15.0, "{error:.1} %");
}
