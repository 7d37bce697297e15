//! A source as a user writes it: a path, a location or the key of a dataset, maybe with a weight.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use kato_loader::StreamingDatasetLoaderBuilder;
use kato_loader::registry::{DatasetEntry, Registry};

use crate::exit::bail_as;
use crate::remote::Location;

/// A source to read from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    /// Its share in a mixture, in proportion to the others'; `None` where sources are read one
    /// after the other.
    pub(crate) weight: Option<f64>,
    /// The place that is read.
    pub(crate) place: Place,
}

/// The thing that a source stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// A file, a directory, a glob, or `-`.
    Path(PathBuf),
    /// Something behind a network.
    Location(Location),
    /// A dataset of the registry.
    Dataset(DatasetEntry),
}

impl Source {
    /// Recognises a source.
    ///
    /// # Errors
    ///
    /// When it is a location that is not well formed, neither a path nor a key, or both.
    pub(crate) fn parse(text: &Path, registry: &Registry) -> Result<Self> {
        if let Some((weight, rest)) = weight(text, registry) {
            if !(weight > 0.0 && weight.is_finite()) {
                bail_as!(Usage, "the weight of `{}` must be more than 0", shown(text));
            }
            let place = Place::parse(rest, registry)?;
            return Ok(Self {
                weight: Some(weight),
                place,
            });
        }
        let place = Place::parse(text, registry)?;
        Ok(Self {
            weight: None,
            place,
        })
    }

    /// Returns the entry of the registry, if the source is one.
    #[must_use]
    pub(crate) fn entry(&self) -> Option<&DatasetEntry> {
        match &self.place {
            Place::Dataset(entry) => Some(entry),
            Place::Path(_) | Place::Location(_) => None,
        }
    }

    /// Returns the location of the source, if it is behind a network.
    #[must_use]
    pub(crate) fn location(&self) -> Option<Location> {
        match &self.place {
            Place::Path(_) => None,
            Place::Location(location) => Some(location.clone()),
            Place::Dataset(entry) => entry.source.parse().ok(),
        }
    }

    /// Returns whether the source is standard input.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(&self.place, Place::Path(path) if is_stdin(path))
    }

    /// Returns whether the source is behind a network.
    #[must_use]
    pub(crate) fn is_remote(&self) -> bool {
        match &self.place {
            Place::Path(_) => false,
            Place::Location(_) => true,
            Place::Dataset(entry) => Location::is_location(&entry.source),
        }
    }

    /// Adds the source to a loader's inputs.
    #[must_use]
    pub(crate) fn add_to(
        &self,
        builder: StreamingDatasetLoaderBuilder,
    ) -> StreamingDatasetLoaderBuilder {
        match &self.place {
            Place::Path(path) => builder.with_input(path),
            Place::Location(location) => builder.with_input(location.to_string()),
            Place::Dataset(entry) => builder.with_dataset(entry),
        }
    }
}

/// Returns a source as it was named, a location without what grants access: what is shown, written and
/// recorded of it.
pub(crate) fn shown(source: &Path) -> String {
    let text = source.display().to_string();
    let Some(end) = text.find("://") else {
        return text;
    };
    // A weight may stand in front.
    let start = text[..end].rfind('*').map_or(0, |star| star + 1);
    let (weight, location) = text.split_at(start);
    match location.parse::<Location>() {
        Ok(location) => format!("{weight}{}", location.redacted()),
        // Of what is none, nobody knows where a secret begins.
        Err(_) => format!("{}://…", &text[..end]),
    }
}

/// Returns whether a name stands for standard input.
pub(crate) fn is_stdin(name: &Path) -> bool {
    name.as_os_str() == "-"
}

impl Place {
    /// Recognises a source without its weight.
    fn parse(text: &Path, registry: &Registry) -> Result<Self> {
        let path = || Self::Path(text.to_owned());
        // Locations and keys are text, so what is none can only be a path.
        let Some(name) = text.to_str() else {
            return Ok(path());
        };
        // Before files are looked for: no location is taken for a path.
        if name.contains("://") {
            return Ok(Self::Location(name.parse()?));
        }
        let exists = is_stdin(text) || text.exists();
        match registry.get(name) {
            // Neither reading is the safe one: a run would learn from the wrong corpus in silence.
            Some(entry) if exists => bail_as!(
                Usage,
                "`{name}` is a path here and the key of a dataset: write ./{name} for the path, or {} for the dataset",
                shown(entry.source.as_ref())
            ),
            Some(entry) => Ok(Self::Dataset(entry.clone())),
            None if exists || is_glob(name) => Ok(path()),
            // What looks like a path is taken for one that does not exist, which the loader
            // reports, unless it is close to a key.
            None if looks_like_path(name) && registry.closest(name).is_none() => Ok(path()),
            None => match registry.require(name) {
                Ok(entry) => Ok(Self::Dataset(entry.clone())),
                Err(error) => bail!("there is no file or directory `{name}`, and {error}"),
            },
        }
    }
}

/// Returns the weight in front of a source, and the source.
///
/// What begins with a whole number is taken for a glob, unless there is a source behind the star.
fn weight<'a>(text: &'a Path, registry: &Registry) -> Option<(f64, &'a Path)> {
    let (weight, rest) = at_star(text)?;
    let number: f64 = weight.parse().ok()?;
    let named = |name: &str| {
        is_stdin(name.as_ref()) || name.contains("://") || registry.get(name).is_some()
    };
    // `2*.txt` is a glob and `2*corpus.txt` is one as well, unless there is a source behind the
    // star.
    let is_source = || rest.to_str().is_some_and(named) || rest.exists();
    // A number with a point is a weight; `./0.5*.txt` is the way to write such a glob.
    let is_something = !rest.as_os_str().is_empty();
    let is_weight = !text.exists() && is_something && (weight.contains('.') || is_source());
    is_weight.then_some((number, rest))
}

/// Cuts a path at its first star. What stands in front must be text, what stands behind need not.
#[cfg(unix)]
fn at_star(path: &Path) -> Option<(&str, &Path)> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bytes = path.as_os_str().as_bytes();
    let star = bytes.iter().position(|byte| *byte == b'*')?;
    let rest = OsStr::from_bytes(&bytes[star + 1..]);
    Some((str::from_utf8(&bytes[..star]).ok()?, Path::new(rest)))
}

/// Cuts a path at its first star, where it is text.
#[cfg(not(unix))]
fn at_star(path: &Path) -> Option<(&str, &Path)> {
    let (weight, rest) = path.to_str()?.split_once('*')?;
    Some((weight, Path::new(rest)))
}

/// Returns whether a name has a character of a glob.
fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

/// Returns whether a name has a character that separates or ends names of files.
fn looks_like_path(name: &str) -> bool {
    name.contains(['/', '\\', '.'])
}

// A build that reads local files alone refuses the rest.
#[cfg(all(test, feature = "remote"))]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Source> {
        Source::parse(Path::new(text), &Registry::builtin())
    }

    #[test]
    fn a_source_is_a_path_a_location_or_a_key() {
        let manifest = env!("CARGO_MANIFEST_DIR");
        for path in [
            "-",
            manifest,
            "corpus/*.txt",
            "2*.txt",
            "nowhere/a.txt",
            "nowhere.jsonl",
        ] {
            let source = parse(path).unwrap();
            assert_eq!(source.place, Place::Path(path.into()), "{path}");
            assert!(!source.is_remote() && source.weight.is_none(), "{path}");
        }
        for location in [
            "hf://squad",
            "https://example.org/a.txt",
            "s3://b/*.parquet",
        ] {
            let source = parse(location).unwrap();
            assert!(source.is_remote(), "{location}");
            assert_eq!(source.location().unwrap().to_string(), location);
        }
        let source = parse("refinedweb").unwrap();
        assert_eq!(source.entry().unwrap().text_field, "content");
        assert!(source.is_remote());
    }

    #[test]
    fn a_weight_stands_in_front_of_a_source() {
        for (text, expected) in [
            ("0.7*c4", Some(0.7)),
            ("3*c4", Some(3.0)),
            ("2*hf://squad", Some(2.0)),
            ("0.5*corpus/*.txt", Some(0.5)),
            ("2*.txt", None),
            ("./0.5*.txt", None),
        ] {
            assert_eq!(parse(text).unwrap().weight, expected, "{text}");
        }
        for text in ["0.0*c4", "-1.5*c4", "0*c4"] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("more than 0"), "{error}");
        }
    }

    #[test]
    fn what_is_neither_is_refused_with_a_suggestion() {
        for (text, expected) in [
            ("wikitxt", "did you mean `wikitext`?"),
            ("simple-wiki", "did you mean `simple_wiki`?"),
            ("the_pile", "did you mean `pile`?"),
            ("nothing", "there is no file or directory `nothing`"),
            ("ftp://example.org/a", "unknown scheme"),
            ("hf://", "hf://"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
