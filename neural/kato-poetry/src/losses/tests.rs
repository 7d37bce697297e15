//! Losses beside the same formulas in `f64`, loop by loop, and their gradients beside finite differences.

use kato_neural::burn::tensor::Device;

use super::*;
use crate::model::values;

/// Words of the vocabulary of these tests.
const N_WORDS: usize = 3;

/// Two chunks of two and one tokens, of two numbers each; padding holds nonsense where it may.
fn batch() -> Batch {
    Batch {
        vectors: vec![1.0, 0.0, 0.0, 2.0, 3.0, 4.0, 0.0, 0.0],
        ids: vec![1, 2, 1, 0],
        lengths: vec![2, 1],
        n_steps: 2,
        dims: 2,
    }
}

const REBUILT: [f32; 8] = [1.0, 1.0, 0.25, 1.0, 4.0, 3.0, 9.0, 9.0];
const LOGITS: [f32; 12] = [
    0.5, 1.5, -1.0, 2.0, 0.0, 0.25, -0.5, 0.75, 1.0, 9.0, 8.0, 7.0,
];

fn options(kind: LossKind) -> LossOptions {
    LossOptions {
        kind,
        ..LossOptions::default()
    }
}

fn kinds() -> [LossOptions; 6] {
    let with_temperature = LossOptions {
        temperature: Some(2.0),
        ..LossOptions::default()
    };
    [
        options(LossKind::Mse),
        options(LossKind::Cosine),
        with_temperature,
        options(LossKind::SequenceCosine),
        options(LossKind::Token),
        options(LossKind::Hybrid),
    ]
}

/// The mean loss over tokens and chunks by its definition, in double precision.
fn definition(rebuilt: &[f64], logits: &[f64], options: &LossOptions) -> f64 {
    let batch = batch();
    let truth: Vec<f64> = batch.vectors.iter().map(|x| f64::from(*x)).collect();
    let n_tokens = batch.n_tokens() as f64;
    let valid = [0, 1, 2];
    let share = options.mse_share;
    let mse = |at: usize| {
        (0..2)
            .map(|d| (rebuilt[2 * at + d] - truth[2 * at + d]).powi(2))
            .sum::<f64>()
            / 2.0
    };
    let distance = |a: &[f64], b: &[f64]| {
        let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let length = |a: &[f64]| a.iter().map(|x| x * x).sum::<f64>().sqrt();
        let cosine = product / (length(a) * length(b));
        1.0 - options
            .temperature
            .map_or(cosine, |temperature| (temperature * cosine).tanh())
    };
    let cosine = |at: usize| {
        let place = 2 * at..2 * at + 2;
        (1.0 - share) * distance(&rebuilt[place.clone()], &truth[place]) + share * mse(at)
    };
    let entropy = |at: usize| {
        let row = &logits[N_WORDS * at..N_WORDS * (at + 1)];
        let scale = row.iter().map(|logit| logit.exp()).sum::<f64>().ln();
        let smooth = options.smoothing;
        let all = row.iter().map(|logit| logit - scale).sum::<f64>() / N_WORDS as f64;
        -(1.0 - smooth) * (row[batch.ids[at] as usize] - scale) - smooth * all
    };
    let mean = |of: &dyn Fn(usize) -> f64| valid.iter().map(|at| of(*at)).sum::<f64>() / n_tokens;
    match options.kind {
        LossKind::Mse => mean(&mse),
        LossKind::Cosine => mean(&cosine),
        LossKind::Token => mean(&entropy),
        LossKind::Hybrid => {
            let (a, b) = options.hybrid_weights();
            mean(&|at| a * entropy(at) + b * cosine(at))
        }
        LossKind::SequenceCosine => {
            let middle = |x: &[f64]| [(x[0] + x[2]) / 2.0, (x[1] + x[3]) / 2.0];
            let first = distance(&middle(rebuilt), &middle(&truth));
            let second = distance(&rebuilt[4..6], &truth[4..6]);
            (1.0 - share) * (first + second) / 2.0 + share * mean(&mse)
        }
    }
}

/// The same through tensors: the loss, and its slopes by rebuilt vectors and by logits.
fn computed(options: &LossOptions) -> (f64, Vec<f32>, Vec<f32>) {
    let device = Device::flex().autodiff();
    let batch = batch();
    let tensor = |numbers: &[f32], width: usize| {
        let data = TensorData::new(numbers.to_vec(), [2, 2, width]);
        Tensor::<3>::from_data(data, &device)
    };
    let rebuilt = tensor(&REBUILT, 2).require_grad();
    let logits = tensor(&LOGITS, N_WORDS).require_grad();
    let targets = tensor(&batch.vectors, 2);
    let sums = loss_sums(
        rebuilt.clone(),
        targets,
        Some(logits.clone()),
        &batch,
        options,
    );
    let mut loss = sums.tokens.div_scalar(batch.n_tokens() as f64);
    if let Some(rows) = sums.rows {
        loss = loss + rows.div_scalar(batch.n_rows() as f64);
    }
    let value = f64::from(values(loss.clone())[0]);
    let gradients = loss.backward();
    let slopes = |tensor: &Tensor<3>, n: usize| {
        // What a loss does not depend on has no gradient at all.
        tensor.grad(&gradients).map_or_else(|| vec![0.0; n], values)
    };
    (value, slopes(&rebuilt, 8), slopes(&logits, 12))
}

#[test]
fn every_loss_and_its_slopes_are_those_of_its_definition() {
    /// Half the way between the two points of a central difference.
    const STEP: f64 = 1e-5;
    let wide = |numbers: &[f32]| -> Vec<f64> { numbers.iter().map(|x| f64::from(*x)).collect() };
    for options in kinds() {
        let (loss, by_rebuilt, by_logits) = computed(&options);
        let (rebuilt, logits) = (wide(&REBUILT), wide(&LOGITS));
        let expected = definition(&rebuilt, &logits, &options);
        let kind = options.kind;
        assert!((loss - expected).abs() < 1e-6, "{kind:?} {loss} {expected}");
        let check = |at: usize, found: f32, expected: f64| {
            let gap = (f64::from(found) - expected).abs();
            assert!(gap < 1e-6, "{kind:?}, number {at}: {found} {expected}");
        };
        for (at, slope) in by_rebuilt.iter().enumerate() {
            let moved = |by: f64| {
                let mut rebuilt = rebuilt.clone();
                rebuilt[at] += by;
                definition(&rebuilt, &logits, &options)
            };
            check(at, *slope, (moved(STEP) - moved(-STEP)) / (2.0 * STEP));
        }
        for (at, slope) in by_logits.iter().enumerate() {
            let moved = |by: f64| {
                let mut logits = logits.clone();
                logits[at] += by;
                definition(&rebuilt, &logits, &options)
            };
            check(at, *slope, (moved(STEP) - moved(-STEP)) / (2.0 * STEP));
        }
    }
}

#[test]
fn losses_of_hand_computed_batches() {
    // Squares: (0 + 1) / 2, (1/16 + 1) / 2, (1 + 1) / 2, over three tokens.
    let (mse, ..) = computed(&options(LossKind::Mse));
    assert!((mse - (0.5 + 1.0625 / 2.0 + 1.0) / 3.0).abs() < 1e-6);
    // Without smoothing: −log of what softmax gives the true word.
    let (token, ..) = computed(&LossOptions {
        smoothing: 0.0,
        ..options(LossKind::Token)
    });
    let softmax = |row: &[f64], word: usize| {
        row[word].exp() / row.iter().map(|logit| logit.exp()).sum::<f64>()
    };
    let expected = softmax(&[0.5, 1.5, -1.0], 1)
        * softmax(&[2.0, 0.0, 0.25], 2)
        * softmax(&[-0.5, 0.75, 1.0], 1);
    assert!((token + expected.ln() / 3.0).abs() < 1e-6);
    // Equal logits: the entropy of an even choice, whatever the smoothing.
    let device = Device::flex();
    let even = Tensor::zeros([2, 2, N_WORDS], &device);
    let vectors = Tensor::zeros([2, 2, 2], &device);
    let sums = loss_sums(
        vectors.clone(),
        vectors,
        Some(even),
        &batch(),
        &options(LossKind::Token),
    );
    assert!((values(sums.tokens)[0] - 3.0 * 3.0_f32.ln()).abs() < 1e-6);
}

#[test]
fn weights_of_the_hybrid_loss_are_shares() {
    let twice = LossOptions {
        token_weight: 1.4,
        cosine_weight: 0.6,
        ..options(LossKind::Hybrid)
    };
    let (a, b) = (computed(&twice).0, computed(&options(LossKind::Hybrid)).0);
    assert!((a - b).abs() < 1e-7, "{a} {b}");
    let none = LossOptions {
        token_weight: 0.0,
        cosine_weight: 0.0,
        ..options(LossKind::Hybrid)
    };
    assert!(none.check().is_err());
}

#[test]
fn the_mean_vector_is_blind_to_order() {
    // The two tokens of the first chunk change places: their mean stays.
    let swapped = [0.25, 1.0, 1.0, 1.0, 4.0, 3.0, 9.0, 9.0].map(f64::from);
    let without_squares = LossOptions {
        mse_share: 0.0,
        ..options(LossKind::SequenceCosine)
    };
    let logits = LOGITS.map(f64::from);
    let expected = definition(&swapped, &logits, &without_squares);
    assert!((computed(&without_squares).0 - expected).abs() < 1e-6);
}

#[test]
fn padding_of_zeros_leaves_no_gradient_and_loses_none() {
    for options in kinds() {
        let (_, by_rebuilt, by_logits) = computed(&options);
        assert_eq!(by_rebuilt[6..], [0.0, 0.0], "{:?}", options.kind);
        assert_eq!(by_logits[9..], [0.0; 3], "{:?}", options.kind);
        assert!(by_rebuilt.iter().all(|slope| slope.is_finite()));
    }
}

#[test]
fn codes_cost_by_their_definitions() {
    let device = Device::flex().autodiff();
    let numbers = vec![3.0_f32, -4.0, 0.5, 0.5];
    let codes = || Tensor::<2>::from_data(TensorData::new(numbers.clone(), [2, 2]), &device);
    assert_eq!(values(code_square_sum(codes())), [12.5 + 0.25]);
    let norm = values(code_norm_sum(codes()))[0];
    assert!((norm - (5.0 + 0.5_f32.sqrt())).abs() < 1e-6);
    // An even code has the entropy ln 2; |3| beside |4| that of 1/(1 + e) and its rest.
    let share = 1.0 / (1.0 + 1.0_f64.exp());
    let uneven = -share * share.ln() - (1.0 - share) * (1.0 - share).ln();
    let entropy = f64::from(values(code_entropy_sum(codes()))[0]);
    assert!((entropy - uneven - 2.0_f64.ln()).abs() < 1e-6, "{entropy}");
    // Zeros are where a length has no slope.
    let zeros = Tensor::<2>::zeros([1, 2], &device).require_grad();
    let gradients = code_norm_sum(zeros.clone()).backward();
    let slopes = zeros.grad(&gradients).map(values);
    assert_eq!(slopes, Some(vec![0.0, 0.0]));
}
