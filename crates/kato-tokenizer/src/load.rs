//! From what the user named to a tokenizer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{HfTokenizer, LoadError, Tokenizer, gpt2};

/// The tokenizer that a user names: `gpt2` (or `openai-community/gpt2`), a `tokenizer.json`, or a folder that holds one.
///
/// Nothing is downloaded: for a name on the Hugging Face hub the error says which file to fetch.
///
/// ```
/// use kato_tokenizer::{Tokenizer, load};
/// assert_eq!(load("gpt2")?.name(), "gpt2");
/// assert!(load("bert-base-cased").unwrap_err().to_string().contains("resolve/main/tokenizer.json"));
/// # Ok::<(), kato_tokenizer::LoadError>(())
/// ```
///
/// # Errors
///
/// [`LoadError::Unknown`] when it is no such name or path; the others when the file cannot be used.
pub fn load(spec: &str) -> Result<Arc<dyn Tokenizer>, LoadError> {
    if matches!(spec, "gpt2" | "openai-community/gpt2") {
        return Ok(Arc::new(gpt2()));
    }
    let path = Path::new(spec);
    let path = if path.is_dir() {
        path.join("tokenizer.json")
    } else {
        path.to_path_buf()
    };
    if !path.is_file() {
        return Err(LoadError::Unknown {
            name: spec.to_owned(),
        });
    }
    Ok(Arc::new(HfTokenizer::from_file(spec, &path)?))
}

/// Like [`load`], but a hub name is also looked up among what Hugging Face tools have already downloaded to `cache`.
///
/// `cache` is the folder that holds `models--…` folders, usually `~/.cache/huggingface/hub`; of several downloaded
/// revisions, the one that `main` named last is taken.
///
/// # Errors
///
/// Those of [`load`].
pub fn load_with_hub_cache(spec: &str, cache: &Path) -> Result<Arc<dyn Tokenizer>, LoadError> {
    match load(spec) {
        Err(LoadError::Unknown { name }) => match cached(spec, cache) {
            Some(path) => Ok(Arc::new(HfTokenizer::from_file(spec, &path)?)),
            None => Err(LoadError::Unknown { name }),
        },
        loaded => loaded,
    }
}

fn cached(name: &str, cache: &Path) -> Option<PathBuf> {
    let model = cache.join(format!("models--{}", name.replace('/', "--")));
    let revision = std::fs::read_to_string(model.join("refs/main")).ok()?;
    let path = model
        .join("snapshots")
        .join(revision.trim())
        .join("tokenizer.json");
    path.is_file().then_some(path)
}
