//! Computes recurrent nets in f64, straight from their formulas, and gradients by differences.

use crate::dropout::{Draw, Dropout};
use crate::recurrent::Cell;
use crate::recurrent::stack::OUTPUT_PLACE;
use crate::testing::numbers;

/// Keys that a decoder attends to.
pub(super) const N_KEYS: usize = 4;

/// What a net is made of.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub(super) cell: Cell,
    pub(super) n_inputs: usize,
    pub(super) n_hidden: usize,
    pub(super) n_layers: usize,
    pub(super) dropout: f32,
    /// Heads by which a decoder attends to 4 keys, of which the last is masked; 0 for none.
    pub(super) n_heads: usize,
}

/// Net with its parameters, and a batch: sum of values times `upstream` is what is differentiated.
pub(super) struct Problem {
    pub(super) net: Net,
    pub(super) batch: usize,
    pub(super) steps: usize,
    pub(super) lengths: Vec<usize>,
    pub(super) draw: Option<Draw>,
    /// Steps of a decoder that read the truth; an encoder has none.
    pub(super) teach: Option<Vec<bool>>,
    pub(super) truth: Vec<f64>,
    /// Weights of each layer, states at the start; inputs, or start and projection.
    parameters: Vec<Vec<f64>>,
    pub(super) upstream: Vec<f64>,
}

/// Values, and gradients of every parameter.
pub(super) struct Result64 {
    pub(super) values: Vec<f64>,
    pub(super) gradients: Vec<Vec<f64>>,
}

impl Problem {
    pub(super) fn new(
        net: Net,
        batch: usize,
        steps: usize,
        draw: Option<Draw>,
        teach: Option<Vec<bool>>,
    ) -> Self {
        let mut seed = 42;
        let mut numbers = |n: usize| {
            seed += 1;
            numbers(n, seed)
        };
        let (gates, k, n) = (net.cell.n_gates(), net.n_inputs, net.n_hidden);
        let mut sizes = Vec::new();
        for layer in 0..net.n_layers {
            let inputs = if layer == 0 { k } else { n };
            sizes.extend([gates * n * inputs, gates * n * n, gates * n, gates * n]);
        }
        let states = net.n_layers * batch * n;
        let cells = if net.cell == Cell::Lstm { states } else { 0 };
        sizes.extend([states, cells]);
        let values = if teach.is_some() {
            sizes.extend([k, k * n, k]);
            if net.n_heads > 0 {
                sizes.extend([n * n, n, n * n, n, batch * N_KEYS * n, batch * N_KEYS * n]);
            }
            batch * steps * k
        } else {
            sizes.push(batch * steps * k);
            states + cells + batch * steps * n
        };
        let parameters = sizes.into_iter().map(&mut numbers).collect();
        let lengths = (0..batch)
            .map(|row| (row * 3 + steps) % (steps + 1))
            .collect();
        let upstream = numbers(values);
        let truth = numbers(batch * steps * k);
        Self {
            net,
            batch,
            steps,
            lengths,
            draw,
            teach,
            truth,
            parameters,
            upstream,
        }
    }

    pub(super) fn decodes(&self) -> bool {
        self.teach.is_some()
    }

    pub(super) fn parameters_f32(&self) -> Vec<Vec<f32>> {
        let narrow = |p: &Vec<f64>| p.iter().map(|&value| value as f32).collect();
        self.parameters.iter().map(narrow).collect()
    }

    /// Computes values and, by central differences, gradients.
    pub(super) fn solve(&self) -> Result64 {
        const STEP: f64 = 1e-5;
        let mut parameters = self.parameters.clone();
        let loss = |parameters: &[Vec<f64>]| -> f64 {
            self.values(parameters)
                .iter()
                .zip(&self.upstream)
                .map(|(v, u)| v * u)
                .sum()
        };
        let mut gradients = Vec::new();
        for p in 0..parameters.len() {
            let mut gradient = Vec::new();
            // Of many parameters some say enough: the others are NaN.
            let stride = parameters[p].len().div_ceil(150).max(1);
            for i in 0..parameters[p].len() {
                if i % stride > 0 {
                    gradient.push(f64::NAN);
                    continue;
                }
                let value = parameters[p][i];
                parameters[p][i] = value + STEP;
                let above = loss(&parameters);
                parameters[p][i] = value - STEP;
                let below = loss(&parameters);
                parameters[p][i] = value;
                gradient.push((above - below) / (2.0 * STEP));
            }
            gradients.push(gradient);
        }
        Result64 {
            values: self.values(&parameters),
            gradients,
        }
    }

    /// Computes the values, sequence by sequence.
    fn values(&self, parameters: &[Vec<f64>]) -> Vec<f64> {
        let (net, n, k) = (&self.net, self.net.n_hidden, self.net.n_inputs);
        let p = 4 * net.n_layers;
        let states = net.n_layers * self.batch * n;
        let mut hidden = parameters[p].clone();
        let mut cell = parameters[p + 1].clone();
        let mut outputs = vec![0.0; self.batch * self.steps * n];
        let mut predictions = vec![0.0; self.batch * self.steps * k];
        for row in 0..self.batch {
            for t in 0..self.lengths[row] {
                let at = |t: usize| (row * self.steps + t) * k..(row * self.steps + t + 1) * k;
                let mut x = match &self.teach {
                    None => parameters[p + 2][at(t)].to_vec(),
                    Some(_) if t == 0 => parameters[p + 2].clone(),
                    Some(teach) if teach[t] => self.truth[at(t - 1)].to_vec(),
                    Some(_) => predictions[at(t - 1)].to_vec(),
                };
                for layer in 0..net.n_layers {
                    let weights = &parameters[4 * layer..4 * layer + 4];
                    let state = (layer * self.batch + row) * n;
                    let c = cell.get(state..state + n).unwrap_or_default().to_vec();
                    let (h, c) = step(net.cell, weights, &x, &hidden[state..state + n], &c);
                    hidden[state..state + n].copy_from_slice(&h);
                    if states == cell.len() {
                        cell[state..state + n].copy_from_slice(&c);
                    }
                    let top = layer + 1 == net.n_layers;
                    let place = if top { OUTPUT_PLACE } else { layer as u64 };
                    x = h;
                    if top && net.n_heads > 0 {
                        x = self.attend(&parameters[p + 5..], &x, row);
                    }
                    if !top || self.decodes() {
                        self.drop(&mut x, place, row, t);
                    }
                }
                if self.decodes() {
                    let bias = &parameters[p + 4];
                    let y = product(&parameters[p + 3], &x, bias);
                    predictions[at(t)].copy_from_slice(&y);
                } else {
                    outputs[(row * self.steps + t) * n..][..n].copy_from_slice(&x);
                }
            }
        }
        if self.decodes() {
            predictions
        } else {
            [hidden, cell, outputs].concat()
        }
    }

    /// Adds what the output `h` attends to.
    fn attend(&self, parameters: &[Vec<f64>], h: &[f64], row: usize) -> Vec<f64> {
        let [query, query_bias, out, out_bias, keys, values] = parameters else {
            panic!("six")
        };
        let (n, width) = (h.len(), h.len() / self.net.n_heads);
        let query = product(query, h, query_bias);
        let mut context = vec![0.0; n];
        for first in (0..n).step_by(width) {
            let at = |key: usize| (row * N_KEYS + key) * n + first;
            let weight = |key: usize| {
                let products = (0..width).map(|j| query[first + j] * keys[at(key) + j]);
                (products.sum::<f64>() / (width as f64).sqrt()).exp()
            };
            let total: f64 = (0..N_KEYS - 1).map(weight).sum();
            for key in 0..N_KEYS - 1 {
                for j in 0..width {
                    context[first + j] += weight(key) / total * values[at(key) + j];
                }
            }
        }
        product(out, &context, out_bias)
            .iter()
            .zip(h)
            .map(|(a, h)| a + h)
            .collect()
    }

    fn drop(&self, x: &mut [f64], place: u64, row: usize, t: usize) {
        if let Some(dropout) = Dropout::new(self.draw, self.net.dropout, place) {
            let mask = dropout.row(((t as u64) << 32) | row as u64);
            for (j, x) in x.iter_mut().enumerate() {
                *x *= f64::from(mask.factor(j));
            }
        }
    }
}

fn product(weights: &[f64], x: &[f64], bias: &[f64]) -> Vec<f64> {
    let rows = weights.chunks_exact(x.len()).zip(bias);
    rows.map(|(row, bias)| bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
        .collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Computes a cell as PyTorch's manual defines it.
fn step(cell: Cell, weights: &[Vec<f64>], x: &[f64], h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = h.len();
    let of_x = product(&weights[0], x, &weights[2]);
    let of_h = product(&weights[1], h, &weights[3]);
    let both = |gate: usize, j: usize| of_x[gate * n + j] + of_h[gate * n + j];
    match cell {
        Cell::Tanh => ((0..n).map(|j| both(0, j).tanh()).collect(), Vec::new()),
        Cell::Gru => {
            let unit = |j: usize| {
                let (r, z) = (sigmoid(both(0, j)), sigmoid(both(1, j)));
                let new = (of_x[2 * n + j] + r * of_h[2 * n + j]).tanh();
                (1.0 - z) * new + z * h[j]
            };
            ((0..n).map(unit).collect(), Vec::new())
        }
        Cell::Lstm => {
            let unit = |j: usize| {
                let (i, f, o) = (
                    sigmoid(both(0, j)),
                    sigmoid(both(1, j)),
                    sigmoid(both(3, j)),
                );
                let c = f * c[j] + i * both(2, j).tanh();
                (o * c.tanh(), c)
            };
            (0..n).map(unit).unzip()
        }
    }
}
