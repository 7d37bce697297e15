//! Tests that vectors come back bit for bit, one for each name.

use kato_model::{LearnBatch, VectorName};
use serde_json::Value;

use super::{Fixture, commit, content, create, stage};

/// Checks that vectors of any content and length are kept at their node, also by commits of vectors
/// alone.
pub fn vectors_come_back_bit_for_bit(fixture: &impl Fixture) {
    let vectors = [
        vec![],
        vec![-0.0],
        vec![0.1 + 0.2, f64::MIN_POSITIVE / 2.0],
        vec![f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
        (0..3000).map(f64::from).collect(),
    ];
    let mut store = create(fixture, &["node0", "node1"]);
    let mut expected = Vec::new();
    for vector in &vectors {
        let name = VectorName::of_vector(vector);
        let mut batch = LearnBatch::new(2);
        batch.record_vector(1, name, vector);
        assert!(!batch.is_empty() && batch.heap_bytes() >= vector.len() * 8);
        let staged = stage(&store, batch.seal());
        commit(&store, vec![staged], Value::Null);
        let bits: Vec<u64> = vector.iter().copied().map(f64::to_bits).collect();
        expected.push((name, bits));
        expected.sort();
        for _ in 0..2 {
            let found = content(&store);
            assert_eq!((found[0].vectors.len(), &found[1].vectors), (0, &expected));
            assert_eq!((found[1].totals.learns, found[1].patterns.len()), (0, 0));
            store = fixture.reopen(store);
        }
    }
}

/// Checks that of several vectors of one name the smallest is kept, within a batch, a commit and
/// over commits, in any order.
pub fn of_vectors_with_one_name_the_smallest_is_kept(fixture: &impl Fixture) {
    let (name, other) = (VectorName::of_vector(&[1.0]), VectorName::of_vector(&[2.0]));
    // From the smallest up: a shorter vector comes first, then the first element that differs
    // decides.
    let ascending: [&[f64]; 6] = [
        &[9.0],
        &[-1.0, 5.0],
        &[-0.0, 5.0],
        &[0.0, 5.0],
        &[f64::NAN, 4.0],
        &[0.0, 0.0, 0.0],
    ];
    for smallest in 0..ascending.len() {
        let rising: Vec<&[f64]> = ascending[smallest..].to_vec();
        let falling: Vec<&[f64]> = rising.iter().rev().copied().collect();
        for order in [rising, falling] {
            for batches_per_commit in [1, order.len()] {
                for vectors_per_batch in [1, order.len()] {
                    let store = create(fixture, &["node0"]);
                    let batches: Vec<_> = order.chunks(vectors_per_batch).collect();
                    for batches in batches.chunks(batches_per_commit) {
                        let staged = batches.iter().map(|vectors| {
                            let mut batch = LearnBatch::new(1);
                            batch.record_vector(0, other, &[2.0]);
                            vectors
                                .iter()
                                .for_each(|vector| batch.record_vector(0, name, vector));
                            stage(&store, batch.seal())
                        });
                        commit(&store, staged.collect(), Value::Null);
                    }
                    let bits = |vector: &[f64]| vector.iter().copied().map(f64::to_bits).collect();
                    let mut expected =
                        vec![(name, bits(ascending[smallest])), (other, bits(&[2.0]))];
                    expected.sort();
                    assert_eq!(content(&store)[0].vectors, expected);
                }
            }
        }
    }
}
