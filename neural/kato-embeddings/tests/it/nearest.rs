//! Nearest words.

use kato_embeddings::{Embeddings, QueryError};

use crate::support::{Folder, glove, open};

#[test]
fn the_nearest_words_are_those_of_a_full_sort() {
    let folder = Folder::new();
    let path = folder.write("vectors.txt", glove(20_000, 20));
    let embeddings = open(&path);
    let target: Vec<f32> = embeddings
        .vector(77)
        .unwrap()
        .iter()
        .map(|x| x + 0.25)
        .collect();
    let cosine = |vector: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter()
                .zip(b)
                .map(|(&a, &b)| f64::from(a) * f64::from(b))
                .sum()
        };
        dot(vector, &target) / (dot(vector, vector) * dot(&target, &target)).sqrt()
    };
    let mut all: Vec<(usize, f64)> = embeddings
        .iter()
        .map(|(_, vector)| cosine(vector))
        .enumerate()
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for k in [0, 1, 10, 1000, usize::MAX] {
        let one = Embeddings::builder(&path).with_workers(1).open().unwrap();
        let many = Embeddings::builder(&path).with_workers(5).open().unwrap();
        let found = one.nearest(&target, k).unwrap();
        assert_eq!(found, many.nearest(&target, k).unwrap(), "to the last bit");
        assert_eq!(found.len(), k.min(embeddings.len()));
        for (found, (index, similarity)) in found.iter().zip(&all) {
            assert_eq!(found.index, *index);
            assert!((found.similarity - similarity).abs() < 1e-12);
            assert_eq!(Some(found.word), embeddings.word(*index));
        }
    }
}

#[test]
fn ties_go_to_the_earlier_word() {
    let folder = Folder::new();
    let path = folder.write("x", "a 0 0\nb 1 0\nc 2 0\nd 0 1\ne 4 0\nf -1 0\n");
    let embeddings = open(&path);
    let words = |k| -> Vec<&str> {
        let found = embeddings.nearest(&[3.0, 0.0], k).unwrap();
        found.into_iter().map(|found| found.word).collect()
    };
    assert_eq!(words(2), ["b", "c"]);
    assert_eq!(words(9), ["b", "c", "e", "a", "d", "f"]);
    let found = embeddings.nearest_to("c", 3).unwrap();
    assert_eq!(
        found
            .iter()
            .map(|found| (found.word, found.similarity))
            .collect::<Vec<_>>(),
        [("b", 1.0), ("e", 1.0), ("a", 0.0)]
    );
    assert_eq!(
        embeddings.nearest_to("a", 1).unwrap()[0].word,
        "b",
        "no direction: all alike"
    );
}

#[test]
fn what_cannot_be_asked_is_said() {
    let folder = Folder::new();
    let embeddings = open(&folder.write("x", "a 1 0\n"));
    assert_eq!(
        embeddings.nearest(&[1.0], 1),
        Err(QueryError::Dims {
            found: 1,
            expected: 2
        })
    );
    assert_eq!(
        embeddings.nearest(&[1.0, f32::NAN], 1),
        Err(QueryError::NotFinite { element_idx: 1 })
    );
    assert_eq!(
        embeddings.nearest_to("z", 1),
        Err(QueryError::UnknownWord {
            word: "z".to_owned()
        })
    );
}

#[test]
fn doubles_are_searched_likewise() {
    let folder = Folder::new();
    let path = folder.write("x", "a 1e300 1e300\nb 1e-300 1e-300\nc -1 1\n");
    let embeddings = Embeddings::builder(&path).with_doubles().open().unwrap();
    let found = embeddings.nearest_to("a", 2).unwrap();
    assert_eq!(found[0].word, "b");
    assert!((found[0].similarity - 1.0).abs() < 1e-9 && found[1].similarity.abs() < 1e-9);
}
