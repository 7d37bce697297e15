//! Whole sequences as one node against Burn's own operations: outputs, and every gradient.

use kato_neural::burn;
use kato_neural::burn::module::{Module, ModuleVisitor, Param};
use kato_neural::burn::optim::GradientsParams;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::{
    Cell, Feed, Recurrent, RecurrentOptions, RecurrentState, SequenceDecoder,
    SequenceDecoderOptions, last_valid,
};
use kato_neural::{Initializer, Pass, Precision};

use crate::recurrent::{gap, numbers};
use crate::support::device;

/// One of them has nothing.
const LENGTHS: [usize; 5] = [6, 1, 4, 0, 3];
/// How much of each is attended to.
const ATTENDED: [usize; 5] = [0, 1, 3, 2, 3];

#[derive(Module, Debug)]
struct Pair {
    encoder: Recurrent,
    decoder: SequenceDecoder,
}

fn pair(cell: Cell, n_layers: usize, dropout: f64, device: &Device) -> Pair {
    pair_with(SequenceDecoderOptions::new, cell, n_layers, dropout, device)
}

/// Makes the decoder as `decoder` says.
fn pair_with(
    decoder: impl FnOnce(RecurrentOptions) -> SequenceDecoderOptions,
    cell: Cell,
    n_layers: usize,
    dropout: f64,
    device: &Device,
) -> Pair {
    let draws = &mut Initializer::from_seed(3);
    let options = RecurrentOptions::new(cell, 7, 9).with_layers(n_layers);
    Pair {
        encoder: options.with_dropout(dropout, 1).init(draws, device),
        decoder: decoder(options.with_dropout(dropout, 20))
            .with_output_dropout(dropout, 30)
            .init(draws, device),
    }
}

fn random<const D: usize>(seed: u64, shape: [usize; D], device: &Device) -> Tensor<D> {
    let values = Initializer::from_seed(seed).uniform(shape.iter().product(), 1.0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Gradients of all parameters, one after another, each with its name's place.
fn gradients(model: &Pair, gradients: &GradientsParams) -> Vec<Vec<f64>> {
    struct Collector<'a>(&'a GradientsParams, Vec<Vec<f64>>);
    impl ModuleVisitor for Collector<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.1.push(numbers(
                &self
                    .0
                    .get::<D>(param.id)
                    .expect("every parameter takes part"),
            ));
        }
    }
    let mut collector = Collector(gradients, Vec::new());
    model.visit(&mut collector);
    collector.1
}

/// Encodes, decodes from the codes, and returns outputs and gradients; the input's too.
fn run(model: &Pair, coins: &[bool], pass: &Pass) -> Vec<Vec<f64>> {
    let input = random(5, [5, 6, 7], &device()).require_grad();
    let n_layers = model.encoder.layers().len();
    let codes = model.encoder.encode(input.clone(), &LENGTHS, pass);
    let state = Tensor::stack(vec![codes.clone(); n_layers], 0);
    let memory = model
        .encoder
        .cell()
        .has_memory()
        .then(|| state.clone() * 0.5);
    let state = RecurrentState {
        hidden: state,
        memory,
    };
    let truth = random(6, [5, 6, 7], &device());
    let states = model.encoder.outputs(input.clone(), &LENGTHS, pass);
    let (decoder, feed) = (&model.decoder, Feed::Sampled(&truth, coins));
    let outputs = if decoder.attention().is_some() {
        // Shorter than what is decoded, and nothing where most is decoded.
        let attended = decoder.attend(states.clone(), &ATTENDED, pass);
        decoder.forward_attending(state, &attended, &LENGTHS, 6, feed, pass)
    } else {
        decoder.forward_valid(state, &LENGTHS, 6, feed, pass)
    };
    let loss = (outputs.clone() * random(7, [5, 6, 7], &device())).sum()
        + codes.clone().square().sum()
        + (states.clone() * random(8, [5, 6, 9], &device())).sum();
    assert_eq!(
        numbers(&last_valid(states.clone(), &LENGTHS)),
        numbers(&codes)
    );
    let mut found = vec![numbers(&codes), numbers(&outputs), numbers(&states)];
    let mut all = loss.backward();
    found.push(numbers(&input.grad(&all).expect("tracked")));
    found.extend(gradients(
        model,
        &GradientsParams::from_module(&mut all, model),
    ));
    found
}

#[test]
fn outputs_and_gradients_are_those_of_plain_operations() {
    let coins = [false, true, false, true, true, false];
    for cell in [Cell::Vanilla, Cell::Gru, Cell::Lstm] {
        for n_layers in [1, 2, 3, 4, 6] {
            for dropout in [0.0, 0.4] {
                let model = pair(cell, n_layers, dropout, &device());
                let pass = Pass::training(11, 5).with_first_row(3);
                let fused = run(&model, &coins, &pass);
                let plain = run(&model, &coins, &pass.with_plain_operations());
                for (at, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
                    let gap = gap(fused, plain);
                    assert!(
                        gap < 1e-5,
                        "{cell:?}, {n_layers} layers, {dropout}: tensor {at}, {gap}"
                    );
                }
                assert_ne!(fused, plain, "both took the same way");
            }
        }
    }
}

#[test]
fn a_decoder_that_attends_is_that_of_plain_operations() {
    let coins = [
        [false, true, false, true, true, false],
        [true; 6],
        [false; 6],
    ];
    for cell in [Cell::Vanilla, Cell::Gru, Cell::Lstm] {
        for n_layers in [1, 2, 5] {
            for coins in &coins {
                let options = |options| SequenceDecoderOptions::new(options).with_attention(3);
                let model = pair_with(options, cell, n_layers, 0.3, &device());
                let pass = Pass::training(11, 5).with_first_row(3);
                let fused = run(&model, coins, &pass);
                let plain = run(&model, coins, &pass.with_plain_operations());
                for (at, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
                    let gap = gap(fused, plain);
                    assert!(
                        gap < 1e-5,
                        "{cell:?}, {n_layers} layers: tensor {at}, {gap}"
                    );
                }
                assert_ne!(fused, plain, "both took the same way");
            }
        }
    }
}

#[test]
fn in_bf16_a_decoder_that_attends_is_close() {
    let options = |options| SequenceDecoderOptions::new(options).with_attention(3);
    let model = pair_with(options, Cell::Lstm, 2, 0.0, &device());
    let pass = Pass::training(11, 5).with_precision(Precision::Bf16);
    let fused = run(&model, &[false; 6], &pass);
    let plain = run(&model, &[false; 6], &pass.with_plain_operations());
    for (at, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
        let gap = gap(fused, plain);
        assert!(gap < 3e-2, "tensor {at}, {gap}");
    }
}

#[test]
fn in_bf16_they_are_close() {
    for cell in [Cell::Vanilla, Cell::Gru, Cell::Lstm] {
        let model = pair(cell, 2, 0.0, &device());
        let pass = Pass::training(11, 5).with_precision(Precision::Bf16);
        let fused = run(&model, &[true; 6], &pass);
        let plain = run(&model, &[true; 6], &pass.with_plain_operations());
        for (at, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
            assert!(
                gap(fused, plain) < 3e-2,
                "{cell:?}: tensor {at}, {}",
                gap(fused, plain)
            );
        }
    }
}

#[test]
fn judging_without_a_graph_is_the_same() {
    let plain = Device::flex();
    let model = pair(Cell::Lstm, 2, 0.4, &plain);
    let forward = |pass: &Pass| {
        let codes = model
            .encoder
            .encode(random(5, [5, 6, 7], &plain), &LENGTHS, pass);
        let hidden = Tensor::stack(vec![codes.clone(); 2], 0);
        let state = RecurrentState {
            memory: Some(hidden.clone()),
            hidden,
        };
        numbers(&model.decoder.forward(state, 6, Feed::Own, pass))
    };
    let pass = Pass::evaluation();
    assert!(gap(&forward(&pass), &forward(&pass.with_plain_operations())) < 1e-5);
}

#[test]
fn graphs_that_are_alive_together_do_not_meet() {
    let model = pair(Cell::Gru, 1, 0.0, &device());
    let pass = Pass::training(1, 1);
    let encode = |seed: u64| {
        let input = random(seed, [5, 6, 7], &device()).require_grad();
        (
            model
                .encoder
                .encode(input.clone(), &LENGTHS, &pass)
                .square()
                .sum(),
            input,
        )
    };
    let gradient = |(loss, input): &(Tensor<1>, Tensor<3>)| {
        numbers(&input.grad(&loss.backward()).expect("tracked"))
    };
    let alone = [gradient(&encode(1)), gradient(&encode(2))];
    let (first, second) = (encode(1), encode(2));
    // A graph that is dropped without a way back gives its workspace back.
    drop(encode(3));
    assert_eq!(
        [gradient(&second), gradient(&first)],
        [alone[1].clone(), alone[0].clone()]
    );
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let run_with = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .unwrap();
        pool.install(|| {
            let draws = &mut Initializer::from_seed(3);
            let options = RecurrentOptions::new(Cell::Lstm, 40, 48).with_layers(2);
            let net = options.with_dropout(0.3, 1).init(draws, &device());
            let input = random(5, [70, 9, 40], &device()).require_grad();
            let lengths: Vec<usize> = (0..70).map(|row| 1 + row * 5 % 9).collect();
            let codes = net.encode(input.clone(), &lengths, &Pass::training(1, 2));
            let mut all = codes.clone().square().sum().backward();
            let mut found = vec![
                numbers(&codes),
                numbers(&input.grad(&all).expect("tracked")),
            ];
            for layer in net.layers() {
                let gradient = layer.weight_hh.val().grad_remove(&mut all);
                found.push(numbers(&gradient.expect("takes part")));
            }
            found
        })
    };
    let expected = run_with(1);
    for n_threads in [2, 3, 7] {
        assert_eq!(run_with(n_threads), expected, "{n_threads} threads");
    }
}
