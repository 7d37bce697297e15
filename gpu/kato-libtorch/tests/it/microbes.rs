//! The transformer on the processor: forms that have to agree, padding, formats.

use std::error::Error;

use kato_libtorch::microbes::{Microbes, MicrobesBatch, MicrobesOptions, Precision, unifrac_loss};
use kato_libtorch::tch::{Device, Kind, Tensor, manual_seed};
use kato_libtorch::{Arrays, gradients};

type Done = Result<(), Box<dyn Error>>;

fn options() -> MicrobesOptions {
    MicrobesOptions::default()
        .with_shape(16, 4, 2)
        .with_limits(6, 12)
        .with_dropout(0.0)
        .with_chunk(5)
}

fn batch() -> MicrobesBatch {
    manual_seed(3);
    MicrobesBatch::random(4, 6, 12, Device::Cpu)
}

/// Loss and gradients of a model of fresh weights, always the same.
fn compute(
    options: &MicrobesOptions,
    batch: &MicrobesBatch,
) -> Result<(f64, Arrays), kato_libtorch::Error> {
    manual_seed(4);
    let model = Microbes::new(options, Device::Cpu)?;
    manual_seed(5);
    let loss = model.loss(batch, true)?;
    loss.backward();
    Ok((loss.double_value(&[]), gradients(model.store())))
}

/// The largest gap of two losses or gradients, as a share of the largest entry of each tensor, or of a
/// thousandth of the largest of all: gradients that are zero in theory are rounding alone.
fn gap(one: &(f64, Arrays), other: &(f64, Arrays)) -> f64 {
    assert_eq!(one.1.len(), other.1.len());
    let largest = |tensor: &Tensor| tensor.abs().max().double_value(&[]);
    let floor = 1e-3 * other.1.values().map(largest).fold(0.0, f64::max);
    let pairs = one.1.values().zip(other.1.values());
    let gaps = pairs.map(|(one, other)| largest(&(one - other)) / largest(other).max(floor));
    gaps.fold((one.0 - other.0).abs() / other.0, f64::max)
}

#[test]
fn blocks_that_are_computed_again_give_the_same_bits() -> Done {
    let _alone = crate::alone();
    let batch = batch().padded(4, 9);
    // Over several chunks autocast adds up a weight's gradients in bf16, except where blocks are
    // computed again.
    for (precision, chunk) in [(Precision::F32, 5), (Precision::Bf16, 1000)] {
        for dropout in [0.0, 0.3] {
            let kept = options().with_precision(precision).with_chunk(chunk);
            let kept = kept.with_dropout(dropout);
            let again = compute(&kept.with_recompute(true), &batch)?;
            let kept = compute(&kept, &batch)?;
            assert_eq!(
                kept.0.to_bits(),
                again.0.to_bits(),
                "{precision:?} {dropout}"
            );
            assert_eq!(gap(&kept, &again), 0.0, "{precision:?} {dropout}");
        }
    }
    Ok(())
}

#[test]
fn dropout_drops() -> Done {
    let _alone = crate::alone();
    let batch = batch();
    let (none, some) = (
        compute(&options(), &batch)?,
        compute(&options().with_dropout(0.3), &batch)?,
    );
    assert!((none.0 - some.0).abs() > 1e-6);
    Ok(())
}

#[test]
fn fused_attention_is_plain_attention() -> Done {
    let _alone = crate::alone();
    let batch = batch().padded(4, 9);
    let (fused, plain) = (
        compute(&options(), &batch)?,
        compute(&options().with_fused(false), &batch)?,
    );
    assert!(gap(&fused, &plain) < 1e-4, "{:e}", gap(&fused, &plain));
    Ok(())
}

#[test]
fn chunks_are_a_matter_of_memory_alone() -> Done {
    let _alone = crate::alone();
    let batch = batch();
    let (small, whole) = (
        compute(&options(), &batch)?,
        compute(&options().with_chunk(1000), &batch)?,
    );
    assert!(gap(&small, &whole) < 1e-4, "{:e}", gap(&small, &whole));
    Ok(())
}

#[test]
fn padding_is_as_if_it_were_not_there() -> Done {
    let _alone = crate::alone();
    let padded = batch().padded(4, 9);
    let cut = |tensor: &Tensor| tensor.narrow(1, 0, 4).narrow(2, 0, 9).contiguous();
    let mut short = batch();
    (short.tokens, short.targets) = (cut(&padded.tokens), cut(&padded.targets));
    let (padded, short) = (compute(&options(), &padded)?, compute(&options(), &short)?);
    assert!(gap(&padded, &short) < 1e-4, "{:e}", gap(&padded, &short));
    Ok(())
}

#[test]
fn samples_without_a_sequence_are_no_nan() -> Done {
    let _alone = crate::alone();
    for fused in [true, false] {
        let mut batch = batch();
        let _ = batch.tokens.get(1).fill_(0);
        let _ = batch.targets.get(1).fill_(-100);
        let one = compute(&options().with_fused(fused), &batch)?;
        assert!(one.0.is_finite());
        // Nor is a batch without any.
        batch.tokens = batch.tokens.zeros_like();
        batch.targets = batch.targets.full_like(-100);
        let none = compute(&options().with_fused(fused), &batch)?;
        assert!(none.0.is_finite());
        for (name, gradient) in one.1.iter().chain(&none.1) {
            assert!(gradient.isfinite().all().int64_value(&[]) == 1, "{name}");
        }
    }
    Ok(())
}

#[test]
fn bf16_is_near_and_not_the_same() -> Done {
    let _alone = crate::alone();
    let batch = batch();
    let single = compute(&options(), &batch)?;
    let half = compute(&options().with_precision(Precision::Bf16), &batch)?;
    let share = (half.0 - single.0).abs() / single.0;
    assert!(share > 0.0 && share < 0.01, "{share:e}");
    Ok(())
}

#[test]
fn distances_count_once_a_pair() -> Done {
    let _alone = crate::alone();
    let samples = Tensor::from_slice(&[0.0_f32, 0.0, 3.0, 4.0, 0.0, 10.0]).view([3, 2]);
    let distances =
        Tensor::from_slice(&[9.0_f32, 0.1, 0.2, 9.0, 9.0, 0.3, 9.0, 9.0, 9.0]).view([3, 3]);
    // Of 0 and 1 the distance is 5, of 0 and 2 it is 10, of 1 and 2 the root of 45.
    let near = |distance: f64| (distance / 10.0).tanh();
    let gaps = [
        near(5.0) - 0.1,
        near(10.0) - 0.2,
        near(45.0_f64.sqrt()) - 0.3,
    ];
    let expected = gaps.iter().map(|gap| gap * gap).sum::<f64>() / 3.0;
    let found = unifrac_loss(&samples, &distances).to_kind(Kind::Double);
    assert!((found.double_value(&[]) - expected).abs() < 1e-6);
    Ok(())
}

#[test]
fn impossible_shapes_are_named() {
    let _alone = crate::alone();
    let error = Microbes::new(&options().with_shape(15, 4, 1), Device::Cpu).err();
    assert!(error.is_some_and(|error| error.to_string().contains("the width is 15")));
}
