//! From poems to chunks, vectors and files.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

use kato_poetry::artifacts::{read_words, write_artifacts};
use kato_poetry::{Corpus, CorpusOptions, Poem, npy};
use serde_json::Value;

use crate::support::sonnets;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn chunks_stay_in_the_part_of_their_poem() -> Outcome {
    let corpus = Corpus::prepare(sonnets(), &CorpusOptions::default())?;
    let parts = [&corpus.train, &corpus.validation, &corpus.test];
    let poems: Vec<BTreeSet<usize>> = parts
        .iter()
        .map(|part| part.iter().map(|chunk| chunk.poem).collect())
        .collect();
    assert_eq!(
        poems.iter().map(BTreeSet::len).collect::<Vec<_>>(),
        [4, 1, 1]
    );
    assert_eq!(
        poems.iter().flatten().collect::<BTreeSet<_>>().len(),
        6,
        "no poem in two parts"
    );
    assert!(
        corpus
            .train
            .iter()
            .all(|chunk| (11..=50).contains(&chunk.ids.len()))
    );
    assert!(
        corpus.report.unseen_share > 0.3,
        "words of other poems are unknown here"
    );
    Ok(())
}

#[test]
fn threads_change_no_bit() -> Outcome {
    let with = |threads| -> Result<Corpus, Box<dyn Error>> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        Ok(pool.install(|| Corpus::prepare(sonnets(), &CorpusOptions::default()))?)
    };
    let one = with(1)?;
    for threads in [2, 3, 7] {
        let more = with(threads)?;
        assert_eq!(one.vectors, more.vectors);
        assert_eq!(
            (&one.train, &one.vocabulary),
            (&more.train, &more.vocabulary)
        );
    }
    Ok(())
}

#[test]
fn files_hold_the_corpus() -> Outcome {
    let corpus = Corpus::prepare(sonnets(), &CorpusOptions::default())?;
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join("prepared").join(name);
    assert!(write_artifacts(&corpus, &folder.path().join("prepared"))?);

    let (shape, tokens) = npy::read::<u32>(&at("tokens.npy"))?;
    let (_, mask) = npy::read::<u8>(&at("masks.npy"))?;
    let (embedded_shape, embedded) = npy::read::<f32>(&at("embeddings.npy"))?;
    let dims = corpus.vectors.dims();
    assert_eq!(embedded_shape, [shape[0], shape[1], dims]);
    let chunks: Vec<_> = [&corpus.train, &corpus.validation, &corpus.test]
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(shape, [chunks.len(), 50]);
    for (row, chunk) in chunks.iter().enumerate() {
        let n = chunk.ids.len();
        let start = row * 50;
        assert_eq!(tokens[start..start + n], chunk.ids[..]);
        assert!(tokens[start + n..start + 50].iter().all(|id| *id == 0));
        assert_eq!(
            mask[start..start + 50]
                .iter()
                .filter(|bit| **bit == 1)
                .count(),
            n
        );
        let vector = &embedded[start * dims..(start + 1) * dims];
        assert_eq!(vector, corpus.vectors.vector(chunk.ids[0]));
    }
    let facts: Value = serde_json::from_slice(&fs::read(at("chunks.json"))?)?;
    assert_eq!(facts[0]["part"], "train");
    assert_eq!(facts.as_array().map(Vec::len), Some(chunks.len()));
    let vocabulary: Value = serde_json::from_slice(&fs::read(at("vocabulary.json"))?)?;
    assert_eq!(vocabulary["words"][4], "<POEM_START>");
    assert_eq!(
        fs::read_dir(folder.path().join("prepared"))?.count(),
        7,
        "nothing else"
    );
    Ok(())
}

#[test]
fn words_that_do_not_fit_their_vectors_are_damage() -> Outcome {
    let corpus = Corpus::prepare(sonnets(), &CorpusOptions::default())?;
    let folder = tempfile::tempdir()?;
    write_artifacts(&corpus, folder.path())?;
    npy::write(
        &folder.path().join("word_vectors.npy"),
        &[1, 2],
        [0.5_f32, 1.0],
    )?;
    let error = read_words(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("word_vectors.npy` is damaged: its shape is [1, 2]"),
        "{error}"
    );
    Ok(())
}

#[test]
fn too_few_poems_are_an_error_that_counts_them() {
    let poems = || {
        vec![
            Poem::new("A poem of five words."),
            Poem::new("a"),
            Poem::new("b"),
        ]
    };
    let error = Corpus::prepare(poems(), &CorpusOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("there is 1 poem of 5 tokens or more"),
        "{error}"
    );
    assert!(
        error.contains("1 for training and 0 for validation"),
        "{error}"
    );
    let error = Corpus::prepare(Vec::new(), &CorpusOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("there are 0 poems"), "{error}");
}
