//! Compares recurrent nets with an oracle in f64, whose gradients are central differences.

mod oracle;

use oracle::{N_KEYS, Net, Problem, Result64};
use rayon::ThreadPoolBuilder;

use super::*;
use crate::dropout::Draw;
use crate::instructions::Instructions;
use crate::precision::Precision;

/// Gap where something is expected.
fn gap(found: &[f32], expected: &[f64]) -> f64 {
    let known = found
        .iter()
        .zip(expected)
        .filter(|(_, expected)| !expected.is_nan());
    let (found, expected): (Vec<f32>, Vec<f64>) = known.unzip();
    crate::testing::gap(&found, &expected)
}

/// What a kernel found: values and gradients in the oracle's order.
fn flat(result: &Result64) -> Vec<Vec<f64>> {
    let mut all = vec![result.values.clone()];
    all.extend(result.gradients.iter().cloned());
    all
}

fn options(net: &Net, precision: Precision, instructions: Instructions) -> RecurrentStackOptions {
    RecurrentStackOptions::new(net.cell, net.n_inputs, net.n_hidden)
        .with_layers(net.n_layers)
        .with_dropout(net.dropout)
        .with_output_dropout(net.dropout)
        .with_precision(precision)
        .with_instructions(instructions)
}

/// Runs encoder or decoder, and returns values and gradients in the oracle's order.
fn run(problem: &Problem, options: RecurrentStackOptions) -> Vec<Vec<f32>> {
    if problem.decodes() {
        run_decoder(problem, options)
    } else {
        run_encoder(problem, options)
    }
}

fn weights<'a>(parameters: &'a [Vec<f32>], n_layers: usize) -> Vec<LayerWeights<'a>> {
    let layers = parameters[..4 * n_layers].chunks_exact(4);
    let layer = |p: &'a [Vec<f32>]| LayerWeights {
        input: &p[0],
        recurrent: &p[1],
        input_bias: &p[2],
        recurrent_bias: &p[3],
    };
    layers.map(layer).collect()
}

fn layer_gradients(gradients: &mut [Vec<f32>]) -> Vec<LayerGradients<'_>> {
    let mut layers = Vec::new();
    let mut rest = gradients;
    while let [input, recurrent, input_bias, recurrent_bias, others @ ..] = rest {
        layers.push(LayerGradients {
            input,
            recurrent,
            input_bias,
            recurrent_bias,
        });
        rest = others;
    }
    layers
}

fn run_encoder(problem: &Problem, options: RecurrentStackOptions) -> Vec<Vec<f32>> {
    let net = &problem.net;
    let parameters = problem.parameters_f32();
    let n = 4 * net.n_layers;
    let mut encoder = RecurrentEncoder::new(options).unwrap();
    encoder
        .pack(&weights(&parameters, net.n_layers), PassKind::Training)
        .unwrap();
    let state = State {
        hidden: &parameters[n],
        cell: &parameters[n + 1],
    };
    let mut input = EncoderInput::new(&parameters[n + 2], problem.batch, problem.steps)
        .with_lengths(&problem.lengths)
        .with_initial(state);
    input.draw = problem.draw;
    encoder.forward(input).unwrap();
    let states = parameters[n].len();
    let (mut hidden, mut cell) = (vec![0.0; states], vec![0.0; parameters[n + 1].len()]);
    let mut outputs = vec![0.0; problem.batch * problem.steps * net.n_hidden];
    encoder.hidden(&mut hidden).unwrap();
    if net.cell == Cell::Lstm {
        encoder.cell(&mut cell).unwrap();
    }
    encoder.outputs(&mut outputs).unwrap();
    let mut gradients: Vec<Vec<f32>> = parameters.iter().map(|p| vec![9.0; p.len()]).collect();
    let upstream: Vec<f32> = problem.upstream.iter().map(|&value| value as f32).collect();
    let (d_hidden, rest) = upstream.split_at(states);
    let (d_cell, d_outputs) = rest.split_at(cell.len());
    {
        let (layers, others) = gradients.split_at_mut(n);
        let [d_initial, d_initial_cell, d_inputs] = others else {
            panic!("three")
        };
        let mut layers = layer_gradients(layers);
        let upstream = EncoderUpstream {
            hidden: Some(d_hidden),
            cell: Some(d_cell),
            outputs: Some(d_outputs),
        };
        let mut all = EncoderGradients {
            layers: &mut layers,
            inputs: Some(d_inputs),
            initial: Some(StateGradients {
                hidden: d_initial,
                cell: d_initial_cell,
            }),
        };
        encoder.backward(upstream, &mut all).unwrap();
        assert!(
            encoder.backward(upstream, &mut all).is_err(),
            "the tapes are used up"
        );
    }
    let mut found = vec![[hidden, cell, outputs].concat()];
    found.extend(gradients);
    found
}

fn run_decoder(problem: &Problem, options: RecurrentStackOptions) -> Vec<Vec<f32>> {
    let net = &problem.net;
    let parameters = problem.parameters_f32();
    let n = 4 * net.n_layers;
    let mut decoder = RecurrentDecoder::new(options).unwrap();
    let [hidden, cell, start, projection, bias, attention @ ..] = &parameters[n..] else {
        panic!("five")
    };
    let mask: Vec<bool> = (0..problem.batch * N_KEYS)
        .map(|key| key % N_KEYS != N_KEYS - 1)
        .collect();
    let mut memory = None;
    if let [query, query_bias, out, out_bias, keys, values] = attention {
        let weights = CrossAttentionWeights {
            n_heads: net.n_heads,
            query,
            query_bias,
            out,
            out_bias,
        };
        decoder.pack_attention(weights, PassKind::Training).unwrap();
        // Weights that are refused leave those before.
        let refused = CrossAttentionWeights {
            n_heads: 5,
            ..weights
        };
        assert!(
            decoder
                .pack_attention(refused, PassKind::Inference)
                .is_err()
        );
        memory = Some(Memory {
            keys,
            values,
            n_keys: N_KEYS,
            mask: Some(&mask),
        });
    }
    let projection = Projection {
        weights: projection,
        bias,
    };
    decoder
        .pack(
            &weights(&parameters, net.n_layers),
            projection,
            PassKind::Training,
        )
        .unwrap();
    let truth: Vec<f32> = problem.truth.iter().map(|&value| value as f32).collect();
    let mut input = DecoderInput::new(start, State { hidden, cell }, problem.batch, problem.steps)
        .with_truth(&truth, problem.teach.as_ref().unwrap())
        .with_lengths(&problem.lengths);
    input.draw = problem.draw;
    input.memory = memory;
    let mut predictions = vec![9.0; truth.len()];
    decoder.forward(input, &mut predictions).unwrap();
    let mut gradients: Vec<Vec<f32>> = parameters.iter().map(|p| vec![9.0; p.len()]).collect();
    let upstream: Vec<f32> = problem.upstream.iter().map(|&value| value as f32).collect();
    {
        let (layers, others) = gradients.split_at_mut(n);
        let [hidden, cell, start, projection, bias, attention @ ..] = others else {
            panic!("five")
        };
        let mut layers = layer_gradients(layers);
        let mut all = DecoderGradients {
            layers: &mut layers,
            projection,
            projection_bias: bias,
            start,
            initial: StateGradients { hidden, cell },
        };
        if let [query, query_bias, out, out_bias, keys, values] = attention {
            let mut more = CrossGradients {
                query,
                query_bias,
                out,
                out_bias,
                keys,
                values,
            };
            assert!(
                decoder.backward(&upstream, &mut all).is_err(),
                "the pass attended"
            );
            decoder
                .backward_attended(&upstream, &mut all, memory.unwrap(), &mut more)
                .unwrap();
        } else {
            decoder.backward(&upstream, &mut all).unwrap();
        }
    }
    let mut found = vec![predictions];
    found.extend(gradients);
    found
}

fn problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for cell in [Cell::Tanh, Cell::Gru, Cell::Lstm] {
        for (n_layers, dropout) in [(1, 0.0), (2, 0.3)] {
            let drawn = Some(vec![false, true, false, true, false]);
            let taught = Some(vec![false, true, true, true, true]);
            for (teach, n_heads) in [
                (None, 0),
                (drawn.clone(), 0),
                (taught.clone(), 0),
                (drawn, 3),
                (taught, 3),
            ] {
                let net = Net {
                    cell,
                    n_inputs: 3,
                    n_hidden: 12,
                    n_layers,
                    dropout,
                    n_heads,
                };
                let draw = (dropout > 0.0).then_some(Draw::new(7, 3));
                problems.push(Problem::new(net, 19, 5, draw, teach));
            }
        }
    }
    problems
}

/// Values and gradients are those of the f64 form, for every cell, with ragged lengths (one of
/// them zero), two layers, dropout and drawn inputs.
#[test]
fn values_and_gradients_are_the_oracles() {
    for problem in problems() {
        let expected = problem.solve();
        let found = run(
            &problem,
            options(&problem.net, Precision::F32, Instructions::detect()),
        );
        for (i, (found, expected)) in found.iter().zip(flat(&expected)).enumerate() {
            let gap = gap(found, &expected);
            assert!(gap < 1e-5, "{:?}, part {i}: gap {gap:e}", problem.net);
        }
    }
}

/// Every instruction set gives the same bits, in both precisions.
#[test]
fn instructions_give_equal_bits() {
    for problem in problems() {
        for precision in [Precision::F32, Precision::Bf16] {
            let mut runs = Instructions::available()
                .map(|instructions| run(&problem, options(&problem.net, precision, instructions)));
            let first = runs.next().unwrap();
            assert!(
                runs.all(|other| other == first),
                "{:?} {precision:?}",
                problem.net
            );
        }
    }
}

/// bf16 changes gradients by what its 8 bits allow.
#[test]
fn bf16_is_near_f32() {
    for problem in problems() {
        let wide = run(
            &problem,
            options(&problem.net, Precision::F32, Instructions::detect()),
        );
        let narrow = run(
            &problem,
            options(&problem.net, Precision::Bf16, Instructions::detect()),
        );
        for (wide, narrow) in wide.iter().zip(&narrow) {
            let wide: Vec<f64> = wide.iter().map(|&value| value.into()).collect();
            let gap = gap(narrow, &wide);
            assert!(gap < 3e-2, "{:?}: gap {gap:e}", problem.net);
        }
        assert_ne!(wide, narrow, "bf16 was used");
    }
}

/// Any number of threads gives the same bits.
#[test]
fn threads_give_equal_bits() {
    for teach in [None, Some(vec![false, true, false])] {
        let net = Net {
            cell: Cell::Lstm,
            n_inputs: 40,
            n_hidden: 72,
            n_layers: 2,
            dropout: 0.1,
            n_heads: 2 * usize::from(teach.is_some()),
        };
        let problem = Problem::new(net, 50, 3, Some(Draw::new(1, 2)), teach);
        for precision in [Precision::F32, Precision::Bf16] {
            let options = options(&problem.net, precision, Instructions::detect());
            let runs = [1, 2, 3, 7].map(|n| {
                let pool = ThreadPoolBuilder::new().num_threads(n).build().unwrap();
                pool.install(|| run(&problem, options))
            });
            assert!(runs.iter().all(|other| *other == runs[0]), "{precision:?}");
        }
    }
}
