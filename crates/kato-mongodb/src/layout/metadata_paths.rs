//! Metadata in KATO's layout: a dot in a key leads into a document, as in the database's own paths.

use std::collections::{BTreeMap, BTreeSet};

use kato_model::Metadata;
use mongodb::bson::{RawBsonRef, RawDocument};

use super::bson_writer::BsonWriter;

/// Steps that a path may have: servers limit how deeply documents are nested, and a commit must
/// never fail by that.
const STEPS: usize = 16;

/// The content of a step of a path.
enum Content<'a> {
    Values(&'a BTreeSet<String>),
    Steps(Steps<'a>),
}

type Steps<'a> = BTreeMap<&'a str, Content<'a>>;

/// Metadata in the places that KATO's paths lead to.
pub(crate) struct PlacedMetadata<'a> {
    steps: Steps<'a>,
    /// Whether all keys have a place. KATO fails to learn the others.
    pub(crate) is_whole: bool,
}

impl<'a> PlacedMetadata<'a> {
    /// Arranges metadata in steps, and notes whether all of it has a place.
    pub(crate) fn new(metadata: &'a Metadata) -> Self {
        let mut placed = Self {
            steps: Steps::new(),
            is_whole: true,
        };
        for (key, values) in metadata.iter() {
            // A key without a place is left out here, and kept as JSON in a field of ours.
            let has_place = is_path(key) && put(&mut placed.steps, key, values);
            placed.is_whole &= has_place;
        }
        placed
    }

    /// Writes the metadata that has a place.
    pub(crate) fn write(&self, out: &mut BsonWriter) {
        write(&self.steps, out);
    }
}

/// Returns whether servers take a key for a path.
fn is_path(key: &str) -> bool {
    let is_step = |step: &str| !step.is_empty() && !step.starts_with('$') && !step.contains('\0');
    key.split('.').all(is_step) && key.split('.').count() <= STEPS
}

/// Puts values where a path leads; returns `false` when it leads through the values of another key,
/// which come first in the order of keys.
fn put<'a>(steps: &mut Steps<'a>, path: &'a str, values: &'a BTreeSet<String>) -> bool {
    let Some((step, rest)) = path.split_once('.') else {
        return steps.insert(path, Content::Values(values)).is_none();
    };
    let place = steps.entry(step);
    match place.or_insert_with(|| Content::Steps(Steps::new())) {
        Content::Steps(below) => put(below, rest, values),
        Content::Values(_) => false,
    }
}

/// Writes the steps of a level, and those below them.
fn write(steps: &Steps<'_>, out: &mut BsonWriter) {
    for (step, place) in steps {
        match place {
            Content::Steps(below) => out.document(step, |out| write(below, out)),
            Content::Values(values) => out.array(step, |out| {
                for (idx, value) in values.iter().enumerate() {
                    out.text_at(idx, value);
                }
            }),
        }
    }
}

/// Returns the metadata of a document; `None` when something else is there.
pub(crate) fn metadata_in(document: &RawDocument) -> Option<Metadata> {
    let mut metadata = Metadata::default();
    read(document, "", &mut metadata)?;
    Some(metadata)
}

/// Reads what is below a path.
fn read(document: &RawDocument, path: &str, metadata: &mut Metadata) -> Option<()> {
    for entry in document {
        let (step, place) = entry.ok()?;
        let key = match path {
            "" => step.to_string(),
            path => format!("{path}.{step}"),
        };
        match place {
            RawBsonRef::Document(below) => read(below, &key, metadata)?,
            RawBsonRef::Array(values) => {
                for value in values {
                    metadata.insert_text(&key, value.ok()?.as_str()?.to_owned(), None);
                }
            }
            _ => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{Document, doc};

    use super::*;

    fn metadata_with(keys: &[&str]) -> Metadata {
        let mut metadata = Metadata::default();
        for key in keys {
            metadata.insert_text(key, format!("value of {key}"), None);
        }
        metadata
    }

    fn written(metadata: &Metadata) -> (Document, bool) {
        let placed = PlacedMetadata::new(metadata);
        let mut out = BsonWriter::new();
        placed.write(&mut out);
        (out.finish().try_into().unwrap(), placed.is_whole)
    }

    #[test]
    fn a_dot_leads_into_a_document_and_out_of_it_again() {
        let metadata = metadata_with(&["a.b", "a.c.0", "d", "ä.ö"]);
        let expected = doc! {
            "a": {"b": ["value of a.b"], "c": {"0": ["value of a.c.0"]}},
            "d": ["value of d"],
            "ä": {"ö": ["value of ä.ö"]},
        };
        assert_eq!(written(&metadata), (expected.clone(), true));
        let raw = mongodb::bson::RawDocumentBuf::try_from(&expected).unwrap();
        assert_eq!(metadata_in(&raw), Some(metadata));
    }

    #[test]
    fn keys_that_are_no_paths_have_no_place() {
        let deep = vec!["a"; STEPS + 1].join(".");
        for key in ["", ".", "a.", ".a", "a..b", "$a", "a.$b", "a\0", &deep] {
            assert_eq!(written(&metadata_with(&[key])), (doc! {}, false), "{key:?}");
        }
        let deepest = vec!["a"; STEPS].join(".");
        assert!(written(&metadata_with(&[&deepest])).1);
    }

    #[test]
    fn a_path_through_the_values_of_another_has_no_place() {
        let (document, is_whole) = written(&metadata_with(&["a", "a-b", "a.b"]));
        let expected = doc! {"a": ["value of a"], "a-b": ["value of a-b"]};
        assert_eq!((document, is_whole), (expected, false));
    }

    #[test]
    fn what_is_no_metadata_is_told() {
        for document in [doc! {"a": 1}, doc! {"a": [1]}, doc! {"a": {"b": "c"}}] {
            let raw = mongodb::bson::RawDocumentBuf::try_from(&document).unwrap();
            assert_eq!(metadata_in(&raw), None, "{document}");
        }
    }
}
