//! Compares the norm with its f64 form.

use super::*;
use crate::testing::{gap, gradient, numbers};

/// Returns normalised rows.
fn normalise(x: &[f64], gain: &[f64], bias: &[f64]) -> Vec<f64> {
    let width = gain.len();
    let row = |row: &[f64]| -> Vec<f64> {
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        let value = |j: usize| (row[j] - mean) / (variance + 1e-5).sqrt() * gain[j] + bias[j];
        (0..width).map(value).collect()
    };
    x.chunks(width).flat_map(row).collect()
}

#[test]
fn the_norm_is_its_f64_form() {
    let (width, n_rows) = (37, 6);
    let [x, gain, bias, upstream] =
        [n_rows * width, width, width, n_rows * width].map(|n| numbers(n, n as u64));
    let all = [&x, &gain, &bias].map(|values| values.as_slice()).concat();
    let values = |all: &[f64]| {
        let (x, rest) = all.split_at(n_rows * width);
        normalise(x, &rest[..width], &rest[width..])
    };
    let expected = gradient(&all, |all| {
        values(all).iter().zip(&upstream).map(|(y, d)| y * d).sum()
    });
    let narrow = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
    let [x, gain, bias, dy] = [&x, &gain, &bias, &upstream].map(|values| narrow(values));
    let (mut y, mut dx) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let (mut d_gain, mut d_bias) = (vec![0.0; width], vec![0.0; width]);
    let norm = LayerNorm::new(Instructions::detect());
    norm.forward(&x, &gain, &bias, &mut y).unwrap();
    norm.backward(&x, &gain, &dy, &mut dx, (&mut d_gain, &mut d_bias))
        .unwrap();
    assert!(gap(&y, &values(&all)) < 1e-6);
    assert!(gap(&[dx, d_gain, d_bias].concat(), &expected) < 2e-6);
}

#[test]
fn instructions_give_equal_bits() {
    let x: Vec<f32> = numbers(5 * 70, 1).iter().map(|&v| v as f32).collect();
    let runs: Vec<_> = Instructions::available()
        .map(|instructions| {
            let (mut y, mut sums) = (vec![0.0; x.len()], [vec![0.0; 70], vec![0.0; 70]]);
            let norm = LayerNorm::new(instructions);
            norm.forward(&x, &x[..70], &x[70..140], &mut y).unwrap();
            let mut dx = vec![0.0; x.len()];
            let [a, b] = &mut sums;
            norm.backward(&x, &x[..70], &y, &mut dx, (a, b)).unwrap();
            [y, dx, sums.concat()].concat()
        })
        .collect();
    assert!(runs.iter().all(|run| *run == runs[0]));
}
