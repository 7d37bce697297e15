//! What a corpus was made into, as files that other programs read.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::chunks::Chunk;
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::npy;
use crate::tokens::Special;
use crate::vectors::WordVectors;
use crate::vocabulary::PoemVocabulary;
use kato_neural::run::{RunError, read_json, write_json};

/// Bytes of vectors of chunks that are written at most: beyond, tokens and word vectors say the same.
const MAX_EMBEDDED_BYTES: usize = 256 << 20;

/// The file that is written last.
const CHUNKS: &str = "chunks.json";

/// What is said of a chunk beside its tokens.
#[derive(Serialize)]
struct ChunkFacts<'a> {
    poem: usize,
    part: &'static str,
    start: usize,
    n_tokens: usize,
    title: Option<&'a str>,
    author: Option<&'a str>,
    place: &'a str,
}

/// Writes a corpus into a folder, which is made: each file is whole or not there.
///
/// With N chunks (training, validation, test) of at most T tokens over V words of D numbers:
///
/// | file | holds |
/// |---|---|
/// | `tokens.npy` | N × T, `u4`: numbers of words, 0 where a chunk is shorter |
/// | `masks.npy` | N × T, `u1`: 1 where there is a token |
/// | `embeddings.npy` | N × T × D, `f4`: the words' vectors; left out where it would have more than 256 MiB |
/// | `word_vectors.npy` | V × D, `f4` |
/// | `vocabulary.json` | words by number, and their counts |
/// | `chunks.json` | poem, part, start, title, author and place of each chunk |
/// | `report.json` | what was counted |
///
/// Returns whether `embeddings.npy` was written.
///
/// # Errors
///
/// When the folder or a file cannot be written.
pub fn write_artifacts(corpus: &Corpus, folder: &Path) -> Result<bool, PoetryError> {
    write_words(corpus, folder)?;
    write_chunks(corpus, folder)
}

/// Writes what a run needs to be opened again: words, their vectors and the report.
pub(crate) fn write_words(corpus: &Corpus, folder: &Path) -> Result<(), PoetryError> {
    fs::create_dir_all(folder).map_err(RunError::file("create", folder))?;
    let vectors = &corpus.vectors;
    let shape = [vectors.len(), vectors.dims()];
    npy::write(
        &folder.join("word_vectors.npy"),
        &shape,
        vectors.matrix().iter().copied(),
    )?;
    write_json(&folder.join("vocabulary.json"), &corpus.vocabulary)?;
    Ok(write_json(&folder.join("report.json"), &corpus.report)?)
}

/// Returns whether the files of [`write_chunks`] are all there.
pub(crate) fn has_chunks(folder: &Path) -> bool {
    // It is written last.
    folder.join(CHUNKS).exists()
}

/// Writes what only other programs need: tokens, masks and vectors of the chunks. Returns whether the
/// vectors were written.
pub(crate) fn write_chunks(corpus: &Corpus, folder: &Path) -> Result<bool, PoetryError> {
    fs::create_dir_all(folder).map_err(RunError::file("create", folder))?;
    let parts = [
        ("train", &corpus.train),
        ("validation", &corpus.validation),
        ("test", &corpus.test),
    ];
    let chunks: Vec<&Chunk> = parts.iter().flat_map(|(_, chunks)| chunks.iter()).collect();
    let longest = chunks
        .iter()
        .map(|chunk| chunk.ids.len())
        .max()
        .unwrap_or(0);
    let (tokens, mask) = padded(&chunks, longest);
    let shape = [chunks.len(), longest];
    npy::write(&folder.join("tokens.npy"), &shape, tokens.iter().copied())?;
    npy::write(&folder.join("masks.npy"), &shape, mask)?;
    let vectors = &corpus.vectors;
    let is_small = tokens.len() * vectors.dims() * size_of::<f32>() <= MAX_EMBEDDED_BYTES;
    if is_small {
        // Never all at once: they may be larger than everything else that a training holds.
        let embedded = tokens.iter().flat_map(|id| vectors.vector(*id)).copied();
        let shape = [chunks.len(), longest, vectors.dims()];
        npy::write(&folder.join("embeddings.npy"), &shape, embedded)?;
    }
    let facts: Vec<ChunkFacts<'_>> = parts
        .iter()
        .flat_map(|(part, chunks)| chunks.iter().map(|chunk| facts(corpus, part, chunk)))
        .collect();
    write_json(&folder.join(CHUNKS), &facts)?;
    Ok(is_small)
}

/// Returns what is said of a chunk.
fn facts<'a>(corpus: &'a Corpus, part: &'static str, chunk: &Chunk) -> ChunkFacts<'a> {
    let poem = &corpus.poems[chunk.poem];
    ChunkFacts {
        poem: chunk.poem,
        part,
        start: chunk.start,
        n_tokens: chunk.ids.len(),
        title: poem.title.as_deref(),
        author: poem.author.as_deref(),
        place: &poem.place,
    }
}

/// Returns the tokens of chunks in rows of one length, and which of them there are.
fn padded(chunks: &[&Chunk], longest: usize) -> (Vec<u32>, Vec<u8>) {
    let mut tokens = Vec::with_capacity(chunks.len() * longest);
    let mut mask = Vec::with_capacity(tokens.capacity());
    for chunk in chunks {
        let n_missing = longest - chunk.ids.len();
        tokens.extend_from_slice(&chunk.ids);
        tokens.extend(std::iter::repeat_n(Special::Pad.id(), n_missing));
        mask.extend(std::iter::repeat_n(1, chunk.ids.len()));
        mask.extend(std::iter::repeat_n(0, n_missing));
    }
    (tokens, mask)
}

/// Reads the words and their vectors back from a folder that [`write_artifacts`] filled.
///
/// # Errors
///
/// When a file cannot be read, or is damaged.
pub fn read_words(folder: &Path) -> Result<(PoemVocabulary, WordVectors), PoetryError> {
    let vocabulary: PoemVocabulary = read_json(&folder.join("vocabulary.json"))?;
    let path = folder.join("word_vectors.npy");
    let (shape, values) = npy::read::<f32>(&path)?;
    match shape[..] {
        [n_words, dims] if n_words == vocabulary.len() && dims > 0 => {
            Ok((vocabulary, WordVectors::from_rows(dims, values)))
        }
        _ => Err(RunError::Damaged {
            path,
            reason: format!(
                "its shape is {shape:?}, and there are {} words",
                vocabulary.len()
            ),
        }
        .into()),
    }
}
