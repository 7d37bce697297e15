//! Errors in the words of the program: the libraries name their settings, its users know options; and
//! what to do stands at the end.

mod system;

use std::error::Error as StdError;
use std::sync::OnceLock;

use anyhow::Error;
use clap::Command;
use kato_advice::{Advice, in_words};
use kato_engine::EngineError;
use kato_estimator::EstimateError;
use kato_hierarchy::HierarchyError;
use kato_loader::LoadError;
use kato_planner::scaling::ScalingError;
use kato_remote::RemoteError;
use kato_runs::RunsError;
use kato_scheduler::{BackendError, TrainError};
#[cfg(feature = "parquet")]
use kato_store::parquet::ParquetError;
use kato_store::{ExchangeError, StoreError};

/// Flags that the command at work takes, as its help shows them.
static TAKEN: OnceLock<Vec<String>> = OnceLock::new();

/// Lets no advice name an option from now on that a command does not take.
pub(crate) fn heed(command: &Command) {
    let shown = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set());
    let flags = shown.filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
    // A program has one command.
    drop(TAKEN.set(flags.collect()));
}

/// Returns whether the command at work takes an option, as it is told.
fn is_taken(option: &str) -> bool {
    let words = option.split(' ').filter(|word| word.starts_with("--"));
    let is_known = |flag: &str| {
        TAKEN
            .get()
            .is_none_or(|taken| taken.iter().any(|it| it == flag))
    };
    words.into_iter().all(is_known)
}

/// Settings of the libraries, each with what sets it here: mostly an option.
///
/// What a run cannot set by an option is missing here: ways out that need it are not told.
const OPTIONS: &[(&str, &str)] = &[
    // Reading.
    ("OnBadRecord::Skip", "--on-bad skip"),
    ("allow_empty", "--allow-empty"),
    ("with_compression", "--compression"),
    ("Format::Csv", "--format csv"),
    ("Format::Text", "--format text"),
    ("Format::Tsv", "--format tsv"),
    ("with_dataset", "a dataset as SOURCE"),
    ("with_format", "--format"),
    ("with_header", "the header"),
    ("with_hub_endpoint", "HF_ENDPOINT"),
    ("with_hub_token", "HF_TOKEN"),
    ("with_id_field", "--id-field"),
    ("with_max_window_bytes", "--max-window"),
    ("with_mixed", "the weight of a SOURCE"),
    ("with_order", "--window"),
    ("with_sample", "--sample"),
    ("with_shard", "--shard"),
    ("with_split", "--hold-out"),
    ("with_text_field", "--field"),
    ("with_text_unit", "--text-unit"),
    ("with_workers", "--loader-workers"),
    // Learning.
    ("ConnectionBudget::pool", "--connections"),
    ("FailurePolicy::most_failures", "--max-errors"),
    ("Node::unretire", "kato retire --undo"),
    ("OnFailure::Skip", "--skip-errors"),
    ("Recording::provenance", "--provenance"),
    ("TrainingOptions::n_workers", "--workers"),
    ("threads", "--workers"),
    // Where it goes.
    ("DamagePolicy::GoBack", "--go-back"),
    ("SessionOptions::new", "--run"),
    ("TornLearns::Keep", "--resume --torn-learns keep"),
    ("with_reteaching", "--run and --reteach"),
    ("with_taught_nodes", "--allow-existing-patterns"),
    // Measuring.
    ("with_kato", "--server"),
    ("with_mongodb", "--mongodb"),
    // Estimating.
    ("with_force(true)", "--force"),
];

/// Settings of writing, which files and fields may be called, too: they are meant where a text says what to
/// use.
const COMMON: &[(&str, &str)] = &[
    ("level", "--level"),
    ("n", "--top-k"),
    ("stop text", "--stop"),
    ("temperature", "--temperature"),
    ("top_p", "--top-p"),
    ("width", "--width"),
];

/// Returns the option that stands for a setting; for a common name where one is meant.
fn option(setting: &str, is_setting: bool) -> Option<&'static str> {
    let common = COMMON.iter().filter(|_| is_setting);
    let mut options = OPTIONS.iter().chain(common);
    let found = options.find(|(theirs, _)| *theirs == setting);
    found.map(|(_, ours)| *ours)
}

/// Returns a text of the libraries with the program's options in it.
#[must_use]
pub(crate) fn in_options(text: &str) -> String {
    let is_setting = text.contains(" is no `") || text.contains(": use `");
    in_words(text, |name| option(name, is_setting))
}

/// Returns an error with its causes, and what to do about it.
#[must_use]
pub(crate) fn told(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(|cause| in_options(&cause.to_string())) {
        // Some tell what their cause says, too.
        if !text.contains(&cause) {
            text += if text.is_empty() { "" } else { ": " };
            text += &cause;
        }
    }
    // Of several the deepest knows best what was wrong.
    let known = error.chain().filter_map(advice).last();
    let known = known.or_else(|| system::way_out(error, &text).map(str::to_owned));
    match known {
        None => text,
        // Behind a list it begins a line.
        Some(advice) if text.contains('\n') => format!("{text}\n{advice}"),
        Some(advice) => format!("{text}; {advice}"),
    }
}

/// Returns what to do about one error of a chain; `None` where its text says that.
fn advice(cause: &(dyn StdError + 'static)) -> Option<String> {
    if is_unreadable_index(cause) {
        return Some("`kato index` writes it again".to_owned());
    }
    // A way out that another command has is none.
    of_library(cause)?.in_words(|name| option(name, true).filter(|ours| is_taken(ours)))
}

/// Returns the advice of the library whose error it is.
fn of_library(cause: &(dyn StdError + 'static)) -> Option<Advice> {
    let run = match cause.downcast_ref() {
        Some(RunsError::Train(error)) => Some(error),
        _ => cause.downcast_ref(),
    };
    if let Some(error) = run {
        return match error {
            // It stands in the place of its own error, which is not in the chain again.
            TrainError::Backend(error) => of_backend(error),
            error => error.advice(),
        };
    }
    if let Some(error) = cause.downcast_ref::<BackendError>() {
        return of_backend(error);
    }
    let store = of_store(cause).and_then(StoreError::advice);
    let load = cause.downcast_ref().and_then(LoadError::advice);
    let remote = cause.downcast_ref().and_then(RemoteError::advice);
    let estimate = cause.downcast_ref().and_then(EstimateError::advice);
    let scaling = cause.downcast_ref().and_then(ScalingError::advice);
    store.or(load).or(remote).or(estimate).or(scaling)
}

/// Returns the store's error that an error is, or that it shows as its own.
fn of_store<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a StoreError> {
    if let Some(RunsError::Open(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(ExchangeError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    #[cfg(feature = "parquet")]
    if let Some(ParquetError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    cause.downcast_ref()
}

/// Returns the advice of the backend whose error it is.
fn of_backend(error: &BackendError) -> Option<Advice> {
    error.get_ref().downcast_ref().and_then(RemoteError::advice)
}

/// Returns whether it is an index that cannot be read.
fn is_unreadable_index(cause: &(dyn StdError + 'static)) -> bool {
    let engine = match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(HierarchyError::Engine(error)), _) => Some(error),
        (_, Some(kato::Error::Engine(error))) => Some(error),
        _ => cause.downcast_ref(),
    };
    matches!(engine, Some(EngineError::Unreadable { .. }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use anyhow::anyhow;
    use kato_loader::{Split, StreamingDatasetLoader};

    use super::*;

    fn said(error: impl Into<Error>) -> String {
        told(&error.into())
    }

    #[test]
    fn a_field_is_not_taken_for_the_setting_of_its_name() {
        let field = "field `level` is missing or null";
        assert_eq!(in_options(field), field);
    }

    #[test]
    fn options_out_of_range_are_named_as_the_user_knows_them() {
        let builder = StreamingDatasetLoader::builder().with_input("-");
        let error = builder.with_split(Split::training(1.5, 0)).build();
        assert_eq!(
            said(error.unwrap_err()),
            "option --hold-out is out of range: the held-out share must be more than 0 and less than 1"
        );
        let builder = StreamingDatasetLoader::builder().with_input("-");
        let error = builder.with_text_field("").build();
        assert_eq!(
            said(error.unwrap_err()),
            "option --field is out of range: a field needs a name"
        );
    }

    #[test]
    fn what_to_do_about_bad_records_is_said_in_options() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in [
            (
                "{\"body\": \"a\"}\n",
                "; name the text field with --field, and that of names with --id-field, or list and skip such records with --on-bad skip",
            ),
            (
                "{\n",
                "; list and skip such records with --on-bad skip, or repair the file: what was begun with it begins anew then, as another corpus",
            ),
        ] {
            let path = folder.path().join("a.jsonl");
            fs::write(&path, text).unwrap();
            let loader = StreamingDatasetLoader::builder().with_input(&path);
            let error = loader.build().unwrap().next().unwrap().unwrap_err();
            let said = said(TrainError::Load(error));
            assert!(said.starts_with("failed to read the corpus: "), "{said}");
            assert!(said.ends_with(expected), "{said}");
        }
    }

    #[test]
    fn what_a_backend_advises_is_not_lost_in_the_error_of_the_run() {
        let error = TrainError::from(RemoteError::Provenance);
        assert_eq!(
            said(error),
            "a KATO server keeps no provenance; leave out --provenance, or train into a store"
        );
        let differences = vec!["chunk size: was 5, is 8".to_owned()];
        assert_eq!(
            said(TrainError::OtherConfiguration { differences }),
            "this knowledge base was trained with other settings:\n  chunk size: was 5, is 8\n\
             use the same settings, or train into another directory"
        );
    }

    #[test]
    fn causes_stay_in_their_order() {
        let error = anyhow!("deepest `with_shard`")
            .context("middle")
            .context("first");
        assert_eq!(said(error), "first: middle: deepest --shard");
    }

    /// The program itself: its errors name options.
    const UNSEEN: [&str; 1] = ["kato-cli"];

    /// Settings without an option: they stand in ways out that the program leaves out.
    const LIBRARY_ONLY: [&str; 6] = [
        "take_bad_records",
        "with_filter",
        "with_ledger_capacity",
        "with_max_record_bytes",
        "with_max_requests",
        "with_retry",
    ];

    /// Every name of a library in an error, as the sources have them.
    #[test]
    fn no_error_of_the_program_names_a_method_of_a_library() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut names = Vec::new();
        for found in fs::read_dir(&crates).into_iter().flatten().flatten() {
            let name = found.file_name();
            if !UNSEEN.iter().any(|unseen| name == *unseen) {
                collect(&found.path().join("src"), &mut names);
            }
        }
        // Outside of the repository there are no sources of the libraries.
        if !crates.join("kato-loader/src").exists() {
            return;
        }
        assert!(names.len() > 20, "{names:?}");
        for (file, name) in names {
            let is_known = option(&name, true).is_some() || LIBRARY_ONLY.contains(&&*name);
            assert!(
                is_known,
                "{file} names `{name}`, for which there is no option"
            );
        }
        for (_, ours) in OPTIONS.iter().chain(COMMON) {
            assert!(!ours.contains("with_") && !ours.contains("::"), "{ours}");
        }
    }

    /// Collects the names of methods and variants that stand in texts below a directory.
    fn collect(dir: &Path, names: &mut Vec<(String, String)>) {
        for found in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = found.path();
            if path.is_dir() {
                collect(&path, names);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in text.lines().map(str::trim) {
                // Comments, documentation made by macros, and reasons for the compiler.
                if ["//", "#[doc", "reason ="]
                    .iter()
                    .any(|start| line.starts_with(start))
                {
                    continue;
                }
                let quoted = line.split('`').skip(1).step_by(2);
                let named = line.split('"').skip(1).step_by(2);
                let is_option = |text: &&str| text.starts_with("with_") && !text.contains(' ');
                let found = quoted
                    .filter(|text| text.contains("with_") || text.contains("::"))
                    .chain(named.filter(is_option));
                names.extend(found.map(|name| (path.display().to_string(), name.to_owned())));
            }
        }
    }
}
