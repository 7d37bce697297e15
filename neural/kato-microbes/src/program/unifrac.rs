//! `unifrac`: distances of all pairs of samples, or the length that each holds.

use std::path::Path;

use kato_advice::counted;
use kato_microbes::MicrobesError;
use kato_microbes::cache::Key;
use kato_neural::program::{CommandFailure, refuse_inputs, say, say_json, tell};
use kato_neural::run::write_text;
use kato_unifrac::newick::NewickOptions;
use kato_unifrac::{
    Community, ComputeOptions, DistanceMatrix, Metric, Table, Tree, UnifracError, rarefy,
};

use super::check::tell_findings;
use super::cli::{MetricName, UnifracArguments};
use super::data::tell_saved;
use super::names::names;

/// Computes distances into a file.
pub(crate) fn unifrac(arguments: &UnifracArguments) -> Result<(), CommandFailure> {
    let metric = metric(arguments)?;
    check_name(&arguments.out, metric)?;
    let (table, tree) = (&arguments.table, &arguments.tree);
    refuse_inputs(&arguments.out, [table.as_path(), tree])?;
    let Some(metric) = metric else {
        return faith_pd(arguments);
    };
    let compute = || -> Result<DistanceMatrix, MicrobesError> {
        let community = community(arguments)?;
        Ok(community.distances(metric, options(arguments))?)
    };
    let distances = match arguments.cache.open() {
        Some(cache) => {
            let key = Key::new("distances")
                .with_file(table)?
                .with_file(tree)?
                .with("metric", format_args!("{metric:?}"))
                .with("depth", arguments.depth.unwrap_or(0))
                .with("seed", arguments.seed)
                .with("fit", format_args!("{:?}", arguments.fit.options()));
            let (distances, saved) = cache.distances(&key, compute)?;
            tell_saved("distances", &saved);
            distances
        }
        None => compute()?,
    };
    distances
        .write(&arguments.out)
        .map_err(MicrobesError::from)?;
    let n = distances.n_samples();
    let all = distances.condensed();
    let mean = (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
    if arguments.output.json {
        return say_json(&serde_json::json!({ "file": arguments.out, "samples": n, "mean": mean }));
    }
    let mean = match mean {
        Some(mean) => format!("their mean is {mean:.4}"),
        None => "there is no pair of samples".to_owned(),
    };
    say(format_args!(
        "distances of {} in {}; {mean}",
        counted(n, "sample"),
        arguments.out.display()
    ))
}

fn metric(arguments: &UnifracArguments) -> Result<Option<Metric>, CommandFailure> {
    if arguments.alpha.is_some() != (arguments.metric == MetricName::Generalized) {
        let text = "`--alpha A` and `--metric generalized` go together; 0.5 is usual";
        return Err(CommandFailure::Usage(text.to_owned()));
    }
    Ok(match arguments.metric {
        MetricName::Unweighted => Some(Metric::Unweighted),
        MetricName::Weighted => Some(Metric::Weighted),
        MetricName::Normalized => Some(Metric::NormalizedWeighted),
        MetricName::Generalized => Some(Metric::Generalized {
            alpha: arguments.alpha.unwrap_or(0.5),
        }),
        MetricName::FaithPd => None,
    })
}

/// Refuses a name that says no format, before anything takes long.
fn check_name(out: &Path, metric: Option<Metric>) -> Result<(), CommandFailure> {
    let ending = out.extension().and_then(|ending| ending.to_str());
    let fits = match metric {
        Some(_) => matches!(ending, Some("tsv" | "npy" | "h5")),
        None => ending == Some("tsv"),
    };
    if fits {
        return Ok(());
    }
    Err(match metric {
        Some(_) => MicrobesError::from(UnifracError::UnknownOutput {
            path: out.to_owned(),
        })
        .into(),
        None => CommandFailure::Usage(format!(
            "`{}`: Faith's PD is written as .tsv",
            out.display()
        )),
    })
}

fn options(arguments: &UnifracArguments) -> ComputeOptions {
    ComputeOptions::default().with_memory_limit_bytes(arguments.memory.saturating_mul(1 << 20))
}

/// Reads table and tree, and tells what does not fit.
fn community(arguments: &UnifracArguments) -> Result<Community, MicrobesError> {
    let mut table = Table::read(&arguments.table)?;
    // As everywhere, 0 takes all counts.
    if let Some(depth) = arguments.depth.filter(|&depth| depth > 0) {
        let rarefied = rarefy(&table, depth, arguments.seed)?;
        table = rarefied.table;
        if let Some(line) = names("sample", "too shallow and left out", &rarefied.too_shallow) {
            tell(line);
        }
    }
    let tree = Tree::read(&arguments.tree, NewickOptions::default())?;
    let community = Community::new(&table, &tree, arguments.fit.options())?;
    tell_findings(&community);
    Ok(community)
}

fn faith_pd(arguments: &UnifracArguments) -> Result<(), CommandFailure> {
    let community = community(arguments)?;
    let lengths = community.faith_pd(options(arguments));
    let lengths = lengths.map_err(MicrobesError::from)?;
    let mut text = "sample_id\tfaith_pd\n".to_owned();
    for (id, length) in community.sample_ids().iter().zip(&lengths) {
        text.push_str(&format!("{id}\t{length}\n"));
    }
    write_text(&arguments.out, &text)?;
    if arguments.output.json {
        return say_json(&serde_json::json!({ "file": arguments.out, "samples": lengths.len() }));
    }
    say(format_args!(
        "Faith's PD of {} in {}",
        counted(lengths.len(), "sample"),
        arguments.out.display()
    ))
}
