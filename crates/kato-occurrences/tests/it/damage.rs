//! Whatever happens to a file of occurrences, an answer is the right one or an error.

use std::fs;
use std::path::{Path, PathBuf};

use kato_learner::{ChunkRule, TailPolicy};
use kato_occurrences::{Documents, Occurrences, OccurrencesError, Span, TokenPlace, Writer};

use crate::support::{Corpus, Rules, position};

/// A corpus that fills several units and blocks.
fn large() -> Corpus {
    let rules = Rules {
        sizes: vec![4, 3, 3],
        tail: TailPolicy::Drop,
        rule: ChunkRule::default(),
    };
    let word = |n: usize| [" a", " b", " c", " d", " the", " cat"][(n * n / 7 + n / 3) % 6];
    let text = |n: usize| (0..90).map(|at| word(61 * n + at)).collect::<String>();
    Corpus::new(&rules, (0..120).map(text).collect())
}

type Answers = (u64, Vec<TokenPlace>, Vec<Span>);

fn ask(corpus: &Corpus) -> Result<Option<Answers>, OccurrencesError> {
    let Some(occurrences) = Occurrences::open(&corpus.kb)? else {
        return Ok(None);
    };
    let tokens = corpus
        .learner
        .tokenizer()
        .encode(" a b the cat a d c")
        .unwrap();
    let mut places = occurrences.places(&tokens[..2], 0, 40)?;
    places.extend(occurrences.places(&tokens[3..4], 1000, 40)?);
    let answers = (
        occurrences.count(&tokens[..1])?,
        places,
        occurrences.spans(&tokens)?,
    );
    // Fewer units than were written are what a caller finds by their end.
    let is_whole = occurrences.end() == Some(&position(corpus.texts.len()));
    Ok(is_whole.then_some(answers))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

#[test]
fn flips_and_truncations_are_noticed_or_harmless() {
    let corpus = large();
    corpus.write(120, 5000);
    let expected = ask(&corpus).unwrap().unwrap();
    let files = files(&corpus.kb.join("occurrences"));
    let mut state = 7u64;
    let mut draw = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n.max(1)
    };
    let mut n_noticed = 0;
    for round in 0..300 {
        let path = &files[draw(files.len())];
        let whole = fs::read(path).unwrap();
        let mut damaged = whole.clone();
        match round % 3 {
            0 => damaged.truncate(draw(whole.len())),
            _ if whole.is_empty() => damaged.push(1),
            _ => {
                let at = draw(whole.len());
                damaged[at] ^= 1 << draw(8);
            }
        }
        fs::write(path, &damaged).unwrap();
        match ask(&corpus) {
            Ok(Some(answers)) => assert_eq!(answers, expected, "{}", path.display()),
            Ok(None) => n_noticed += 1,
            Err(error) => {
                n_noticed += 1;
                // What has failed, before what to do about it.
                assert!(error.to_string().starts_with("the occurrences "), "{error}");
            }
        }
        fs::write(path, &whole).unwrap();
    }
    assert!(n_noticed > 100, "{n_noticed}");
    assert_eq!(ask(&corpus).unwrap().unwrap(), expected);
}

#[test]
fn what_is_damaged_is_written_again_and_the_rest_kept() {
    let corpus = large();
    corpus.write(120, 5000);
    let expected = ask(&corpus).unwrap().unwrap();
    let path = corpus.units()[1].join("sequence");
    let mut bytes = fs::read(&path).unwrap();
    bytes[99] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let mut writer = Writer::new(&corpus.kb, corpus.describe(120, 5000)).unwrap();
    assert!(!writer.is_complete());
    let first = writer.position().documents;
    assert!(0 < first && first < 120, "{first}");
    corpus.push(&mut writer, 120);
    drop(writer.finish(position(120)).unwrap());
    assert_eq!(ask(&corpus).unwrap().unwrap(), expected);
    assert!(
        Writer::new(&corpus.kb, corpus.describe(120, 5000))
            .unwrap()
            .is_complete()
    );
}

#[test]
fn a_writer_that_is_cut_off_leaves_whole_units_and_goes_on() {
    let corpus = large();
    let mut writer = Writer::new(&corpus.kb, corpus.describe(120, 3000)).unwrap();
    corpus.push(&mut writer, 80);
    let OccurrencesError::File(locked) =
        Writer::new(&corpus.kb, corpus.describe(120, 3000)).unwrap_err()
    else {
        panic!("a file is in use");
    };
    assert!(matches!(
        locked,
        kato_columns::files::FileError::Locked { .. }
    ));
    assert!(locked.to_string().contains("or by this one"), "{locked}");
    // Nothing of the unit that was being written counts, nor is anything left of it.
    let building = corpus.kb.join("occurrences").join("building");
    assert!(building.exists());
    drop(writer);
    assert!(!building.exists());
    let part = Occurrences::open(&corpus.kb).unwrap().unwrap();
    let end = part.end().unwrap().documents;
    assert!(0 < end && end < 80, "{end}");
    let mut writer = Writer::new(&corpus.kb, corpus.describe(120, 3000)).unwrap();
    assert_eq!(writer.position().documents, end);
    corpus.push(&mut writer, 120);
    writer.finish(position(120)).unwrap();
    let found = ask(&corpus).unwrap().unwrap();
    fs::remove_dir_all(corpus.kb.join("occurrences")).unwrap();
    corpus.write(120, 3000);
    assert_eq!(ask(&corpus).unwrap().unwrap(), found);
}

#[test]
fn what_a_killed_writer_left_goes_with_the_next_one() {
    let corpus = large();
    corpus.write(120, 3000);
    let building = corpus.kb.join("occurrences").join("building");
    fs::create_dir(&building).unwrap();
    fs::write(building.join("sequence"), "half").unwrap();
    let writer = Writer::new(&corpus.kb, corpus.describe(120, 3000)).unwrap();
    assert!(writer.is_complete());
    assert!(!building.exists());
}

#[test]
fn a_writer_that_is_cut_off_while_it_names_an_earlier_corpus_leaves_what_is_right() {
    let corpus = large();
    let mut first = corpus.describe(110, 3000);
    first.source = "the first files".to_owned();
    corpus.write_described(&corpus.kb, 110, first);
    let more = corpus
        .describe(120, 3000)
        .with_earlier(vec!["the first files".to_owned()]);
    let first_unit = fs::read(corpus.units()[0].join("UNIT")).unwrap();
    let second_unit = corpus.units()[1].join("UNIT");
    let of_first_files = fs::read(&second_unit).unwrap();
    let writer = Writer::new(&corpus.kb, more.clone()).unwrap();
    assert!(writer.position().documents > 0);
    drop(writer);
    // Killed when it had named the first unit, and while it wrote the second header.
    assert_ne!(
        fs::read(corpus.units()[0].join("UNIT")).unwrap(),
        first_unit
    );
    assert_ne!(fs::read(&second_unit).unwrap(), of_first_files);
    fs::write(&second_unit, &of_first_files).unwrap();
    fs::write(corpus.units()[1].join("UNIT.new"), &of_first_files[..99]).unwrap();
    let part = Occurrences::open(&corpus.kb).unwrap().unwrap();
    assert_eq!(part.source(), Some("a corpus"));
    assert_eq!(ask(&corpus).unwrap(), None);
    corpus.write_described(&corpus.kb, 120, more);
    let found = ask(&corpus).unwrap().unwrap();
    assert!(!corpus.units()[1].join("UNIT.new").exists());
    fs::remove_dir_all(corpus.kb.join("occurrences")).unwrap();
    corpus.write(120, 3000);
    assert_eq!(ask(&corpus).unwrap().unwrap(), found);
}

#[test]
fn occurrences_of_other_documents_are_written_anew() {
    let corpus = large();
    corpus.write(120, 3000);
    let other = Documents::new("another corpus", 3, 120);
    let writer = Writer::new(&corpus.kb, other).unwrap();
    assert_eq!(writer.position().documents, 0);
}

#[test]
fn what_is_discarded_is_written_anew() {
    let corpus = large();
    corpus.write(100, 3000);
    let mut writer = Writer::new(&corpus.kb, corpus.describe(120, 3000)).unwrap();
    corpus.push(&mut writer, 120);
    assert_eq!(writer.documents(), 120);
    writer.discard().unwrap();
    assert!(Occurrences::open(&corpus.kb).unwrap().is_none());
    let writer = Writer::new(&corpus.kb, corpus.describe(120, 3000)).unwrap();
    assert_eq!((writer.position().documents, writer.documents()), (0, 0));
}
