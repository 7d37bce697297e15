//! `compare`: two runs side by side.

use kato_neural::program::{CommandFailure, Ended, say, say_json, wrong_setting};
use kato_poetry::run::{EpochRecord, PoetryOutcome};
use kato_poetry::{Run, Settings, Trained};
use serde::Serialize;
use toml::{Table, Value};

use super::cli::CompareArguments;

/// What two runs differ in, and what came of each.
#[derive(Serialize)]
struct Comparison {
    settings: Vec<Difference>,
    first: PoetryOutcome,
    second: PoetryOutcome,
}

/// A setting that two runs have different values of.
#[derive(Serialize)]
struct Difference {
    name: String,
    first: Option<String>,
    second: Option<String>,
}

/// Shows two runs side by side.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<Ended, CommandFailure> {
    let settings = |run| Trained::load(run).map(|trained| trained.settings().clone());
    let (first, second) = (settings(&arguments.first)?, settings(&arguments.second)?);
    let comparison = Comparison {
        settings: differences(&first, &second)?,
        first: Run::read_outcome(&arguments.first)?,
        second: Run::read_outcome(&arguments.second)?,
    };
    if arguments.output.json {
        say_json(&comparison)?;
    } else {
        say_comparison(&comparison)?;
    }
    Ok(Ended::Done)
}

/// Prints two runs side by side.
fn say_comparison(comparison: &Comparison) -> Result<(), CommandFailure> {
    let Comparison {
        settings,
        first,
        second,
    } = comparison;
    for Difference {
        name,
        first,
        second,
    } in settings
    {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        say(format_args!(
            "{name:<28} {:>14} {:>14}",
            value(first),
            value(second)
        ))?;
    }
    let both = [first, second];
    let best = |of: fn(&EpochRecord) -> f64| both.map(|outcome| outcome.best.as_ref().map(of));
    let rows = [
        ("best epoch", best(|record| (record.epoch + 1) as f64)),
        ("validation cosine", best(|record| record.validation.cosine)),
        ("validation loss", best(|record| record.validation.loss)),
        (
            "variance ratio",
            best(|record| record.validation.variance_ratio),
        ),
        ("live units", best(|record| record.validation.live_units)),
        ("chunks a second", best(|record| record.chunks_per_s)),
        (
            "test cosine",
            both.map(|outcome| outcome.test.map(|test| test.cosine)),
        ),
        (
            "baseline cosine",
            both.map(|outcome| Some(outcome.baseline_cosine)),
        ),
    ];
    for (name, values) in rows {
        let [first, second] = values.map(|value| match value {
            Some(value) => format!("{value:.4}"),
            None => "-".to_owned(),
        });
        say(format_args!("{name:<28} {first:>14} {second:>14}"))?;
    }
    Ok(())
}

/// Returns the settings that differ, by name.
fn differences(first: &Settings, second: &Settings) -> Result<Vec<Difference>, CommandFailure> {
    let flat = |settings: &Settings| -> Result<Vec<(String, String)>, CommandFailure> {
        let table = Table::try_from(settings).map_err(|error| wrong_setting(&error))?;
        let mut all = Vec::new();
        flatten(&table, "", &mut all);
        Ok(all)
    };
    let (first, second) = (flat(first)?, flat(second)?);
    let find = |all: &[(String, String)], name: &str| {
        all.iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.clone())
    };
    let mut names: Vec<&String> = first.iter().chain(&second).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let all = names.into_iter().map(|name| Difference {
        name: name.clone(),
        first: find(&first, name),
        second: find(&second, name),
    });
    Ok(all
        .filter(|difference| difference.first != difference.second)
        .collect())
}

/// Lists the values of a table under their dotted names.
fn flatten(table: &Table, prefix: &str, all: &mut Vec<(String, String)>) {
    for (name, value) in table {
        let name = format!("{prefix}{name}");
        match value {
            Value::Table(inner) => flatten(inner, &format!("{name}."), all),
            other => all.push((name, other.to_string())),
        }
    }
}
