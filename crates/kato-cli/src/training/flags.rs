//! The errors of the libraries in the words of `kato train`: they name methods and settings, its
//! users know options.

use anyhow::{Error, anyhow};

/// Phrases of the libraries' errors, each with what `kato train` says in its place.
///
/// They are replaced in this order, so a phrase stands before those that it contains.
const WORDS: &[(&str, &str)] = &[
    // Where the corpus cannot be read.
    (
        "name the text field with `with_text_field`, or list and skip such records with `OnBadRecord::Skip`",
        "name the text field with --field, or skip and list such records with --skip-errors",
    ),
    (
        "raise `with_max_record_bytes`, cut plain text with `with_text_unit`, or use `OnBadRecord::Skip`",
        "cut plain text with --text-unit, or skip and list such records with --skip-errors",
    ),
    (
        "or list and skip it with `OnBadRecord::Skip`",
        "or skip and list it with --skip-errors",
    ),
    (
        "or list and skip such records with `OnBadRecord::Skip`",
        "or skip and list such records with --skip-errors",
    ),
    (
        "name the files, or set `with_format` to take all",
        "name the files",
    ),
    (
        "drain it with `take_bad_records`, and check format and text field",
        "check the format of the files, and name the text field with --field",
    ),
    (
        "ask for fewer with `with_workers`",
        "ask for fewer with --loader-workers",
    ),
    (
        "give that filter again with `with_filter`",
        "go on with the program that began the run, as filters are code",
    ),
    (
        "compare `identity()` with that of the interrupted run",
        "give the sources and the options of the interrupted run",
    ),
    (
        "build a new loader, resuming from the cursor",
        "go on with the same command and --resume",
    ),
    // Options out of range.
    ("option `with_text_field`", "--field"),
    ("option `with_id_field`", "--id-field"),
    ("option `with_order`", "--window"),
    ("option `with_shard`", "--shard"),
    ("option `with_sample`", "--sample"),
    ("option `with_split`", "--hold-out"),
    ("option `with_mixed`", "the weight of a SOURCE"),
    // Where something cannot be learned.
    (
        "skip such documents with the option for it",
        "skip and list such documents with --skip-errors",
    ),
    (
        "then resume with a higher limit",
        "then go on with --resume and a higher --max-errors",
    ),
    (
        "give one chunk size for each level",
        "give one chunk size for each level with --levels",
    ),
    (
        "a pattern needs at least 2 symbols",
        "a pattern needs at least 2 symbols: give larger ones with --levels",
    ),
    // Where it goes.
    (
        "use the same settings, or train into another directory",
        "use the same settings, or train into another directory with --kb",
    ),
    (
        "give the same input, or train into another directory",
        "give the same sources, or train into another directory with --kb",
    ),
    (
        "use fewer workers or a larger pool",
        "use fewer --workers or more --connections",
    ),
    ("use fewer workers", "use fewer --workers"),
    (
        "leave out `Recording::provenance`, or train into a store",
        "leave out --provenance, or train into a directory with --kb",
    ),
    (
        "give this run another name, or ask for it to be taught on",
        "give this run another name with --run, or have it taught on with --onto-taught",
    ),
    (
        "or teach them what this run has learned with `with_reteaching`",
        "or teach them what this run has learned with --reteach as well",
    ),
    (
        "train into new nodes, under another name",
        "train into new nodes, under another name, with --run",
    ),
    (
        "go on without with `TornLearns::Keep`, or teach new nodes what this run has learned with `with_reteaching`",
        "go on without with --resume --torn-learns keep, or teach new nodes what this run has learned with --run and --reteach",
    ),
    (
        "resume without a limit on documents, or with one of at least",
        "go on without --max-samples, or with one of at least",
    ),
];

/// Returns the error and its causes, with options where they name something else.
#[must_use]
pub(crate) fn named(error: &Error) -> Error {
    // As text: a cause of a type of its own cannot be changed, and nobody asks for the type any
    // more.
    let mut causes = error.chain().map(|cause| in_flags(&cause.to_string()));
    let first = causes.next().unwrap_or_default();
    let rest: Vec<String> = causes.collect();
    // A chain is built from its deepest cause outwards.
    let mut texts = rest.into_iter().rev().chain([first]);
    let deepest = texts.next().unwrap_or_default();
    texts.fold(anyhow!(deepest), |cause, text| cause.context(text))
}

/// Replaces the phrases of one text.
fn in_flags(text: &str) -> String {
    let replaced = |text: String, (theirs, ours): &(&str, &str)| text.replace(theirs, ours);
    WORDS.iter().fold(text.to_owned(), replaced)
}

#[cfg(test)]
mod tests {
    use kato_loader::{LoadError, Split, StreamingDatasetLoader};
    use kato_scheduler::TrainError;

    use super::*;

    fn said(error: impl Into<Error>) -> String {
        format!("{:#}", named(&error.into()))
    }

    #[test]
    fn options_out_of_range_are_named_as_the_user_knows_them() {
        let builder = StreamingDatasetLoader::builder().with_input("-");
        let error = builder.with_split(Split::training(1.5, 0)).build();
        assert_eq!(
            said(error.unwrap_err()),
            "--hold-out is out of range: the held-out share must be more than 0 and less than 1"
        );
        let builder = StreamingDatasetLoader::builder().with_input("-");
        let error = builder.with_text_field("").build();
        assert_eq!(
            said(error.unwrap_err()),
            "--field is out of range: a field needs a name"
        );
    }

    #[test]
    fn what_to_do_about_bad_records_is_said_in_options() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in [
            ("{\"body\": \"a\"}\n", "name the text field with --field"),
            ("{\n", "skip and list such records with --skip-errors"),
        ] {
            let path = folder.path().join("a.jsonl");
            std::fs::write(&path, text).unwrap();
            let loader = StreamingDatasetLoader::builder().with_input(&path);
            let error = loader.build().unwrap().next().unwrap().unwrap_err();
            let said = said(TrainError::Load(error));
            assert!(said.starts_with("failed to read the corpus: "), "{said}");
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn no_method_of_a_library_is_left() {
        let errors: [Error; 8] = [
            LoadError::NoInput.into(),
            LoadError::EmptyDirectory {
                path: "a".into(),
                ignored: String::new(),
            }
            .into(),
            LoadError::FilterMissing { name: "a".into() }.into(),
            LoadError::Stopped.into(),
            LoadError::Interrupted.into(),
            LoadError::InvalidCursor { reason: "a".into() }.into(),
            LoadError::Thread(std::io::Error::other("none")).into(),
            TrainError::Spawn(std::io::Error::other("none")).into(),
        ];
        for error in errors {
            let said = said(error);
            for theirs in ["with_", "()", "cursor", "::"] {
                assert!(!said.contains(theirs), "{said}");
            }
        }
        let learn = TrainError::TooManyFailures {
            failures: 2,
            most: 1,
        };
        assert!(said(learn).contains("a higher --max-errors"));
    }

    #[test]
    fn provenance_is_called_by_its_option() {
        assert_eq!(
            said(kato_remote::RemoteError::Provenance),
            "a KATO server keeps no provenance: leave out --provenance, or train into a directory with --kb"
        );
    }

    #[test]
    fn causes_stay_in_their_order() {
        let error = anyhow!("deepest: use fewer workers")
            .context("middle")
            .context("first");
        assert_eq!(said(error), "first: middle: deepest: use fewer --workers");
    }
}
