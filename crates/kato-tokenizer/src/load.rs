//! The loading of a tokenizer by the name or path that a user gave.

#[cfg(feature = "huggingface")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "huggingface")]
use crate::HfTokenizer;
use crate::{LoadTokenizerError, Tokenizer, gpt2};

/// Loads the tokenizer that a user names: `gpt2` (or `openai-community/gpt2`) or, with the feature
/// `huggingface`, a `tokenizer.json` or a folder that holds one.
///
/// Nothing is downloaded: for a name on the Hugging Face hub the error says which file to fetch.
///
/// ```
/// use kato_tokenizer::{Tokenizer, load};
/// assert_eq!(load("gpt2")?.name(), "gpt2");
/// let unknown = load("bert-base-cased").unwrap_err().to_string();
/// if cfg!(feature = "huggingface") {
///     assert!(unknown.contains("resolve/main/tokenizer.json"));
/// }
/// # Ok::<(), kato_tokenizer::LoadTokenizerError>(())
/// ```
///
/// # Errors
///
/// [`LoadTokenizerError::Unsupported`] for anything but GPT-2 without the feature. With it,
/// [`LoadTokenizerError::Unknown`] when it is no such name or path; the others when the file cannot be used.
pub fn load(spec: &str) -> Result<Arc<dyn Tokenizer>, LoadTokenizerError> {
    // Before any file, so that a folder that happens to have this name changes nothing.
    if matches!(spec, "gpt2" | "openai-community/gpt2") {
        return Ok(Arc::new(gpt2()));
    }
    load_file(spec)
}

/// Refuses what is not built in.
#[cfg(not(feature = "huggingface"))]
fn load_file(spec: &str) -> Result<Arc<dyn Tokenizer>, LoadTokenizerError> {
    Err(LoadTokenizerError::Unsupported {
        name: spec.to_owned(),
    })
}

/// Loads a `tokenizer.json`, or that of a folder.
#[cfg(feature = "huggingface")]
fn load_file(spec: &str) -> Result<Arc<dyn Tokenizer>, LoadTokenizerError> {
    let path = Path::new(spec);
    let path = if path.is_dir() {
        path.join("tokenizer.json")
    } else {
        path.to_path_buf()
    };
    if !path.is_file() {
        return Err(LoadTokenizerError::Unknown {
            name: spec.to_owned(),
        });
    }
    Ok(Arc::new(HfTokenizer::from_file(spec, &path)?))
}

/// Loads a tokenizer as [`load`] does, looking a hub name up also among what Hugging Face tools
/// have already downloaded to `cache`. Needs the feature `huggingface`.
///
/// `cache` is the folder that holds `models--…` folders, usually `~/.cache/huggingface/hub`; of
/// several downloaded revisions, the one that `main` named last is taken.
///
/// # Errors
///
/// Those of [`load`].
#[cfg(feature = "huggingface")]
pub fn load_with_hub_cache(
    spec: &str,
    cache: impl AsRef<Path>,
) -> Result<Arc<dyn Tokenizer>, LoadTokenizerError> {
    match load(spec) {
        // Any other error is about a file that the user named, which the cache must not replace.
        Err(LoadTokenizerError::Unknown { name }) => match cached(spec, cache.as_ref()) {
            Some(path) => Ok(Arc::new(HfTokenizer::from_file(spec, &path)?)),
            None => Err(LoadTokenizerError::Unknown { name }),
        },
        loaded => loaded,
    }
}

/// Finds the `tokenizer.json` of a hub name in a cache.
#[cfg(feature = "huggingface")]
fn cached(name: &str, cache: &Path) -> Option<PathBuf> {
    // The layout of `huggingface_hub`: a folder for each model, a file for each branch with the
    // revision that it named last, and a folder for each revision.
    let model = cache.join(format!("models--{}", name.replace('/', "--")));
    let revision = std::fs::read_to_string(model.join("refs/main")).ok()?;
    let path = model
        .join("snapshots")
        .join(revision.trim())
        .join("tokenizer.json");
    path.is_file().then_some(path)
}
