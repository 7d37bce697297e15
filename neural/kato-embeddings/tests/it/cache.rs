//! The cache: the same as the text, and refused when anything about it is not right.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use kato_embeddings::options::OnBadLine;
use kato_embeddings::report::{CacheRefusal, Origin};
use kato_embeddings::{Embeddings, EmbeddingsError};

use crate::support::{Folder, glove, rows};

fn open(text: &Path, cache: &Path) -> Embeddings {
    Embeddings::builder(text)
        .with_cache(cache)
        .on_bad_line(OnBadLine::Skip)
        .open()
        .unwrap()
}

fn refusal(embeddings: &Embeddings) -> &CacheRefusal {
    let Origin::TextThenCached { refused } = &embeddings.report().origin else {
        unreachable!("the cache was used");
    };
    refused.as_ref().unwrap()
}

fn assert_same(a: &Embeddings, b: &Embeddings, case: &str) {
    assert!(rows(a) == rows(b), "{case}");
    assert_eq!(a.norms(), b.norms(), "{case}");
    let (mut ours, theirs) = (a.report().clone(), b.report());
    ours.origin = theirs.origin.clone();
    assert_eq!(ours, *theirs, "{case}");
    for (index, (word, _)) in a.iter().enumerate() {
        assert_eq!(b.index_of(word), Some(index), "{case}");
    }
}

#[test]
fn a_cache_holds_what_the_text_does() {
    let folder = Folder::new();
    let cases = [
        ("some", glove(3_000, 7)),
        ("odd sizes", "a 1\nbcd 2\n\u{e4} 3\n".to_owned()),
        ("bad lines", "a 1\nb\nc 2\nd x\n".to_owned()),
        ("none", "0 5\n".to_owned()),
        ("several blocks", glove(20_000, 30)),
    ];
    for (name, text) in cases {
        let path = folder.write(name, text);
        let cache = folder.path("cache");
        let parsed = open(&path, &cache);
        assert!(
            matches!(parsed.report().origin, Origin::TextThenCached { .. }),
            "{name}"
        );
        for workers in [1, 3] {
            let cached = Embeddings::builder(&path)
                .with_cache(&cache)
                .on_bad_line(OnBadLine::Skip)
                .with_workers(workers)
                .open()
                .unwrap();
            assert_eq!(cached.report().origin, Origin::Cache, "{name}");
            assert_same(&parsed, &cached, name);
        }
        let target = vec![0.5; parsed.dims()];
        assert_eq!(
            parsed.nearest(&target, 5),
            open(&path, &cache).nearest(&target, 5),
            "{name}"
        );
    }
    assert!(
        folder.names().iter().all(|name| !name.starts_with('.')),
        "nothing is left behind"
    );
}

#[test]
fn doubles_are_cached_apart() {
    let folder = Folder::new();
    let text = folder.write("text", "a 0.1 0.2 0.3\nb 1 2 3\nc 4 5 6\n");
    let cache = folder.path("cache");
    let doubles = || {
        Embeddings::builder(&text)
            .with_doubles()
            .with_cache(&cache)
            .open()
            .unwrap()
    };
    doubles();
    let cached = doubles();
    assert_eq!(cached.report().origin, Origin::Cache);
    assert_eq!(cached.get("a"), Some(&[0.1, 0.2, 0.3][..]));
    assert_eq!(*refusal(&open(&text, &cache)), CacheRefusal::OtherOptions);
}

#[test]
fn another_text_or_other_options_make_it_anew() {
    let folder = Folder::new();
    let text = folder.write("text", "a 1 2\nb 3 4\n");
    let cache = folder.path("cache");
    open(&text, &cache);
    let written = fs::metadata(&text).unwrap().modified().unwrap();

    fs::write(&text, "a 1 2\nb 3 5\n").unwrap();
    fs::File::options()
        .append(true)
        .open(&text)
        .unwrap()
        .set_modified(written)
        .unwrap();
    let changed = open(&text, &cache);
    assert_eq!(
        *refusal(&changed),
        CacheRefusal::OtherSource,
        "same size, same time"
    );
    assert_eq!(changed.get("b"), Some(&[3.0, 5.0][..]));

    let later = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
    fs::File::options()
        .append(true)
        .open(&text)
        .unwrap()
        .set_modified(later)
        .unwrap();
    assert_eq!(
        *refusal(&open(&text, &cache)),
        CacheRefusal::OtherSource,
        "another time"
    );
    assert_eq!(open(&text, &cache).report().origin, Origin::Cache);

    let with = |words: &[&str], max_words: usize| {
        let builder = Embeddings::builder(&text)
            .with_cache(&cache)
            .with_vocabulary(words);
        builder.with_max_words(max_words).open().unwrap()
    };
    assert_eq!(*refusal(&with(&["a", "b"], 5)), CacheRefusal::OtherOptions);
    assert_eq!(
        with(&["b", "a"], 5).report().origin,
        Origin::Cache,
        "a set has no order"
    );
    assert_eq!(*refusal(&with(&["ab"], 5)), CacheRefusal::OtherOptions);
    assert_eq!(*refusal(&with(&["ab"], 6)), CacheRefusal::OtherOptions);
    assert_eq!(*refusal(&with(&[], 6)), CacheRefusal::OtherOptions);
    assert_eq!(*refusal(&open(&text, &cache)), CacheRefusal::OtherOptions);
}

#[test]
fn a_cache_with_any_byte_changed_is_refused() {
    let folder = Folder::new();
    let text = folder.write("text", "a 1 2 3\nb 3 4 5\nbad\n");
    let cache = folder.path("cache");
    let parsed = open(&text, &cache);
    let whole = fs::read(&cache).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&cache, &damaged).unwrap();
        let again = open(&text, &cache);
        let refused = refusal(&again);
        match at {
            0..16 => assert_eq!(*refused, CacheRefusal::OtherFormat, "byte {at}"),
            _ => assert!(
                matches!(refused, CacheRefusal::Damaged { .. }),
                "byte {at}: {refused}"
            ),
        }
        assert_same(&parsed, &again, "made anew");
        assert_eq!(
            fs::read(&cache).unwrap(),
            whole,
            "byte {at}: the same cache again"
        );
    }
}

#[test]
fn a_cache_that_is_cut_off_or_too_long_is_refused() {
    let folder = Folder::new();
    let text = folder.write("text", "a 1 2 3\nb 3 4 5\n");
    let cache = folder.path("cache");
    open(&text, &cache);
    let whole = fs::read(&cache).unwrap();
    let long = [whole.clone(), b"x".to_vec()].concat();
    let lengths = (0..whole.len())
        .map(|length| &whole[..length])
        .chain([long.as_slice()]);
    for damaged in lengths {
        fs::write(&cache, damaged).unwrap();
        let again = open(&text, &cache);
        assert!(
            matches!(refusal(&again), CacheRefusal::Damaged { .. }),
            "{} bytes",
            damaged.len()
        );
    }
}

#[test]
fn damage_is_found_in_every_block_by_any_number_of_workers() {
    let folder = Folder::new();
    let text = folder.write("text", glove(20_000, 40));
    let cache = folder.path("cache");
    let parsed = open(&text, &cache);
    let whole = fs::read(&cache).unwrap();
    assert!(whole.len() > 3 << 20);
    let places = (0..whole.len())
        .step_by(whole.len() / 9)
        .chain([whole.len() - 1]);
    for (workers, at) in (1..=3).cycle().zip(places) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&cache, &damaged).unwrap();
        let again = Embeddings::builder(&text)
            .with_cache(&cache)
            .on_bad_line(OnBadLine::Skip)
            .with_workers(workers)
            .open()
            .unwrap();
        refusal(&again);
        assert_same(&parsed, &again, "made anew");
    }
}

#[test]
fn embeddings_stay_as_they_are_when_their_cache_is_replaced() {
    let folder = Folder::new();
    let text = folder.write("text", "a 1 2\n");
    let cache = folder.path("cache");
    open(&text, &cache);
    let before = open(&text, &cache);
    assert_eq!(before.report().origin, Origin::Cache);
    fs::write(&text, "b 3 4\n").unwrap();
    assert_eq!(*refusal(&open(&text, &cache)), CacheRefusal::OtherSource);
    assert_eq!(before.get("a"), Some(&[1.0, 2.0][..]));
}

#[test]
fn a_cache_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let text = folder.write("text", "a 1 2\n");
    let open = |cache: &Path| Embeddings::builder(&text).with_cache(cache).open();
    let nowhere = open(&folder.path("none").join("cache"));
    assert!(matches!(nowhere, Err(EmbeddingsError::Cache { .. })));
    fs::create_dir(folder.path("folder")).unwrap();
    assert!(matches!(
        open(&folder.path("folder")),
        Err(EmbeddingsError::Cache { .. })
    ));
    assert_eq!(folder.names(), ["folder", "text"], "nothing is left behind");
}

#[test]
fn a_text_with_bad_lines_leaves_no_cache_when_they_are_refused() {
    let folder = Folder::new();
    let text = folder.write("text", "a 1 2\nb\n");
    let cache = folder.path("cache");
    open(&text, &cache);
    let strict = Embeddings::builder(&text).with_cache(&cache).open();
    assert!(matches!(strict, Err(EmbeddingsError::BadLine { .. })));
    assert_eq!(
        open(&text, &cache).report().origin,
        Origin::Cache,
        "what was there stays"
    );
}

#[test]
fn what_a_killed_process_has_left_beside_a_cache_is_removed_by_the_next() {
    let folder = Folder::new();
    let path = folder.write("vectors.txt", "a 1 2\nb 3 4\n");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    let left = |name: &str, age: bool| {
        let path = folder.write(name, "half of a cache");
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        if age {
            file.set_modified(old).unwrap();
        }
        (path, file)
    };
    let (gone, lock) = left(".kato-embeddings-gone", true);
    drop(lock);
    let (new, _) = left(".kato-embeddings-new", false);
    let (in_use, held) = left(".kato-embeddings-in-use", true);
    held.try_lock().unwrap();
    let (other, _) = left(".other", true);
    let cache = path.with_extension("cache");
    Embeddings::builder(&path)
        .with_cache(&cache)
        .open()
        .unwrap();
    assert!(cache.exists() && !gone.exists());
    assert!(new.exists() && in_use.exists() && other.exists());
}
