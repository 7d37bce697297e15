//! Whatever happens to a file of counts, an answer is the right one or none.

use std::fs;
use std::path::{Path, PathBuf};

use kato_columns::files::{read_sealed, write_sealed};
use kato_head::disk::{self, CountsOptions};
use kato_head::{Head, HeadOptions};

use super::adding::in_units;
use super::{Kb, check_equal, said};
use crate::support::WORDS;

const WORDS_ASKED: [&str; 9] = ["a", "b", "c", "a", "d", "b", "nothing", "c", "a"];

/// A knowledge base whose counts fill several blocks.
fn large() -> Kb {
    let word = |n: usize| WORDS[(n * n / 7 + n / 3) % 4];
    let document = |n: usize| (0..60).map(|at| word(61 * n + at)).collect::<Vec<_>>();
    let documents: Vec<String> = (0..80).map(|n| document(n).join(" ")).collect();
    Kb::of(&documents)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn counts_of(kb: &Kb) -> PathBuf {
    kb.dir
        .join("head")
        .join(kb.store.content_digest().to_string())
}

/// Asks counts that may be damaged; an answer has to be the expected one. Returns whether there was one.
fn ask(kb: &Kb, expected: &Head) -> bool {
    let Ok(Some(head)) = disk::open(&kb.store, None, HeadOptions::default()) else {
        return false;
    };
    let Some(found) = head.read_checked(|head| said(head, &WORDS_ASKED)) else {
        assert!(head.damage().is_some());
        return false;
    };
    assert_eq!(found, said(expected, &WORDS_ASKED));
    true
}

#[test]
fn flips_and_truncations_are_noticed_or_harmless() {
    let kb = large();
    kb.build(0);
    check_damage(&kb, &files(&counts_of(&kb)));
}

#[test]
fn so_they_are_in_counts_that_add_to_others() {
    let kb = in_units();
    let units = files(&kb.dir.join("head"))
        .into_iter()
        .filter(|path| path.is_dir());
    let all: Vec<PathBuf> = units.flat_map(|unit| files(&unit)).collect();
    check_damage(&kb, &all);
}

/// Damages files of counts, one after the other.
fn check_damage(kb: &Kb, files: &[PathBuf]) {
    let expected = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    assert!(ask(kb, &expected));
    let mut n_noticed = 0;
    let mut state = 7u64;
    let mut draw = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n.max(1)
    };
    for round in 0..300 {
        let path = &files[draw(files.len())];
        let whole = fs::read(path).unwrap();
        let mut damaged = whole.clone();
        match round % 3 {
            _ if whole.is_empty() => damaged.push(1),
            0 => damaged.truncate(draw(whole.len())),
            _ => {
                let at = draw(whole.len());
                damaged[at] ^= 1 << draw(8);
            }
        }
        fs::write(path, &damaged).unwrap();
        let answered = ask(kb, &expected);
        n_noticed += usize::from(!answered);
        fs::write(path, &whole).unwrap();
    }
    assert!(n_noticed > 150, "{n_noticed}");
    assert!(ask(kb, &expected));
}

#[test]
fn what_is_damaged_is_written_again() {
    let kb = large();
    kb.build(0);
    let expected = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    let path = counts_of(&kb).join("2.symbols");
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let head = kb.open(&HeadOptions::default()).unwrap();
    assert!(head.check().is_err());
    let built = disk::build(&kb.store, &CountsOptions::default()).unwrap();
    assert!(!built.was_there);
    let head = kb.open(&HeadOptions::default()).unwrap();
    head.check().unwrap();
    check_equal(&head, &expected, &WORDS_ASKED).unwrap();
}

#[test]
fn what_an_older_version_wrote_is_written_again() {
    let kb = large();
    kb.build(0);
    let path = counts_of(&kb).join("HEAD");
    let body = read_sealed(&path).unwrap().unwrap();
    let older = body.replace("\"format_version\": 5", "\"format_version\": 4");
    assert_ne!(older, body);
    fs::remove_file(&path).unwrap();
    write_sealed(&path, &older).unwrap();
    assert!(kb.open(&HeadOptions::default()).is_none());
    assert!(disk::is_due(&kb.store), "somebody has asked for them");
    assert!(!kb.build(0).was_there);
    assert!(!disk::is_due(&kb.store));
    kb.open(&HeadOptions::default()).unwrap().check().unwrap();
}

#[test]
fn a_write_to_open_counts_is_noticed() {
    let kb = large();
    kb.build(0);
    let expected = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    let head = kb.open(&HeadOptions::default()).unwrap();
    let found = head.read_checked(|head| said(head, &WORDS_ASKED));
    assert_eq!(found, Some(said(&expected, &WORDS_ASKED)));
    let path = counts_of(&kb).join("2.symbols");
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 3;
    // In place: the map sees it.
    let file = fs::File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, &bytes, 0).unwrap();
    assert_eq!(head.read_checked(|head| said(head, &WORDS_ASKED)), None);
    assert!(head.damage().unwrap().contains("2.symbols"));
}
