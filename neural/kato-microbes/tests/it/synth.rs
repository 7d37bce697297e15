//! Communities that are made.

use std::error::Error;

use kato_microbes::CommunityOptions;
use kato_microbes::Microbes;
use kato_microbes::metadata::{SampleMetadata, TargetKind, TargetValues};
use kato_microbes::synth::{SynthOptions, Synthetic, synth};
use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Table, Tree};

type Done = Result<(), Box<dyn Error>>;

fn small() -> SynthOptions {
    SynthOptions::default()
        .with_size(30, 40)
        .with_length(60)
        .with_depth(500)
}

/// Pearson's correlation of a column with the share of some sequences in each sample.
fn correlation(made: &Synthetic, column: &str, chosen: &[String]) -> Result<f64, Box<dyn Error>> {
    let metadata = SampleMetadata::from_text(&made.metadata).map_err(|(_, reason)| reason)?;
    let target = metadata.target(column, TargetKind::Auto, made.table.sample_ids())?;
    let TargetValues::Numbers(numbers) = target.values else {
        return Err("the column is numeric".into());
    };
    let is_chosen: Vec<bool> = made
        .table
        .feature_ids()
        .iter()
        .map(|id| chosen.contains(id))
        .collect();
    let share = |sample: usize| {
        let of = |chosen: bool| -> f64 {
            let held = made
                .table
                .sample(sample)
                .filter(|(f, _)| is_chosen[*f] == chosen);
            held.map(|(_, count)| count).sum::<f64>() + 1.0
        };
        (of(true) / of(false)).ln()
    };
    let shares: Vec<f64> = (0..made.table.n_samples()).map(share).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(&numbers), mean(&shares));
    let sums = numbers
        .iter()
        .zip(&shares)
        .fold([0.0; 3], |[xy, xx, yy], (x, y)| {
            [
                xy + (x - a) * (y - b),
                xx + (x - a) * (x - a),
                yy + (y - b) * (y - b),
            ]
        });
    Ok(sums[0] / (sums[1] * sums[2]).sqrt())
}

#[test]
fn the_same_seed_makes_the_same_bits_and_another_does_not() -> Done {
    let (one, same) = (synth(&small())?, synth(&small())?);
    assert!(one.table == same.table && one.newick == same.newick && one.metadata == same.metadata);
    assert_ne!(one.table, synth(&small().with_seed(7))?.table);
    Ok(())
}

#[test]
fn what_was_cut_off_says_whose_folder_it_is() -> Done {
    let folder = tempfile::tempdir()?;
    // The table cannot be written.
    std::fs::create_dir(folder.path().join("table.biom"))?;
    assert!(synth(&small())?.write(folder.path()).is_err());
    assert!(folder.path().join("truth.json").is_file());
    Ok(())
}

#[test]
fn table_tree_and_metadata_fit_each_other() -> Done {
    let folder = tempfile::tempdir()?;
    let made = synth(&small())?;
    made.write(folder.path())?;
    let table = Table::read(folder.path().join("table.biom"))?;
    assert_eq!(table, made.table);
    let tree = Tree::read(folder.path().join("tree.nwk"), Default::default())?;
    let community = Community::new(&table, &tree, MatchOptions::default())?;
    assert!(
        community.check().findings.is_empty(),
        "{}",
        community.check()
    );
    let distances = community.distances(Metric::Unweighted, ComputeOptions::default())?;
    assert!(distances.condensed().iter().all(|d| *d > 0.0 && *d < 1.0));
    let metadata = SampleMetadata::read(&folder.path().join("metadata.tsv"))?;
    assert_eq!(metadata.sample_ids(), table.sample_ids());
    let microbes = Microbes::prepare(&table, &CommunityOptions::default().with_depth(500))?;
    assert!(
        microbes.report.too_shallow.is_empty(),
        "every sample is deep enough"
    );
    Ok(())
}

#[test]
fn each_signal_moves_what_the_truth_says() -> Done {
    let made = synth(&small().with_size(60, 80))?;
    assert!(made.truth.clade.len() > 4 && made.truth.single.len() == 4);
    assert!(correlation(&made, "deep", &made.truth.clade)? > 0.7);
    let rising: Vec<String> = made.truth.single.iter().step_by(2).cloned().collect();
    assert!(correlation(&made, "single", &rising)? > 0.7);
    // Without an effect nothing follows the columns.
    let mut none = small().with_size(60, 80);
    none.effect = 0.0;
    let none = synth(&none)?;
    assert!(correlation(&none, "deep", &none.truth.clade)?.abs() < 0.35);
    Ok(())
}

#[test]
fn real_sequences_come_with_their_own_tree_or_one_of_shared_words() -> Done {
    let folder = tempfile::tempdir()?;
    let fasta = folder.path().join("s.fasta");
    let source = synth(&small())?;
    let (mut text, mut tips) = (String::new(), Vec::new());
    for (at, sequence) in source.table.feature_ids().iter().enumerate() {
        text.push_str(&format!(">seq{at} made\n{}\n", sequence.to_lowercase()));
        tips.push(format!("seq{at}:1"));
    }
    text.push_str(
        ">short\nACGT\n>unknown\nNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN\n",
    );
    std::fs::write(&fasta, text)?;
    let options = small().with_size(5, 12).with_length(50).with_fasta(&fasta);
    let joined = synth(&options)?;
    assert_eq!(joined.table.n_features(), 12);
    let tree = Tree::from_newick(&joined.newick)?;
    assert_eq!((tree.n_tips(), tree.n_nodes()), (12, 23));
    // Words bring together what evolution keeps together: the tree is no star.
    let lengths = (0..tree.n_nodes()).filter_map(|node| tree.length(node));
    assert!(lengths.filter(|length| *length > 0.0).count() > 12);

    let newick = folder.path().join("t.nwk");
    std::fs::write(
        &newick,
        format!(
            "(({}):0.5,({}):0.25);",
            tips[..20].join(","),
            tips[20..].join(",")
        ),
    )?;
    let cut = synth(&options.with_tree(&newick))?;
    let tree = Tree::from_newick(&cut.newick)?;
    assert_eq!(tree.n_tips(), 12);
    assert!(tree.tips().all(|tip| tree.length(tip) == Some(1.0)));
    Ok(())
}

#[test]
fn impossible_settings_are_named() {
    let mut options = small();
    options.prevalence = 0.0;
    assert!(
        synth(&options)
            .unwrap_err()
            .to_string()
            .contains("`prevalence` is 0")
    );
    let options = small().with_size(0, 40);
    assert!(
        synth(&options)
            .unwrap_err()
            .to_string()
            .contains("`samples` is 0")
    );
    let options = small().with_tree("t.nwk");
    assert!(synth(&options).unwrap_err().to_string().contains("`tree`"));
}
