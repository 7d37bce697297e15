//! The autoencoder on the processor: feeds that have to agree, padding, weights in and out, steps.

use std::error::Error;

use kato_libtorch::autoencoder::{
    Autoencoder, AutoencoderOptions, Batch, Cell, Feed, LossKind, LossOptions,
};
use kato_libtorch::graph::StepGraph;
use kato_libtorch::tch::{Device, Kind, Tensor, manual_seed};
use kato_libtorch::{
    Adam, AdamOptions, Arrays, assign, gradients, read_arrays, weights, write_arrays,
};

type Done = Result<(), Box<dyn Error>>;

const CELLS: [Cell; 3] = [Cell::Vanilla, Cell::Gru, Cell::Lstm];

fn model(cell: Cell) -> Result<Autoencoder, kato_libtorch::Error> {
    manual_seed(1);
    let options = AutoencoderOptions::default()
        .with_cell(cell)
        .with_sizes(7, 5, 3)
        .with_dropout(0.0);
    Autoencoder::new(&options, Device::Cpu)
}

/// Chunks of uneven length, with nonsense behind their ends where `padding` is not zero.
fn batch(padding: f64) -> Batch {
    manual_seed(2);
    let lengths = [6, 3, 1, 5];
    let vectors = Tensor::randn([4, 6, 7], (Kind::Float, Device::Cpu));
    for (row, length) in lengths.into_iter().enumerate() {
        let row = vectors.get(row as i64);
        let _ = row.narrow(0, length, 6 - length).fill_(padding);
    }
    Batch::new(&vectors, &lengths, Device::Cpu)
}

/// Loss and gradients of a fresh model.
fn compute(
    cell: Cell,
    batch: &Batch,
    feed: &Feed<'_>,
) -> Result<(f64, Arrays), kato_libtorch::Error> {
    let model = model(cell)?;
    let loss = model.loss(batch, feed, &LossOptions::default());
    loss.backward();
    Ok((loss.double_value(&[]), gradients(model.store())))
}

fn assert_near(one: &(f64, Arrays), other: &(f64, Arrays)) {
    assert!((one.0 - other.0).abs() < 1e-6, "{} {}", one.0, other.0);
    assert_eq!(one.1.len(), other.1.len());
    for ((name, one), (_, other)) in one.1.iter().zip(&other.1) {
        let gap = (one - other).abs().max().double_value(&[]);
        assert!(gap < 1e-6, "{name}: {gap:e}");
    }
}

#[test]
fn coins_on_the_device_are_coins_on_the_host() -> Done {
    let _alone = crate::alone();
    let batch = batch(0.0);
    let coins = [false, true, false, true, true, false];
    let mask = Tensor::from_slice(&coins);
    for cell in CELLS {
        let host = compute(cell, &batch, &Feed::Coins(&batch.vectors, &coins))?;
        let device = compute(cell, &batch, &Feed::Mask(&batch.vectors, &mask))?;
        assert_near(&host, &device);
    }
    Ok(())
}

#[test]
fn coins_that_all_fall_alike_are_the_other_feeds() -> Done {
    let _alone = crate::alone();
    let batch = batch(0.0);
    for cell in CELLS {
        let all = compute(cell, &batch, &Feed::Coins(&batch.vectors, &[true; 6]))?;
        assert_near(&all, &compute(cell, &batch, &Feed::True(&batch.vectors))?);
        let none = compute(cell, &batch, &Feed::Coins(&batch.vectors, &[false; 6]))?;
        assert_near(&none, &compute(cell, &batch, &Feed::Own)?);
        assert!((all.0 - none.0).abs() > 1e-6, "the feed matters");
    }
    Ok(())
}

#[test]
fn what_lies_behind_a_chunks_end_has_no_influence() -> Done {
    let _alone = crate::alone();
    let (clean, dirty) = (batch(0.0), batch(7.0));
    for cell in CELLS {
        let one = compute(cell, &clean, &Feed::True(&clean.vectors))?;
        assert_near(&one, &compute(cell, &dirty, &Feed::True(&dirty.vectors))?);
    }
    Ok(())
}

#[test]
fn a_chunk_without_a_token_is_encoded_of_nothing() -> Done {
    let _alone = crate::alone();
    let options = AutoencoderOptions::default()
        .with_sizes(7, 5, 3)
        .with_batch_norm(false);
    let model = Autoencoder::new(&options, Device::Cpu)?;
    let vectors = Tensor::randn([1, 6, 7], (Kind::Float, Device::Cpu));
    let code = model.encode(&Batch::new(&vectors, &[0], Device::Cpu), false);
    let bias = &weights(model.store())["bottleneck.linear.bias"];
    assert_eq!(
        Vec::<f32>::try_from(&code.view([-1]))?,
        Vec::<f32>::try_from(bias)?
    );
    Ok(())
}

#[test]
fn weights_are_read_as_they_were_written() -> Done {
    let _alone = crate::alone();
    let file = tempfile::NamedTempFile::new()?;
    for cell in CELLS {
        let first = model(cell)?;
        write_arrays(file.path(), &weights(first.store()))?;
        let arrays = read_arrays(file.path())?;
        assert!(
            arrays.contains_key("encoder.weight_ih_l1"),
            "PyTorch's names"
        );
        let second = Autoencoder::from_weights(&arrays, 0.0, Device::Cpu)?;
        assert_eq!(
            second.options(),
            first.options(),
            "the shape is read off the weights"
        );
        for (name, tensor) in weights(second.store()) {
            assert_eq!(tensor, arrays[&name], "{name}");
        }
    }
    Ok(())
}

#[test]
fn weights_of_another_model_are_named() -> Done {
    let _alone = crate::alone();
    let (lstm, gru) = (model(Cell::Lstm)?, model(Cell::Gru)?);
    let error = |arrays: &Arrays| {
        assign(lstm.store(), arrays)
            .err()
            .map(|error| error.to_string())
    };
    let other = error(&weights(gru.store())).ok_or("they do not fit")?;
    assert!(
        other.contains("has shape") || other.contains("they have no"),
        "{other}"
    );
    let mut more = weights(lstm.store());
    assert_eq!(error(&more), None);
    more.insert(
        "head.weight".to_owned(),
        Tensor::zeros([1], (Kind::Float, Device::Cpu)),
    );
    let other = error(&more).ok_or("one too many")?;
    assert!(other.contains("the model has no head.weight"), "{other}");
    let missing = read_arrays(std::path::Path::new("/nowhere/weights.safetensors"));
    assert!(missing.is_err_and(|error| error.to_string().contains("/nowhere/weights")));
    Ok(())
}

#[test]
fn steps_lower_the_loss_and_clip() -> Done {
    let _alone = crate::alone();
    let (batch, model) = (batch(0.0), model(Cell::Lstm)?);
    let options = AdamOptions::default().with_rate(0.01).with_max_norm(0.1);
    let mut adam = Adam::new(model.store(), options);
    let loss_options = LossOptions::default().with_kind(LossKind::Mse);
    let mut losses = Vec::new();
    for _ in 0..60 {
        adam.clear_gradients()?;
        let loss = model.loss(&batch, &Feed::True(&batch.vectors), &loss_options);
        loss.backward();
        let before = norm(&gradients(model.store()));
        let told = adam.step()?.ok_or("there is a clip")?.double_value(&[]);
        assert!((told - before).abs() < 1e-5 * before, "{told} {before}");
        let after = norm(&gradients(model.store()));
        assert!(
            (after - before.min(0.1)).abs() < 1e-5,
            "{before} became {after}"
        );
        losses.push(loss.double_value(&[]));
    }
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < 0.9 * first, "{first} to {last}");
    // Gradients that are absent are an error, not a step of nothing.
    adam.clear_gradients()?;
    assert!(adam.step().is_err());
    Ok(())
}

fn norm(gradients: &Arrays) -> f64 {
    let square = |tensor: &Tensor| tensor.square().sum(Kind::Double).double_value(&[]);
    gradients.values().map(square).sum::<f64>().sqrt()
}

#[test]
fn adam_moves_weights_by_its_formula() -> Done {
    let _alone = crate::alone();
    let model = model(Cell::Vanilla)?;
    let mut adam = Adam::new(model.store(), AdamOptions::default().with_rate(0.1));
    let name = "decoder.start";
    let mut weight = Vec::<f32>::try_from(&weights(model.store())[name])?;
    let (mut first, mut second) = (vec![0.0_f32; 7], vec![0.0_f32; 7]);
    let batch = batch(0.0);
    for time in 1..=3 {
        adam.clear_gradients()?;
        model
            .loss(&batch, &Feed::Own, &LossOptions::default())
            .backward();
        let gradient = Vec::<f32>::try_from(&gradients(model.store())[name])?;
        adam.step()?;
        let found = Vec::<f32>::try_from(&weights(model.store())[name])?;
        for at in 0..weight.len() {
            first[at] = 0.9 * first[at] + 0.1 * gradient[at];
            second[at] = 0.999 * second[at] + 0.001 * gradient[at].powi(2);
            let mean = first[at] / (1.0 - 0.9_f32.powi(time));
            let square = second[at] / (1.0 - 0.999_f32.powi(time));
            weight[at] -= 0.1 * mean / (square.sqrt() + 1e-8);
            assert!(
                (weight[at] - found[at]).abs() < 1e-5,
                "{} {}",
                weight[at],
                found[at]
            );
        }
    }
    Ok(())
}

#[test]
fn a_graph_on_the_processor_is_refused_with_a_reason() {
    let _alone = crate::alone();
    let refused = StepGraph::capture(Device::Cpu, &[], || Tensor::from(0.0));
    assert!(refused.is_err_and(|error| error.to_string().contains("CUDA device")));
}
