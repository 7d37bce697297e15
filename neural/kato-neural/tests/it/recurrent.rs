//! Recurrent layers against scalar loops in `f64`, and their gradients against finite differences.

use kato_neural::burn::module::Param;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::{Cell, Feed, Recurrent, RecurrentOptions, RecurrentState};
use kato_neural::layers::{SequenceDecoderOptions, last_valid};
use kato_neural::{Draws, Initializer, Pass, Precision};

use crate::oracle::{Layer, run};

const CELLS: [Cell; 3] = [Cell::Vanilla, Cell::Gru, Cell::Lstm];

pub(crate) fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    let values = tensor
        .clone()
        .into_data()
        .try_into_vec::<f32>()
        .expect("f32");
    values.into_iter().map(f64::from).collect()
}

fn random<const D: usize>(seed: u64, shape: [usize; D], device: &Device) -> Tensor<D> {
    let values = Initializer::from_seed(seed).uniform(shape.iter().product(), 1.0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn layers_of(net: &Recurrent) -> Vec<Layer> {
    let values = |param: &Param<Tensor<2>>| numbers(&param.val());
    let bias = |param: &Param<Tensor<1>>| numbers(&param.val());
    net.layers()
        .iter()
        .map(|layer| Layer {
            weight_ih: values(&layer.weight_ih),
            weight_hh: values(&layer.weight_hh),
            bias_ih: bias(&layer.bias_ih),
            bias_hh: bias(&layer.bias_hh),
        })
        .collect()
}

/// The largest gap, as a share of the largest entry.
pub(crate) fn gap(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected
        .iter()
        .fold(1e-30_f64, |largest, value| largest.max(value.abs()));
    found
        .iter()
        .zip(expected)
        .map(|(a, b)| (a - b).abs() / largest)
        .fold(0.0, f64::max)
}

#[test]
fn every_cell_gives_what_the_formulas_say() {
    let device = Device::flex();
    for cell in CELLS {
        let net = RecurrentOptions::new(cell, 3, 5)
            .with_layers(2)
            .init(&mut Initializer::from_seed(1), &device);
        let input = random(2, [2, 4, 3], &device);
        let (outputs, state) = net.forward(input.clone(), None, &Pass::evaluation());
        let values = numbers(&input);
        let mut expected = Vec::new();
        for row in 0..2 {
            let vector = |time: usize| values[(row * 4 + time) * 3..][..3].to_vec();
            expected.extend(run(cell, &layers_of(&net), 5, |time, _| vector(time), 4).concat());
        }
        assert!(gap(&numbers(&outputs), &expected) < 1e-6, "{cell:?}");
        let last = numbers(&state.hidden.narrow(0, 1, 1));
        assert_eq!(last, numbers(&last_valid(outputs, &[4, 4])), "{cell:?}");
    }
}

#[test]
fn what_lies_behind_the_end_of_a_sequence_has_no_influence() {
    let device = Device::flex();
    let net = RecurrentOptions::new(Cell::Lstm, 3, 4).init(&mut Initializer::from_seed(1), &device);
    let input = random(2, [2, 5, 3], &device);
    let other = input.clone().slice_fill([1..2, 2..5, 0..3], 9.0);
    let encode = |input| numbers(&net.encode(input, &[5, 2], &Pass::evaluation()));
    assert_eq!(encode(input), encode(other));
}

#[test]
fn gradients_of_a_sampling_decoder_are_finite_differences() {
    let device = Device::flex().autodiff();
    for cell in CELLS {
        let options = RecurrentOptions::new(cell, 2, 3).with_layers(2);
        let mut decoder =
            SequenceDecoderOptions::new(options).init(&mut Initializer::from_seed(4), &device);
        let targets = random(5, [2, 4, 2], &device);
        let hidden = random(6, [2, 2, 3], &device);
        let coins = [false, true, false, true];
        let loss = |hidden: Tensor<3>, decoder: &mut _| -> Tensor<1> {
            let decoder: &mut kato_neural::layers::SequenceDecoder = decoder;
            let memory = cell.has_memory().then(|| hidden.clone() * 0.5);
            let state = RecurrentState { hidden, memory };
            let feed = Feed::Sampled(&targets, &coins);
            let outputs = decoder.forward(state, 4, feed, &Pass::training(1, 0));
            (outputs - targets.clone()).square().sum()
        };
        let tracked = hidden.clone().require_grad();
        let gradients = loss(tracked.clone(), &mut decoder).backward();
        let found = numbers(&tracked.grad(&gradients).unwrap());

        let values = numbers(&hidden);
        let mut shifted = |at: usize, by: f64| {
            let mut values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            values[at] += by as f32;
            let hidden = Tensor::from_data(TensorData::new(values, [2, 2, 3]), &device);
            f64::from(loss(hidden, &mut decoder).into_scalar::<f32>())
        };
        // An f32 loss of some 10 tells four digits of a difference of this width.
        let width = 5e-3;
        let expected: Vec<f64> = (0..values.len())
            .map(|at| (shifted(at, width) - shifted(at, -width)) / (2.0 * width))
            .collect();
        assert!(
            gap(&found, &expected) < 2e-3,
            "{cell:?} {}",
            gap(&found, &expected)
        );
    }
}

#[test]
fn a_decoder_that_is_always_fed_the_truth_or_never_is_what_the_coins_say() {
    let device = Device::flex();
    let options = RecurrentOptions::new(Cell::Gru, 2, 3);
    let decoder =
        SequenceDecoderOptions::new(options).init(&mut Initializer::from_seed(4), &device);
    let targets = random(5, [2, 4, 2], &device);
    let forward = |feed: Feed<'_>| {
        let state = RecurrentState {
            hidden: random(6, [1, 2, 3], &device),
            memory: None,
        };
        numbers(&decoder.forward(state, 4, feed, &Pass::evaluation()))
    };
    assert_eq!(
        forward(Feed::True(&targets)),
        forward(Feed::Sampled(&targets, &[true; 4]))
    );
    assert_eq!(
        forward(Feed::Own),
        forward(Feed::Sampled(&targets, &[false; 4]))
    );
    assert_ne!(forward(Feed::Own), forward(Feed::True(&targets)));
}

#[test]
fn dropout_is_a_function_of_the_step_and_the_row() {
    let device = Device::flex();
    let net = RecurrentOptions::new(Cell::Vanilla, 3, 8)
        .with_layers(2)
        .with_dropout(0.5, 10)
        .init(&mut Initializer::from_seed(1), &device);
    let input = random(2, [4, 3, 3], &device);
    let forward = |input: Tensor<3>, pass: Pass| numbers(&net.forward(input, None, &pass).0);
    let whole = forward(input.clone(), Pass::training(7, 3));
    assert_eq!(whole, forward(input.clone(), Pass::training(7, 3)));
    assert_ne!(whole, forward(input.clone(), Pass::training(7, 4)));
    assert_ne!(whole, forward(input.clone(), Pass::evaluation()));
    // The second half computed alone drops what it dropped in the whole.
    let half = forward(
        input.narrow(0, 2, 2),
        Pass::training(7, 3).with_first_row(2),
    );
    assert!(gap(&half, &whole[2 * 3 * 8..]) < 1e-6);
}

#[test]
fn products_in_bf16_are_close_and_not_equal() {
    let device = Device::flex();
    let net = RecurrentOptions::new(Cell::Lstm, 3, 8).init(&mut Initializer::from_seed(1), &device);
    let input = random(2, [4, 3, 3], &device);
    let forward = |precision: Precision| {
        let pass = Pass::evaluation().with_precision(precision);
        numbers(&net.forward(input.clone(), None, &pass).0)
    };
    let exact = forward(Precision::F32);
    for (precision, bound) in [(Precision::Bf16, 2e-2), (Precision::F16, 2e-3)] {
        let found = gap(&forward(precision), &exact);
        assert!(found > 0.0 && found < bound, "{precision:?} {found}");
    }
}

#[test]
fn coins_have_the_share_that_was_asked_for() {
    let n_true = Draws::new(3, 1, 0)
        .coins(10_000, 0.3)
        .into_iter()
        .filter(|&coin| coin)
        .count();
    assert!((2_850..3_150).contains(&n_true), "{n_true}");
}
