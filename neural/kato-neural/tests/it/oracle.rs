//! Recurrent nets once more, in `f64` and scalar loops, after PyTorch's documentation.

use kato_neural::layers::Cell;

/// Weights of one layer, in PyTorch's shapes.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) weight_ih: Vec<f64>,
    pub(crate) weight_hh: Vec<f64>,
    pub(crate) bias_ih: Vec<f64>,
    pub(crate) bias_hh: Vec<f64>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn affine(weight: &[f64], bias: &[f64], input: &[f64]) -> Vec<f64> {
    let n_in = input.len();
    let row = |at: usize| {
        weight[at * n_in..(at + 1) * n_in]
            .iter()
            .zip(input)
            .map(|(w, x)| w * x)
    };
    (0..bias.len())
        .map(|at| row(at).sum::<f64>() + bias[at])
        .collect()
}

/// One step of one row through one layer; returns state and memory.
pub(crate) fn step(
    cell: Cell,
    layer: &Layer,
    input: &[f64],
    hidden: &[f64],
    memory: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let n = hidden.len();
    let x = affine(&layer.weight_ih, &layer.bias_ih, input);
    let h = affine(&layer.weight_hh, &layer.bias_hh, hidden);
    match cell {
        Cell::Vanilla => (
            (0..n).map(|at| (x[at] + h[at]).tanh()).collect(),
            vec![0.0; n],
        ),
        Cell::Gru => {
            let next = (0..n).map(|at| {
                let reset = sigmoid(x[at] + h[at]);
                let update = sigmoid(x[n + at] + h[n + at]);
                let fresh = (x[2 * n + at] + reset * h[2 * n + at]).tanh();
                (1.0 - update) * fresh + update * hidden[at]
            });
            (next.collect(), vec![0.0; n])
        }
        Cell::Lstm => {
            let sum = |gate: usize, at: usize| x[gate * n + at] + h[gate * n + at];
            let memory: Vec<f64> = (0..n)
                .map(|at| {
                    sigmoid(sum(1, at)) * memory[at] + sigmoid(sum(0, at)) * sum(2, at).tanh()
                })
                .collect();
            let hidden = (0..n)
                .map(|at| sigmoid(sum(3, at)) * memory[at].tanh())
                .collect();
            (hidden, memory)
        }
    }
}

/// All layers over one row's sequence, from zero; returns the last layer's outputs.
pub(crate) fn run(
    cell: Cell,
    layers: &[Layer],
    n_hidden: usize,
    mut input: impl FnMut(usize, Option<&[f64]>) -> Vec<f64>,
    n_steps: usize,
) -> Vec<Vec<f64>> {
    let mut hidden = vec![vec![0.0; n_hidden]; layers.len()];
    let mut memory = hidden.clone();
    let mut outputs: Vec<Vec<f64>> = Vec::new();
    for time in 0..n_steps {
        let mut value = input(time, outputs.last().map(Vec::as_slice));
        for (at, layer) in layers.iter().enumerate() {
            let (h, c) = step(cell, layer, &value, &hidden[at], &memory[at]);
            value.clone_from(&h);
            (hidden[at], memory[at]) = (h, c);
        }
        outputs.push(value);
    }
    outputs
}
