//! Word vectors from files, and what becomes of words that have none.

use std::error::Error;
use std::fs;

use kato_poetry::PoemVocabulary;
use kato_poetry::vectors::{UnknownWords, VectorOptions, WordVectors};

type Outcome = Result<(), Box<dyn Error>>;

/// Four words, of which the file below has three, one in lower case only.
const TEXT: &str = "Sea sea sky sky sky Thee moon";

fn prepare(
    change: impl FnOnce(&mut VectorOptions),
) -> Result<(PoemVocabulary, WordVectors), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("glove.txt");
    fs::write(&path, "sea 1 2\nthee -1 0.5\nsky 0 3\nbad 1\n")
        .map_err(|error| error.to_string())?;
    let mut options = VectorOptions::default();
    options.file = Some(path);
    change(&mut options);
    let vocabulary = PoemVocabulary::from_texts([TEXT], options.min_count_in_use());
    let prepared = WordVectors::prepare(&vocabulary, &[], &options);
    prepared
        .map(|(vectors, _)| (vocabulary, vectors))
        .map_err(|error| error.to_string())
}

#[test]
fn words_have_the_file_s_vectors_and_those_of_their_lower_case() -> Outcome {
    let (vocabulary, vectors) = prepare(|_| {})?;
    let vector = |word: &str| vectors.vector(vocabulary.id(word));
    assert_eq!(vector("sea"), [1.0, 2.0]);
    assert_eq!(vector("Sea"), [1.0, 2.0]);
    assert_eq!(vector("Thee"), [-1.0, 0.5]);
    assert_eq!(vectors.vector(0), [0.0, 0.0]);
    // Special tokens have vectors of their own.
    assert_ne!(vectors.vector(2), vectors.vector(3));
    Ok(())
}

#[test]
fn lines_that_give_no_vector_are_counted_and_the_first_is_told() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("glove.txt");
    fs::write(&path, "sea 1 2\nbad 1\nsky 0 three\nthee -1 0.5\n")?;
    let mut options = VectorOptions::default();
    options.file = Some(path);
    options.max_unknown_share = 1.0;
    let vocabulary = PoemVocabulary::from_texts([TEXT], options.min_count_in_use());
    let (_, report) = WordVectors::prepare(&vocabulary, &[], &options)?;
    assert_eq!(report.n_bad_lines, 2);
    let first = report.first_bad_line.ok_or("a line")?;
    assert!(first.starts_with("line 2, byte 8: "), "{first}");
    Ok(())
}

#[test]
fn other_words_are_drawn_zeros_or_the_mean() -> Outcome {
    let of_moon = |change: fn(&mut VectorOptions)| -> Result<Vec<f32>, String> {
        let (vocabulary, vectors) = prepare(change)?;
        Ok(vectors.vector(vocabulary.id("moon")).to_vec())
    };
    assert_eq!(
        of_moon(|options| options.unknown = UnknownWords::Zero)?,
        [0.0, 0.0]
    );
    // Of "sea", "Sea", "sky" and "Thee", each once.
    let mean = of_moon(|options| options.unknown = UnknownWords::Mean)?;
    assert_eq!(mean, [0.25, 1.875]);
    let drawn = of_moon(|_| {})?;
    assert_eq!(drawn, of_moon(|_| {})?);
    assert_ne!(drawn, of_moon(|options| options.seed = 7)?);
    Ok(())
}

#[test]
fn too_many_words_without_a_vector_are_an_error_with_ways_out() {
    // “moon” is one of seven words.
    assert!(prepare(|options| options.max_unknown_share = 0.15).is_ok());
    let error = prepare(|options| options.max_unknown_share = 0.14).unwrap_err();
    assert!(
        error.contains("no vector for 1 of 5 words, which stand for 14 %"),
        "{error}"
    );
    assert!(
        error.contains("“moon”") && error.contains("`vectors.max_unknown_share`"),
        "{error}"
    );
}
