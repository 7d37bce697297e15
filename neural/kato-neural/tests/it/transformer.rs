//! Transformer blocks and pooling: fused as in plain operations, padding, draws, threads.

use kato_neural::burn;
use kato_neural::burn::module::{Module, ModuleVisitor, Param};
use kato_neural::burn::optim::GradientsParams;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::{
    AttentionPooling, Positions, Transformer, TransformerOptions, Valid, embedding,
    sinusoidal_positions,
};
use kato_neural::{AttentionForm, Initializer, Pass, Precision};

use crate::recurrent::{gap, numbers};
use crate::support::device;

const BATCH: usize = 5;
const ROWS: usize = 9;
const WIDTH: usize = 12;
/// One has nothing, one a single row.
const LENGTHS: [usize; BATCH] = [9, 0, 4, 1, 7];

#[derive(Module, Debug)]
struct Net {
    stack: Transformer,
    pooling: AttentionPooling,
}

fn net(n_layers: usize, dropout: f64, device: &Device) -> Net {
    let draws = &mut Initializer::from_seed(3);
    let options = TransformerOptions::new(WIDTH, 3, n_layers).with_hidden(20);
    let net = Net {
        stack: options
            .with_dropout(dropout, 4)
            .with_final_norm()
            .init(draws, device),
        pooling: AttentionPooling::new(WIDTH, draws, device),
    };
    shaken(net)
}

/// Adds something to every parameter, as zeros and ones hide errors.
fn shaken<M: Module>(model: M) -> M {
    struct Shaker(Initializer);
    impl burn::module::ModuleMapper for Shaker {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let (id, tensor, mapper) = param.consume();
            let (shape, device) = (tensor.dims(), tensor.device());
            let noise = self.0.uniform(shape.iter().product(), 0.3);
            let noise: Tensor<D> = Tensor::from_data(TensorData::new(noise, shape), &device);
            let shaken = (tensor.detach() + noise).detach();
            let shaken = shaken.set_require_grad(device.is_autodiff());
            Param::from_mapped_value(id, shaken, mapper)
        }
    }
    model.map(&mut Shaker(Initializer::from_seed(8)))
}

fn random<const D: usize>(seed: u64, shape: [usize; D], device: &Device) -> Tensor<D> {
    let values = Initializer::from_seed(seed).uniform(shape.iter().product(), 1.0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Gradients of all parameters, one after another.
fn gradients<M: Module>(model: &M, gradients: &GradientsParams) -> Vec<Vec<f64>> {
    struct Collector<'a>(&'a GradientsParams, Vec<Vec<f64>>);
    impl ModuleVisitor for Collector<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(param.id);
            self.1
                .push(numbers(&gradient.expect("every parameter takes part")));
        }
    }
    let mut collector = Collector(gradients, Vec::new());
    model.visit(&mut collector);
    collector.1
}

/// Outputs of stack and pooling, then the gradients of rows and parameters.
fn run(net: &Net, rows: Tensor<3>, valid: Valid<'_>, pass: &Pass) -> Vec<Vec<f64>> {
    let rows = rows.require_grad();
    let outputs = net.stack.forward(rows.clone(), valid, pass);
    let pooled = net.pooling.forward(outputs.clone(), valid);
    let loss = (outputs.clone() * random(7, outputs.dims(), &device())).sum()
        + (pooled.clone() * random(8, pooled.dims(), &device())).sum();
    let mut all = loss.backward();
    let mut found = vec![numbers(&outputs), numbers(&pooled)];
    found.push(numbers(&rows.grad(&all).expect("tracked")));
    found.extend(gradients(net, &GradientsParams::from_module(&mut all, net)));
    found
}

fn rows() -> Tensor<3> {
    random(5, [BATCH, ROWS, WIDTH], &device())
}

/// Some rows of each sequence, of one none.
fn mask() -> Vec<bool> {
    (0..BATCH * ROWS)
        .map(|at| at / ROWS != 2 && at * 7 % 5 < 3)
        .collect()
}

fn assert_close(found: &[Vec<f64>], expected: &[Vec<f64>], bound: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let gap = gap(found, expected);
        assert!(gap < bound, "{what}: tensor {at}, {gap}");
    }
}

#[test]
fn plain_blocks_that_keep_their_inputs_alone_have_the_same_bits() {
    let mask = mask();
    for valid in [Valid::All, Valid::Lengths(&LENGTHS), Valid::Mask(&mask)] {
        for precision in [Precision::F32, Precision::Bf16] {
            let net = net(3, 0.3, &device());
            let pass = Pass::training(11, 5).with_precision(precision);
            let plain = pass.with_first_row(3).with_plain_operations();
            let kept = run(&net, rows(), valid, &plain);
            let anew = run(&net, rows(), valid, &plain.with_recomputed_blocks());
            assert!(anew == kept, "{valid:?}, {precision:?}");
        }
    }
}

#[test]
fn attention_that_keeps_its_probabilities_has_the_same_bits() {
    // A sequence of more rows than probabilities are kept for unless asked.
    let options = TransformerOptions::new(4, 2, 2);
    let stack = options.init(&mut Initializer::from_seed(3), &device());
    let run = |form| {
        let pass = Pass::training(11, 5).with_attention(form);
        let rows = random(5, [1, 300, 4], &device()).require_grad();
        let loss = stack
            .forward(rows.clone(), Valid::All, &pass)
            .square()
            .sum();
        numbers(&rows.grad(&loss.backward()).expect("tracked"))
    };
    assert!(run(AttentionForm::Plain) == run(AttentionForm::Tiled));
}

#[test]
fn outputs_and_gradients_are_those_of_plain_operations() {
    let mask = mask();
    let valid = [Valid::All, Valid::Lengths(&LENGTHS), Valid::Mask(&mask)];
    // Six are more than one node takes.
    for n_layers in [1, 2, 3, 6] {
        for dropout in [0.0, 0.3] {
            for valid in valid {
                let net = net(n_layers, dropout, &device());
                let pass = Pass::training(11, 5).with_first_row(3);
                let fused = run(&net, rows(), valid, &pass);
                let plain = run(&net, rows(), valid, &pass.with_plain_operations());
                let what = format!("{n_layers} layers, {dropout}, {valid:?}");
                assert_close(&fused, &plain, 1e-5, &what);
                assert_ne!(fused, plain, "both took the same way");
            }
        }
    }
}

#[test]
fn in_bf16_they_are_close() {
    let net = net(2, 0.0, &device());
    let pass = Pass::training(11, 5).with_precision(Precision::Bf16);
    let valid = Valid::Lengths(&LENGTHS);
    let fused = run(&net, rows(), valid, &pass);
    let plain = run(&net, rows(), valid, &pass.with_plain_operations());
    assert_close(&fused, &plain, 3e-2, "bf16");
    assert_ne!(
        fused,
        run(&net, rows(), valid, &Pass::training(11, 5)),
        "rounded nothing"
    );
}

#[test]
fn judging_without_a_graph_is_the_same() {
    let (graph, plain) = (net(2, 0.3, &device()), net(2, 0.3, &Device::flex()));
    let (valid, pass) = (Valid::Lengths(&LENGTHS), Pass::evaluation());
    let rows = random(5, [BATCH, ROWS, WIDTH], &Device::flex());
    let found = plain.stack.forward(rows.clone(), valid, &pass);
    let other = graph.stack.forward(Tensor::from_inner(rows), valid, &pass);
    assert_eq!(numbers(&found), numbers(&other));
}

#[test]
fn padding_is_nothing_whatever_it_holds() {
    let mask = mask();
    for pass in [
        Pass::training(1, 1),
        Pass::training(1, 1).with_plain_operations(),
    ] {
        let (net, valid) = (net(2, 0.2, &device()), Valid::Mask(&mask));
        let clean = run(&net, rows(), valid, &pass);
        let mut values = numbers(&rows());
        for (row, values) in values.chunks_mut(WIDTH).enumerate() {
            if !mask[row] {
                values.fill(f64::NAN);
            }
        }
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let dirty = Tensor::from_data(TensorData::new(values, [BATCH, ROWS, WIDTH]), &device());
        assert_eq!(run(&net, dirty, valid, &pass), clean);
        // Outputs and gradients there are zeros, and so is what a sequence without rows is pooled to.
        for (row, valid) in mask.iter().enumerate() {
            let is_zero = |values: &[f64]| values.iter().all(|&value| value == 0.0);
            let at = row * WIDTH..(row + 1) * WIDTH;
            assert_eq!(is_zero(&clean[0][at.clone()]), !valid);
            assert_eq!(is_zero(&clean[2][at]), !valid);
        }
        assert!(
            clean[1][2 * WIDTH..3 * WIDTH]
                .iter()
                .all(|&value| value == 0.0)
        );
    }
}

#[test]
fn rows_behind_an_end_can_be_left_out_altogether() {
    let (net, pass) = (net(2, 0.2, &device()), Pass::training(1, 1));
    let forward = |rows: Tensor<3>, n: usize| {
        let lengths: Vec<usize> = LENGTHS.iter().map(|&length| length.min(4)).collect();
        let outputs = net.stack.forward(rows, Valid::Lengths(&lengths), &pass);
        numbers(&outputs.narrow(1, 0, n))
    };
    assert_eq!(forward(rows(), 4), forward(rows().narrow(1, 0, 4), 4));
}

#[test]
fn sequences_of_a_part_get_the_draws_of_the_whole() {
    let net = net(2, 0.4, &device());
    for pass in [
        Pass::training(1, 1),
        Pass::training(1, 1).with_plain_operations(),
    ] {
        let whole = net.stack.forward(rows(), Valid::All, &pass).narrow(0, 3, 2);
        let pass = pass.with_first_row(3);
        let part = net.stack.forward(rows().narrow(0, 3, 2), Valid::All, &pass);
        assert!(gap(&numbers(&part), &numbers(&whole)) < 1e-6);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let run_with = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .unwrap();
        pool.install(|| {
            let net = net(2, 0.3, &device());
            let rows = random(5, [33, 17, WIDTH], &device());
            let lengths: Vec<usize> = (0..33).map(|row| row * 5 % 18).collect();
            run(&net, rows, Valid::Lengths(&lengths), &Pass::training(1, 2))
        })
    };
    let expected = run_with(1);
    for n_threads in [2, 3, 7] {
        assert_eq!(run_with(n_threads), expected, "{n_threads} threads");
    }
}

#[test]
fn shares_of_pooling_add_up_to_one_over_valid_rows() {
    let (net, mask) = (net(1, 0.0, &Device::flex()), mask());
    let rows = random(5, [BATCH, ROWS, WIDTH], &Device::flex());
    let shares = numbers(&net.pooling.weights(rows, Valid::Mask(&mask)));
    for (sequence, shares) in shares.chunks(ROWS).enumerate() {
        let expected = if sequence == 2 { 0.0 } else { 1.0 };
        assert!((shares.iter().sum::<f64>() - expected).abs() < 1e-6);
        let valid = &mask[sequence * ROWS..][..ROWS];
        assert!(
            shares
                .iter()
                .zip(valid)
                .all(|(share, valid)| (*share > 0.0) == *valid)
        );
    }
}

#[test]
fn tokens_and_places_become_vectors() {
    let (draws, device) = (&mut Initializer::from_seed(1), Device::flex());
    let tokens = embedding(7, 4, 0.1, draws, &device);
    let places = Positions::new(6, 4, 0.1, draws, &device);
    let rows = places.forward(tokens.forward(Tensor::from_ints([[3, 0, 6]], &device)));
    let expected = tokens.weight.val().narrow(0, 6, 1) + places.weight.val().narrow(0, 2, 1);
    assert_eq!(numbers(&rows.narrow(1, 2, 1)), numbers(&expected));
    let still = numbers(&sinusoidal_positions(3, 4, &device));
    let [one, slow] = [2.0_f64, 2.0 / 100.0];
    let expected = [one.sin(), one.cos(), slow.sin(), slow.cos()];
    assert!(gap(&still[8..], &expected) < 1e-6, "{still:?}");
}
