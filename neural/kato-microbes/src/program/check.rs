//! `check`: what there is, and what does not fit.

use kato_advice::{ErrorClass, counted};
use kato_microbes::metadata::{MetadataColumn, SampleMetadata};
use kato_microbes::{CommunityReport, Microbes, MicrobesError, depths, rarefied};
use kato_neural::program::{CommandFailure, HasClass, say, say_json, tell};
use kato_unifrac::newick::NewickOptions;
use kato_unifrac::{Community, Table, Tree};
use serde::Serialize;

use super::cli::CheckArguments;
use super::names::names;

/// What was checked does not fit; the findings are told already.
#[derive(Debug, thiserror::Error)]
#[error("nothing can be computed from these files as they are")]
struct DoesNotFit;

impl HasClass for DoesNotFit {
    fn class(&self) -> ErrorClass {
        ErrorClass::Other
    }
}

/// What was found, as JSON.
#[derive(Serialize)]
struct Found {
    samples: usize,
    features: usize,
    counts: usize,
    /// Of the shallowest, the middle and the deepest sample.
    counts_a_sample: [f64; 3],
    findings: Vec<String>,
    community: Option<CommunityReport>,
    columns: Vec<MetadataColumn>,
    samples_without_row: Vec<String>,
    rows_without_sample: Vec<String>,
    fits: bool,
}

/// Checks files against each other and prints every finding.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), CommandFailure> {
    let table = Table::read(&arguments.table).map_err(MicrobesError::from)?;
    let mut found = Found {
        samples: table.n_samples(),
        features: table.n_features(),
        counts: table.n_entries(),
        counts_a_sample: depths(&table),
        findings: Vec::new(),
        community: None,
        columns: Vec::new(),
        samples_without_row: Vec::new(),
        rows_without_sample: Vec::new(),
        fits: true,
    };
    if let Some(path) = &arguments.tree {
        let tree = Tree::read(path, NewickOptions::default()).map_err(MicrobesError::from)?;
        let check = kato_unifrac::check(&table, &tree);
        found.fits &= check.passes(arguments.fit.options());
        let lines = check
            .findings
            .iter()
            .map(|finding| in_flags(&finding.to_string()));
        found.findings = lines.collect();
    }
    let mut options = arguments.options.options();
    options.tokens = options.tokens.with_max_bp(arguments.max_bp);
    options.fasta.clone_from(&arguments.fasta);
    match Microbes::prepare(&table, &options) {
        Ok(microbes) => found.community = Some(microbes.report),
        // Distances and forests need no sequences, so that this alone is no fault.
        Err(error @ MicrobesError::NoSequences { .. }) => {
            found.findings.push(format!("note, {error}"));
            found.community = Some(rarefied(&table, &options)?.1);
        }
        Err(error @ (MicrobesError::TooShallow { .. } | MicrobesError::BadTable { .. })) => {
            found.findings.push(error.to_string());
            found.fits = false;
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(path) = &arguments.metadata {
        let metadata = SampleMetadata::read(path)?;
        let absent = |id: &&String| metadata.row(id).is_none();
        found.samples_without_row = table.sample_ids().iter().filter(absent).cloned().collect();
        let of_table: std::collections::HashSet<_> = table.sample_ids().iter().collect();
        let surplus = metadata
            .sample_ids()
            .iter()
            .filter(|id| !of_table.contains(id));
        found.rows_without_sample = surplus.cloned().collect();
        found.columns = metadata.columns().to_vec();
    }
    if arguments.output.json {
        say_json(&found)?;
    } else {
        say_found(&found)?;
    }
    if found.fits {
        Ok(())
    } else {
        Err(DoesNotFit.into())
    }
}

fn say_found(found: &Found) -> Result<(), CommandFailure> {
    let Found {
        samples,
        features,
        counts,
        counts_a_sample: [shallowest, middle, deepest],
        ..
    } = found;
    say(format_args!(
        "table: {}, {}, {} other than 0",
        counted(*samples, "sample"),
        counted(*features, "feature"),
        counted(*counts, "count")
    ))?;
    say(format_args!(
        "counts: {shallowest} in the shallowest sample, {middle} in the middle one, {deepest} in the deepest"
    ))?;
    if let Some(report) = &found.community {
        let CommunityReport {
            n_samples,
            n_features,
            depth,
            tokens,
            ..
        } = report;
        say(format_args!(
            "at depth {depth}: {}, {}",
            counted(*n_samples, "sample"),
            counted(*n_features, "feature")
        ))?;
        if let Some(line) = names("sample", "too shallow", &report.too_shallow) {
            say(line)?;
        }
        if tokens.n_sequences > 0 {
            say(format_args!(
                "sequences: {} to {}; {} cut, {} with ambiguous letters ({})",
                tokens.shortest,
                counted(tokens.longest, "nucleotide"),
                tokens.n_cut,
                tokens.n_ambiguous,
                counted(tokens.n_ambiguous_letters, "letter")
            ))?;
        }
    }
    for line in &found.findings {
        say(line)?;
    }
    for column in &found.columns {
        let n = column.values.iter().flatten().count();
        let kind = format!("{:?}", column.kind).to_lowercase();
        let source = if column.is_declared {
            "declared"
        } else {
            "by content"
        };
        let n_missing = column.values.len() - n;
        say(format_args!(
            "column `{}`: {kind} ({source}), {}, {n_missing} missing",
            column.name,
            counted(n, "value")
        ))?;
    }
    let (rowless, surplus) = (&found.samples_without_row, &found.rows_without_sample);
    for line in [
        names("sample", "without a row in the metadata", rowless),
        names("row", "of the metadata without a sample", surplus),
    ] {
        line.map_or(Ok(()), say)?;
    }
    Ok(())
}

/// Tells on standard error what is found of a table and its tree, in the program's words.
pub(super) fn tell_findings(community: &Community) {
    for finding in &community.check().findings {
        tell(in_flags(&finding.to_string()));
    }
}

/// Names the program's flags where the library names its settings.
pub(crate) fn in_flags(text: &str) -> String {
    kato_advice::in_words(text, |setting| match setting {
        "without_unknown_features" => Some("--prune"),
        "without_empty_samples" => Some("--without-empty"),
        "with_absent_lengths_as_zero" | "with_negative_lengths_as_zero" => {
            Some("--lengths-as-zero")
        }
        "memory_limit_bytes" => {
            Some("--memory of `kato-microbes unifrac` (`pretrain` takes its file with --distances)")
        }
        "distances_of" => Some("a table of those alone"),
        "sample_ids" => Some("`kato-microbes predict`"),
        _ => None,
    })
}
