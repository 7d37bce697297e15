//! What several commands do with their flags: tables, caches, targets.

use std::path::{Path, PathBuf};

use kato_advice::counted;
use kato_microbes::cache::{Cache, Saved};
use kato_microbes::metadata::{
    Categorical, Categories, PredictionTarget, SampleMetadata, TargetKind, TargetValues,
};
use kato_microbes::{CommunityOptions, CommunityReport};
use kato_neural::program::{CommandFailure, tell};
use kato_unifrac::MatchOptions;

use super::cli::{CacheArguments, MatchArguments, TableArguments, TargetArguments};
use super::names::names;

impl TableArguments {
    /// Returns how a table is made ready.
    pub(crate) fn options(&self) -> CommunityOptions {
        CommunityOptions::default()
            .with_depth(self.depth)
            .with_seed(self.seed)
    }
}

impl MatchArguments {
    /// Returns what is done where table and tree do not fit.
    pub(crate) fn options(&self) -> MatchOptions {
        let mut options = MatchOptions::default();
        options.without_unknown_features = self.prune;
        options.without_empty_samples = self.without_empty;
        options.absent_lengths_are_zero = self.lengths_as_zero;
        options.negative_lengths_are_zero = self.lengths_as_zero;
        options
    }
}

impl CacheArguments {
    /// Opens the cache, unless it is not wanted or has no folder.
    pub(crate) fn open(&self) -> Option<Cache> {
        if self.no_cache {
            return None;
        }
        let folder = self.cache.clone().or_else(user_cache)?;
        Some(Cache::new(folder, self.cache_limit.saturating_mul(1 << 20)))
    }
}

/// Returns the program's folder in the user's cache.
fn user_cache() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("kato-microbes"))
}

/// Tells what the cache did.
pub(crate) fn tell_saved(what: &str, saved: &Saved) {
    let Saved {
        is_hit,
        computed_s,
        read_s,
        n_bytes,
        n_evicted,
        ..
    } = *saved;
    if is_hit {
        tell(hit(what, computed_s, read_s));
    } else if n_bytes > 0 {
        let mebibytes = n_bytes as f64 / f64::from(1 << 20);
        tell(format_args!(
            "cache: {what} computed in {computed_s:.3} s, kept in {mebibytes:.1} MiB; {n_evicted} older entries removed"
        ));
    }
}

/// Says what came of reading a result instead of computing it.
fn hit(what: &str, computed_s: f64, read_s: f64) -> String {
    let spared = computed_s - read_s;
    // The least that is not shown as 0.000 s; what is small is read no faster than it is computed.
    let outcome = if spared >= 0.0005 {
        format!("so {spared:.3} s are saved")
    } else {
        "so nothing is saved".to_owned()
    };
    format!("cache: {what} read in {read_s:.3} s; computing took {computed_s:.3} s, {outcome}")
}

/// Tells what was done to a table.
pub(crate) fn tell_report(report: &CommunityReport) {
    let drawn = match report.depth {
        0 => "with all their counts".to_owned(),
        depth => format!("of {} each", counted(depth, "count")),
    };
    tell(format_args!(
        "{} of {}, {drawn}; {}",
        report.n_samples,
        counted(report.n_read, "sample"),
        counted(report.n_features, "feature")
    ));
    if let Some(line) = names("sample", "too shallow and left out", &report.too_shallow) {
        tell(line);
    }
}

/// Reads a column for the samples of a table, and tells what it lacks.
pub(crate) fn target(
    arguments: &TargetArguments,
    metadata: &SampleMetadata,
    sample_ids: &[String],
) -> Result<PredictionTarget, CommandFailure> {
    let kind = if arguments.classes {
        TargetKind::Class
    } else {
        TargetKind::Auto
    };
    let target = metadata.target(&arguments.column, kind, sample_ids)?;
    tell_target(&target, &arguments.metadata);
    Ok(target)
}

/// Reads what a model is told of the samples of a table beside their sequences, and tells what is not known.
pub(crate) fn categories(
    columns: &[Categorical],
    metadata: &SampleMetadata,
    sample_ids: &[String],
) -> Result<Categories, CommandFailure> {
    let found = metadata.categories(columns, sample_ids)?;
    let columns = found.columns.iter().zip(&found.n_unknown);
    for ((column, &n), unknown) in columns.zip(&found.unknown) {
        let name = &column.name;
        tell(format_args!(
            "told beside the sequences: `{name}`, {}; {n} of {} without one that is known",
            counted(column.values.len(), "value"),
            counted(sample_ids.len(), "sample")
        ));
        let unknown: Vec<String> = unknown.iter().cloned().collect();
        if let Some(line) = names("value", &unlearned(name), &unknown) {
            tell(line);
        }
    }
    Ok(found)
}

/// Says of values of a column that the model does not know them.
pub(crate) fn unlearned(column: &str) -> String {
    format!("of `{column}` that the model has not learned from, taken for missing")
}

fn tell_target(target: &PredictionTarget, path: &Path) {
    let what = match &target.values {
        TargetValues::Classes { names, of } => {
            let of_each = names.iter().enumerate().map(|(class, name)| {
                let n = of.iter().filter(|&&other| other == class).count();
                format!("`{name}` ({n})")
            });
            format!("classes {}", of_each.collect::<Vec<_>>().join(", "))
        }
        _ => "numbers; `--classes` takes them for classes".to_owned(),
    };
    let (column, n) = (&target.column, counted(target.n_samples(), "sample"));
    tell(format_args!("`{column}`: {n} with a value; {what}"));
    let row = format!("without a row in `{}`", path.display());
    for (what, missing) in [
        (row.as_str(), &target.without_row),
        ("without a value", &target.without_value),
    ] {
        if let Some(line) = names("sample", what, missing) {
            tell(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_no_faster_than_computed_saves_nothing() {
        assert!(hit("tokens", 2.0, 0.5).ends_with("so 1.500 s are saved"));
        for (computed_s, read_s) in [(0.001, 0.004), (0.002, 0.002), (0.0004, 0.0)] {
            let said = hit("tokens", computed_s, read_s);
            assert!(said.ends_with("so nothing is saved"), "{said}");
        }
    }
}
