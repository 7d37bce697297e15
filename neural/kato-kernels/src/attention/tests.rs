//! Compares attention with its f64 form.

use rayon::ThreadPoolBuilder;

use super::*;
use crate::testing::{gap, gradient, numbers};

struct Shape {
    n_heads: usize,
    width: usize,
    n_queries: usize,
    n_keys: usize,
    batch: usize,
    mask: Option<Vec<bool>>,
}

impl Shape {
    fn row(&self) -> usize {
        self.n_heads * self.width
    }

    /// Attention from its formula; `all` holds queries, keys and values.
    fn attend(&self, all: &[f64]) -> Vec<f64> {
        let (q, rest) = all.split_at(self.batch * self.n_queries * self.row());
        let (k, v) = rest.split_at(self.batch * self.n_keys * self.row());
        let mut out = vec![0.0; q.len()];
        for i in 0..self.batch * self.n_queries * self.n_heads {
            let (query, head) = (i / self.n_heads, i % self.n_heads);
            let sequence = query / self.n_queries;
            let at = |row: usize| row * self.row() + head * self.width;
            let q = &q[at(query)..][..self.width];
            let keys = (sequence * self.n_keys..(sequence + 1) * self.n_keys)
                .filter(|&key| self.mask.as_ref().is_none_or(|mask| mask[key]));
            let weight = |key: usize| {
                let products = q.iter().zip(&k[at(key)..]).map(|(q, k)| q * k);
                (products.sum::<f64>() / (self.width as f64).sqrt()).exp()
            };
            let total: f64 = keys.clone().map(weight).sum();
            for key in keys {
                for j in 0..self.width {
                    out[at(query) + j] += weight(key) / total * v[at(key) + j];
                }
            }
        }
        out
    }

    /// Runs the kernel; returns outputs, then gradients.
    fn run(
        &self,
        all: &[f64],
        upstream: &[f64],
        form: AttentionForm,
        set: Instructions,
    ) -> [Vec<f32>; 2] {
        let narrow = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
        let (all, upstream) = (narrow(all), narrow(upstream));
        let (q, rest) = all.split_at(self.batch * self.n_queries * self.row());
        let (k, v) = rest.split_at(self.batch * self.n_keys * self.row());
        let mut input = AttentionInput::new((q, self.n_queries), (k, self.n_keys), v, self.batch);
        input.mask = self.mask.as_deref();
        let mut attention = Attention::new(self.n_heads, self.width, form, set).unwrap();
        let mut out = vec![9.0; q.len()];
        attention.forward(input, &mut out).unwrap();
        let mut gradients = vec![9.0; all.len()];
        let (queries, rest) = gradients.split_at_mut(q.len());
        let (keys, values) = rest.split_at_mut(k.len());
        let mut to = AttentionGradients {
            queries,
            keys,
            values,
        };
        attention.backward(input, &upstream, &mut to).unwrap();
        [out, gradients]
    }
}

fn shapes() -> Vec<Shape> {
    let shape = |n_heads, width, n_queries, n_keys, batch| Shape {
        n_heads,
        width,
        n_queries,
        n_keys,
        batch,
        mask: None,
    };
    let mut masked = shape(2, 5, 9, 11, 3);
    // The second sequence has no key at all.
    masked.mask = Some(
        (0..33)
            .map(|i| i % 3 != 1 && !(11..22).contains(&i))
            .collect(),
    );
    vec![
        shape(1, 1, 1, 1, 1),
        shape(2, 5, 35, 11, 2),
        shape(1, 40, 3, 9, 1),
        masked,
    ]
}

fn problem(shape: &Shape) -> (Vec<f64>, Vec<f64>) {
    let (n_queries, n_keys) = (shape.n_queries * shape.row(), shape.n_keys * shape.row());
    let all = numbers(shape.batch * (n_queries + 2 * n_keys), 5)
        .iter()
        .map(|v| 4.0 * v)
        .collect();
    (all, numbers(shape.batch * n_queries, 6))
}

#[test]
fn values_and_gradients_are_those_of_the_formula() {
    for shape in shapes() {
        let (all, upstream) = problem(&shape);
        let expected = gradient(&all, |all| {
            shape
                .attend(all)
                .iter()
                .zip(&upstream)
                .map(|(y, d)| y * d)
                .sum()
        });
        let [out, gradients] = shape.run(
            &all,
            &upstream,
            AttentionForm::Tiled,
            Instructions::detect(),
        );
        assert!(gap(&out, &shape.attend(&all)) < 2e-6);
        let gap = gap(&gradients, &expected);
        assert!(gap < 5e-6, "gap {gap:e}");
    }
}

#[test]
fn forms_instructions_and_threads_give_equal_bits() {
    for shape in shapes() {
        let (all, upstream) = problem(&shape);
        let first = shape.run(
            &all,
            &upstream,
            AttentionForm::Tiled,
            Instructions::detect(),
        );
        for set in Instructions::available() {
            for form in [AttentionForm::Tiled, AttentionForm::Plain] {
                for n_threads in [1, 3] {
                    let pool = ThreadPoolBuilder::new()
                        .num_threads(n_threads)
                        .build()
                        .unwrap();
                    let run = pool.install(|| shape.run(&all, &upstream, form, set));
                    assert!(run == first, "{set:?} {form:?}");
                }
            }
        }
    }
}

/// Without a pass there is nothing to go back on.
#[test]
fn backward_wants_the_probabilities_of_a_pass() {
    let mut attention = Attention::new(1, 2, AttentionForm::Plain, Instructions::detect()).unwrap();
    let input = AttentionInput::new((&[1.0, 2.0], 1), (&[3.0, 4.0], 1), &[5.0, 6.0], 1);
    let (mut a, mut b, mut c) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    let mut to = AttentionGradients {
        queries: &mut a,
        keys: &mut b,
        values: &mut c,
    };
    let found = attention.backward(input, &[1.0, 1.0], &mut to);
    assert!(matches!(found, Err(Error::Order { .. })));
}
