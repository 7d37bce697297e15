//! Columns that a model is told beside the sequences: every way to join them, unknown values, a run that is gone
//! on with.

use std::error::Error;
use std::fs;
use std::path::Path;

use kato_microbes::metadata::{Categorical, SampleMetadata, TargetKind};
use kato_microbes::settings::Fusion;
use kato_microbes::work::Work;
use kato_microbes::{Microbes, MicrobesSettings, Run, TrainedMicrobes};

use crate::program::{json, made, run, stderr, with_small};
use crate::support::{self, Done, settings, state, train};

/// A work whose numbers say the site of each sample and nothing else, and its settings.
fn of_sites(fusion: Fusion) -> Result<(MicrobesSettings, Work), Box<dyn Error>> {
    let mut settings = settings("")?;
    settings.training.epochs = 12;
    settings.model.fusion = fusion;
    let (_, mut microbes) = support::microbes(&settings)?;
    let ids = microbes.table.sample_ids();
    let mut text = "sample_id\tsite\ty\n".to_owned();
    for (at, id) in ids.iter().enumerate() {
        let (site, y) = [("gut", -1), ("skin", 1)][at % 2];
        text.push_str(&format!("{id}\t{site}\t{y}\n"));
    }
    let metadata = SampleMetadata::from_text(&text).map_err(|(_, reason)| reason)?;
    let found = metadata.categories(&[Categorical::new("site")], ids)?;
    let target = metadata.target("y", TargetKind::Number, ids)?;
    settings.model.categorical = found.columns;
    microbes.categories = found.of;
    Ok((settings, Work::from_target(microbes, target)))
}

/// Returns by how much predictions for gut are below those for skin, on the average.
fn told_apart(trained: &TrainedMicrobes, microbes: &Microbes) -> f64 {
    let answers = trained.predict(microbes, 1);
    let n = answers.len() as f64 / 2.0;
    let signed = answers.iter().enumerate().map(|(at, answer)| {
        let value = answer.value();
        if at % 2 == 1 { value } else { -value }
    });
    signed.sum::<f64>() / n
}

#[test]
fn what_is_told_is_learned_however_it_is_joined() -> Done {
    let folder = tempfile::tempdir()?;
    for fusion in [
        Fusion::Concat,
        Fusion::Add,
        Fusion::Gated,
        Fusion::CrossAttention,
        Fusion::Perceiver,
    ] {
        let (settings, work) = of_sites(fusion)?;
        let at = folder.path().join(format!("{fusion:?}"));
        train(
            &mut Run::create(&at, settings, work.clone(), None)?,
            u64::MAX,
        )?;
        let trained = TrainedMicrobes::load(&at)?;
        let mut microbes = work.microbes;
        let right = told_apart(&trained, &microbes);
        microbes
            .categories
            .iter_mut()
            .for_each(|site| *site = 3 - *site);
        let wrong = told_apart(&trained, &microbes);
        // Who is told nothing cannot tell them apart.
        microbes.categories.clear();
        let nothing = told_apart(&trained, &microbes);
        assert!(
            right > 0.5 && wrong < -0.5 && nothing.abs() < 0.5 * right,
            "{fusion:?}: {right} of 2, {wrong} of −2, {nothing} of 0"
        );
    }
    Ok(())
}

#[test]
fn a_value_that_no_training_sample_has_says_nothing() -> Done {
    let folder = tempfile::tempdir()?;
    let (settings, work) = of_sites(Fusion::Add)?;
    let parts = work.parts(&settings.split)?;
    let sample = work.samples[parts.test[0]];
    let mut work = work;
    // `gut` and `skin` are 1 and 2; a third one of a sample that is only judged.
    let mut columns = settings.model.categorical.clone();
    columns[0].values.push("throat".to_owned());
    work.microbes.categories[sample] = 3;
    let mut settings = settings;
    settings.model.categorical = columns;
    settings.training.epochs = 2;
    let (foretold, of_all) = Run::begun_from(None, settings.clone(), work.clone())?;
    let mut run = Run::create(&folder.path().join("run"), settings, work, None)?;
    assert_eq!(run.settings().model.categorical[0].values, ["gut", "skin"]);
    // A dry run measures the very model that is trained.
    assert_eq!(&foretold, run.settings());
    assert_eq!(of_all.microbes.categories, run.work().microbes.categories);
    assert_eq!(run.work().microbes.categories[sample], 0);
    train(&mut run, u64::MAX)?;
    let trained = TrainedMicrobes::load(&folder.path().join("run"))?;
    let mut microbes = run.work().microbes.clone();
    let told = trained.predict(&microbes, 1)[sample].value();
    microbes.categories.clear();
    assert_eq!(told, trained.predict(&microbes, 1)[sample].value());
    Ok(())
}

#[test]
fn known_values_may_be_given_in_any_order() -> Done {
    let text = "sample_id\tsite\ns1\tskin\ns2\tgut\n";
    let metadata = SampleMetadata::from_text(text).map_err(|(_, reason)| reason)?;
    let samples = ["s0", "s1", "s2"].map(str::to_owned);
    let mut site = Categorical::new("site");
    let found = metadata.categories(std::slice::from_ref(&site), &samples)?;
    site.values = ["skin", "gut", "skin"].map(str::to_owned).into();
    assert_eq!(metadata.categories(&[site], &samples)?, found);
    Ok(())
}

#[test]
fn a_run_that_is_told_columns_goes_on_bit_for_bit() -> Done {
    let folder = tempfile::tempdir()?;
    let (mut settings, work) = of_sites(Fusion::Concat)?;
    settings.training.epochs = 2;
    let [whole, parted] = ["whole", "parted"].map(|name| folder.path().join(name));
    train(
        &mut Run::create(&whole, settings.clone(), work.clone(), None)?,
        u64::MAX,
    )?;
    train(&mut Run::create(&parted, settings, work, None)?, 5)?;
    train(&mut Run::open(&parted)?, u64::MAX)?;
    assert!(state(&whole)? == state(&parted)?);

    // A category that the model does not have is damage.
    let path = whole.join("prepared/task.json");
    let mut task: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    for (site, is_whole) in [(2, true), (3, false)] {
        task["categories"][0] = site.into();
        fs::write(&path, task.to_string())?;
        assert_eq!(Run::open(&whole).is_ok(), is_whole);
    }
    Ok(())
}

#[test]
fn a_model_that_is_told_columns_asks_for_them() -> Done {
    let folder = made()?;
    let at = folder.path();
    let flags = [
        "train",
        "c/table.biom",
        "--metadata",
        "c/metadata.tsv",
        "--column",
        "single",
        "--out",
        "run",
        "--json",
        "--categorical",
    ];
    let train = |column| with_small(&[&flags[..], &[column]].concat());
    json(&run(at, &train("deep_class"))?)?;
    let ask = |more: &[&str]| run(at, &[&["predict", "run", "c/table.biom"], more].concat());
    let without = ask(&[])?;
    assert_eq!(without.status.code(), Some(2));
    assert!(stderr(&without).contains("`deep_class`") && stderr(&without).contains("--metadata"));
    let renamed = |path: &Path| -> std::io::Result<String> {
        Ok(fs::read_to_string(path)?.replace("high", "huge"))
    };
    fs::write(at.join("other.tsv"), renamed(&at.join("c/metadata.tsv"))?)?;
    for (metadata, known) in [
        ("c/metadata.tsv", "; 0 of 24"),
        ("other.tsv", "learned from, taken for missing: `huge`"),
    ] {
        let with = ask(&["--metadata", metadata])?;
        assert!(
            with.status.success() && stderr(&with).contains(known),
            "{}",
            stderr(&with)
        );
    }
    for (column, wanted) in [("single", "the answer"), ("site", "no column `site`")] {
        let refused = run(at, &train(column))?;
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains(wanted), "{}", stderr(&refused));
    }
    Ok(())
}
