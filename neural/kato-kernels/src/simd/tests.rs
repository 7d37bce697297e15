//! Compares products with their formula, and instruction sets with one another.

use super::*;
use crate::precision::{pair, round_to_bf16};
use crate::testing::numbers;

const SIZES: [(usize, usize, usize); 8] = [
    (1, 1, 0),
    (1, 1, 1),
    (8, 32, 16),
    (7, 33, 5),
    (9, 16, 40),
    (12, 47, 193),
    (17, 70, 400),
    (24, 64, 192),
];
/// What lies beside a result, and must stay.
const BESIDE: f32 = 7.5;

fn matrix(n: usize, seed: u64) -> Vec<f32> {
    numbers(n, seed)
        .iter()
        .map(|&x| round_to_bf16(x as f32))
        .collect()
}

/// Runs a product into rows that are `stride` apart, with something beside them.
fn product(
    set: Instructions,
    size: Size,
    run: impl Fn(Instructions, Size, &mut Target<'_>),
    begin: Begin<'_>,
) -> Vec<f32> {
    let stride = size.n_columns + 3;
    let mut values = vec![BESIDE; size.n_rows * stride];
    run(
        set,
        size,
        &mut Target {
            values: &mut values,
            stride,
            begin,
        },
    );
    for row in values.chunks_exact(stride) {
        assert!(
            row[size.n_columns..].iter().all(|&x| x == BESIDE),
            "{set:?}"
        );
    }
    values
}

#[test]
fn products_are_their_formula_in_any_layout_and_on_any_instructions() {
    for (n_rows, n_columns, depth) in SIZES {
        let size = Size {
            n_rows,
            n_columns,
            depth,
        };
        let (a, b) = (matrix(n_rows * depth, 1), matrix(depth * n_columns, 2));
        let turned: Vec<f32> = (0..n_rows * depth)
            .map(|i| a[i % n_rows * depth + i / n_rows])
            .collect();
        let bias = matrix(n_columns, 3);
        for begin in [Begin::Zero, Begin::Bias(&bias), Begin::Add] {
            let rows = |set, size, to: &mut Target<'_>| {
                product_f32(
                    set,
                    size,
                    Left::rows(&a, depth),
                    Right::rows(&b, n_columns),
                    to,
                );
            };
            let columns = |set, size, to: &mut Target<'_>| {
                let left = Left::columns(&turned, n_rows);
                product_f32(set, size, left, Right::rows(&b, n_columns), to);
            };
            let plain = Instructions::new(InstructionSet::Plain).unwrap();
            let expected = product(plain, size, rows, begin);
            for (i, row) in expected.chunks_exact(n_columns + 3).enumerate() {
                for (j, &found) in row[..n_columns].iter().enumerate() {
                    let first = match begin {
                        Begin::Zero => 0.0,
                        Begin::Bias(bias) => bias[j],
                        Begin::Add => BESIDE,
                    };
                    let terms = (0..depth).map(|k| a[i * depth + k] * b[k * n_columns + j]);
                    let sum = terms.map(f64::from).sum::<f64>() + f64::from(first);
                    assert!((f64::from(found) - sum).abs() < 1e-4, "{size:?} {i} {j}");
                }
            }
            for set in Instructions::available() {
                assert!(
                    product(set, size, rows, begin) == expected,
                    "{set:?} {size:?}"
                );
                assert!(
                    product(set, size, columns, begin) == expected,
                    "{set:?} {size:?}"
                );
            }
        }
    }
}

#[test]
fn products_of_pairs_are_near_those_of_values_on_any_instructions() {
    for (n_rows, n_columns, depth) in SIZES {
        let size = Size {
            n_rows,
            n_columns,
            depth,
        };
        let (a, b) = (
            matrix(n_rows * 2 * depth, 1),
            matrix(2 * depth * n_columns, 2),
        );
        let left: Vec<u32> = a.chunks_exact(2).map(|two| pair(two[0], two[1])).collect();
        let at = |k: usize, j: usize| b[k * n_columns + j];
        let right: Vec<u32> = (0..depth * n_columns)
            .map(|i| (i / n_columns, i % n_columns))
            .map(|(k, j)| pair(at(2 * k, j), at(2 * k + 1, j)))
            .collect();
        let pairs = |set, size, to: &mut Target<'_>| {
            product_bf16(
                set,
                size,
                Left::rows(&left, depth),
                Right::rows(&right, n_columns),
                to,
            );
        };
        let best = Instructions::detect();
        let found = product(best, size, pairs, Begin::Zero);
        for set in Instructions::available() {
            assert!(
                product(set, size, pairs, Begin::Zero) == found,
                "{set:?} {size:?}"
            );
        }
        // Factors were rounded before, so both forms differ by the order of their sums alone.
        let wide = Size {
            depth: 2 * depth,
            ..size
        };
        let values = |set, size, to: &mut Target<'_>| {
            product_f32(
                set,
                size,
                Left::rows(&a, 2 * depth),
                Right::rows(&b, n_columns),
                to,
            );
        };
        let expected = product(best, wide, values, Begin::Zero);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-4, "{size:?}");
        }
    }
}

#[test]
#[should_panic(expected = "the right factor has its columns")]
fn a_factor_that_is_too_short_is_refused() {
    let size = Size {
        n_rows: 2,
        n_columns: 40,
        depth: 3,
    };
    let (left, right, mut values) = ([0.0; 6], [0.0; 119], [0.0; 80]);
    let mut target = Target {
        values: &mut values,
        stride: 40,
        begin: Begin::Zero,
    };
    let (left, right) = (Left::rows(&left, 3), Right::rows(&right, 40));
    product_f32(Instructions::detect(), size, left, right, &mut target);
}
