//! Forests, folds and figures.

use std::error::Error;

use kato_microbes::baseline::{Baseline, BaselineOptions, baseline};
use kato_microbes::evaluation::{Score, scores};
use kato_microbes::folds::{folds, shares};
use kato_microbes::metadata::{SampleMetadata, TargetKind, TargetValues};
use kato_microbes::synth::{SynthOptions, synth};
use proptest::prelude::*;

type Done = Result<(), Box<dyn Error>>;

fn forest(column: &str, effect: f64) -> Result<Baseline, Box<dyn Error>> {
    let mut options = SynthOptions::default()
        .with_size(48, 30)
        .with_length(40)
        .with_depth(500);
    options.effect = effect;
    let made = synth(&options)?;
    let metadata = SampleMetadata::from_text(&made.metadata).map_err(|(_, reason)| reason)?;
    let target = metadata.target(column, TargetKind::Auto, made.table.sample_ids())?;
    let options = BaselineOptions::default().with_n_trees(30).with_n_folds(4);
    Ok(baseline(&made.table, &target, &options)?)
}

#[test]
fn a_forest_finds_single_sequences_and_nothing_where_there_is_none() -> Done {
    let found = forest("single_class", 1.5)?;
    let accuracy = &found.scores[0];
    assert!(
        accuracy.name == "accuracy" && accuracy.value > 0.75,
        "{accuracy:?}"
    );
    assert!(accuracy.low <= accuracy.value && accuracy.value <= accuracy.high);
    assert_eq!((found.chosen.len(), found.predicted.len()), (4, 48));
    let numbers = forest("single", 1.5)?;
    assert!(numbers.scores[0].value > 0.3, "{:?}", numbers.scores);
    let nothing = forest("single", 0.0)?;
    assert!(nothing.scores[0].value < 0.2, "{:?}", nothing.scores);
    Ok(())
}

#[test]
fn threads_change_no_bit_of_a_forest() -> Done {
    let with = |n: usize| -> Result<Baseline, Box<dyn Error>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build()?;
        let found = pool.install(|| forest("single", 1.0).map_err(|error| error.to_string()));
        Ok(found?)
    };
    assert_eq!(with(1)?, with(3)?);
    Ok(())
}

#[test]
fn figures_are_those_of_their_definitions() {
    let numbers = |values: &[f64]| TargetValues::Numbers(values.to_vec());
    let found = scores(
        &numbers(&[1.0, 1.0, 4.0, 4.0]),
        &numbers(&[0.0, 2.0, 4.0, 6.0]),
        1,
    );
    let values: Vec<f64> = found.iter().map(|score| score.value).collect();
    // Errors 1, −1, 0, −2 around a spread of 20.
    assert_eq!(values, [1.0 - 6.0 / 20.0, 1.0, 1.5_f64.sqrt()]);
    let classes = |of: &[usize]| TargetValues::Classes {
        names: vec!["a".into(), "b".into()],
        of: of.to_vec(),
    };
    let found = scores(&classes(&[0, 0, 0, 1]), &classes(&[0, 0, 1, 1]), 1);
    assert_eq!((found[0].value, found[1].value), (0.75, 0.75));
    assert!((found[2].value - (0.5 * 0.8 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
    // What cannot be told is no number, and no panic.
    let one = scores(&numbers(&[1.0, 1.0]), &numbers(&[2.0, 2.0]), 1);
    assert!(one[0].value.is_nan() && one[1].value == 1.0);
    // JSON has no NaN; what was written is read all the same.
    let text = serde_json::to_string(&one).unwrap_or_default();
    let read: Vec<Score> = serde_json::from_str(&text).unwrap_or_default();
    assert!(read[0].value.is_nan() && read[1] == one[1]);
}

proptest! {
    #[test]
    fn every_sample_is_held_back_once(of in prop::collection::vec(0_usize..3, 8..40), n_folds in 2_usize..5, seed: u64) {
        let n = of.len();
        let values = TargetValues::Classes { names: vec!["a".into(), "b".into(), "c".into()], of: of.clone() };
        let folds = folds(&values, n_folds, seed);
        let mut held: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        held.sort_unstable();
        prop_assert_eq!(held, (0..n).collect::<Vec<_>>());
        for fold in &folds {
            prop_assert!(fold.train.iter().all(|sample| !fold.test.contains(sample)));
            prop_assert_eq!(fold.train.len() + fold.test.len(), n);
            for class in 0..3 {
                let count = |part: &[usize]| part.iter().filter(|&&s| of[s] == class).count();
                let total = of.iter().filter(|&&c| c == class).count();
                let held = count(&fold.test);
                // One dealt round over all classes shifts a class's share by at most one.
                prop_assert!(held + 1 >= total / n_folds && held <= total / n_folds + 1);
            }
        }
    }

    #[test]
    fn every_sample_is_in_one_part_and_classes_keep_their_shares(of in prop::collection::vec(0_usize..3, 10..90), seed: u64) {
        let names = vec!["a".into(), "b".into(), "c".into()];
        let values = TargetValues::Classes { names, of: of.clone() };
        let wanted = [0.15, 0.2, 0.0, 0.65];
        let parts = shares(&values, wanted, seed);
        let mut all = parts.concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..of.len()).collect::<Vec<_>>());
        prop_assert!(parts[2].is_empty());
        for (part, share) in parts.iter().zip(wanted) {
            prop_assert!((part.len() as f64 - share * of.len() as f64).abs() < 1.5);
            for class in 0..3 {
                let total = of.iter().filter(|&&other| other == class).count() as f64;
                let held = part.iter().filter(|&&at| of[at] == class).count() as f64;
                prop_assert!((held - share * total).abs() < 2.5, "{held} of {total}");
            }
        }
    }
}
