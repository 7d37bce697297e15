//! Layers beside the recurrent ones against their formulas, and weights at the start.

use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::{
    BatchNorm, Bottleneck, Cell, Dropout, RecurrentOptions, StateProjection,
};
use kato_neural::{Initializer, Pass};

use crate::recurrent::{gap, numbers};
use crate::support::device;

const ROWS: [[f32; 2]; 4] = [[1.0, -2.0], [2.0, 0.5], [4.0, 3.0], [-3.0, 1.5]];

/// Mean and unbiased variance of a column.
fn statistics(column: usize) -> (f64, f64) {
    let values = ROWS.map(|row| f64::from(row[column]));
    let mean = values.iter().sum::<f64>() / 4.0;
    (
        mean,
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / 3.0,
    )
}

#[test]
fn batch_norm_uses_the_batch_in_training_and_what_it_remembers_elsewhere() {
    let norm = BatchNorm::new(2, &device());
    let rows = Tensor::<2>::from_floats(ROWS, &device());
    let expected = |moments: fn(usize) -> (f64, f64)| -> Vec<f64> {
        let entry = |row: &[f32; 2], column: usize| {
            let (mean, variance) = moments(column);
            (f64::from(row[column]) - mean) / (variance + 1e-5).sqrt()
        };
        ROWS.iter()
            .flat_map(|row| [entry(row, 0), entry(row, 1)])
            .collect()
    };
    // The batch's own variance is the biased one, what is remembered the unbiased one.
    let of_batch = expected(|column| (statistics(column).0, statistics(column).1 * 0.75));
    assert!(
        gap(
            &numbers(&norm.forward(rows.clone(), &Pass::training(1, 0))),
            &of_batch
        ) < 1e-6
    );
    let remembered = expected(|column| {
        let (mean, variance) = statistics(column);
        (0.1 * mean, 0.9 + 0.1 * variance)
    });
    let judged = norm.forward(rows.clone(), &Pass::evaluation());
    assert!(gap(&numbers(&judged), &remembered) < 1e-6);
    // A single row has no variance, and leaves what is remembered as it is.
    let single = norm.forward(rows.clone().narrow(0, 0, 1), &Pass::training(1, 1));
    assert!(gap(&numbers(&single), &remembered[..2]) < 1e-6);
    assert_eq!(
        numbers(&norm.forward(rows, &Pass::evaluation())),
        numbers(&judged)
    );
}

#[test]
fn weights_begin_as_they_are_said_to() {
    let draws = &mut Initializer::from_seed(1);
    let net = RecurrentOptions::new(Cell::Lstm, 30, 20)
        .with_layers(2)
        .init(draws, &Device::flex());
    for layer in net.layers() {
        let bias = numbers(&layer.bias_ih.val());
        let forget = bias
            .iter()
            .enumerate()
            .filter(|(at, _)| (20..40).contains(at));
        assert!(forget.clone().all(|(_, &bias)| bias == 1.0) && bias.iter().sum::<f64>() == 20.0);
        assert!(
            numbers(&layer.bias_hh.val())
                .iter()
                .all(|&bias| bias == 0.0)
        );
        let weights = numbers(&layer.weight_ih.val());
        let bound = (6.0 / (80.0 + weights.len() as f64 / 80.0)).sqrt();
        let largest = weights
            .iter()
            .fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        assert!(
            largest <= bound && largest > 0.95 * bound,
            "{largest} {bound}"
        );
    }
}

#[test]
fn a_projection_gives_each_layer_its_part() {
    let draws = &mut Initializer::from_seed(1);
    let device = Device::flex();
    let projection = StateProjection::new(3, Cell::Lstm, 2, 5, draws, &device);
    let units = Tensor::<2>::from_data(TensorData::new(draws.normal(12, 1.0), [4, 3]), &device);
    let state = projection.forward(units, &Pass::evaluation());
    assert_eq!(state.hidden.dims(), [2, 4, 5]);
    assert_eq!(state.memory.as_ref().map(Tensor::dims), Some([2, 4, 5]));
    assert_ne!(
        numbers(&state.hidden),
        numbers(&state.memory.expect("an LSTM's"))
    );
    assert!(numbers(&state.hidden).iter().all(|value| value.abs() < 1.0));
    let gru = StateProjection::new(3, Cell::Gru, 2, 5, draws, &device);
    let units = Tensor::<2>::zeros([4, 3], &device);
    assert!(gru.forward(units, &Pass::evaluation()).memory.is_none());
}

#[test]
fn dropout_keeps_the_mean_and_its_share() {
    let device = Device::flex();
    let ones = Tensor::<2>::ones([100, 1_000], &device);
    let dropped = numbers(&Dropout::new(0.2, 3).forward(ones.clone(), &Pass::training(1, 2)));
    let n_zeros = dropped.iter().filter(|&&value| value == 0.0).count();
    assert!((19_400..20_600).contains(&n_zeros), "{n_zeros}");
    assert!(
        dropped
            .iter()
            .all(|&value| value == 0.0 || (value - 1.25).abs() < 1e-6)
    );
    let other = numbers(&Dropout::new(0.2, 4).forward(ones.clone(), &Pass::training(1, 2)));
    assert_ne!(dropped, other, "another stream");
    let judged = Dropout::new(0.2, 3).forward(ones.clone(), &Pass::evaluation());
    assert_eq!(numbers(&judged), numbers(&ones));
    let draws = &mut Initializer::from_seed(1);
    let narrow = Bottleneck::new(1_000, 4, Dropout::new(0.2, 3), false, draws, &device);
    assert_ne!(
        numbers(&narrow.forward(ones.clone(), &Pass::training(1, 2))),
        numbers(&narrow.forward(ones, &Pass::evaluation()))
    );
}
