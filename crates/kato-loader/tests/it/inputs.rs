//! From inputs to files, in an order that every machine agrees on.

use kato_loader::ignored::IgnoredReason;
use kato_loader::{
    CorpusIdentity, Format, LoadError, OnBadRecord, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder, TextUnit,
};
#[cfg(unix)]
use kato_test_needs::{in_path, needed};

use crate::support::{Folder, builder, documents, texts};

fn names(folder: &Folder, builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
    let prefix = format!("{}/", folder.path().display());
    let identity = builder.build().unwrap().identity();
    identity
        .files()
        .iter()
        .map(|file| file.name.replace(&prefix, ""))
        .collect()
}

fn tree() -> Folder {
    let folder = Folder::new();
    for name in [
        "b.txt",
        "a/z.md",
        "a/b/c.jsonl",
        "a-b/x.csv",
        "a/y.txt.gz",
        "B.txt",
        "a/skip.png",
        "Makefile",
        ".git/x.txt",
        "a/.hidden.txt",
    ] {
        folder.write(name, "x");
    }
    folder
}

#[test]
fn directories_are_read_sorted() {
    let folder = tree();
    let expected = [
        "B.txt",
        "a/b/c.jsonl",
        "a/y.txt.gz",
        "a/z.md",
        "a-b/x.csv",
        "b.txt",
    ];
    assert_eq!(
        names(&folder, builder().with_input(folder.path())),
        expected
    );
    let loader = builder().with_input(folder.path()).build().unwrap();
    let ignored = loader.ignored_files();
    let ignored: Vec<_> = ignored
        .iter()
        .map(|file| (file.path.file_name().unwrap(), file.reason))
        .collect();
    let (unknown, hidden) = (IgnoredReason::UnknownExtension, IgnoredReason::Hidden);
    assert_eq!(
        ignored,
        [
            (".git".as_ref(), hidden),
            ("Makefile".as_ref(), unknown),
            (".hidden.txt".as_ref(), hidden),
            ("skip.png".as_ref(), unknown)
        ]
    );
}

#[test]
fn a_pattern_takes_what_is_hidden_where_it_names_the_dot() {
    let folder = Folder::new();
    for name in ["a.txt", ".b.txt", "c/.d.txt", ".e/f.txt", ".e/.g.txt"] {
        folder.write(name, "x");
    }
    for (pattern, expected) in [
        (".*", &[".b.txt"][..]),
        ("*.txt", &["a.txt"]),
        ("*/*", &[]),
        (".*/*", &[".e/f.txt"]),
        (".*/.*", &[".e/.g.txt"]),
        (".e/*", &[".e/f.txt"]),
        (".e/.*", &[".e/.g.txt"]),
        ("*/.*", &["c/.d.txt"]),
        ("**/*.txt", &["a.txt"]),
        ("**/.*.txt", &[".b.txt", "c/.d.txt"]),
        ("{.b,a}.txt", &[".b.txt", "a.txt"]),
    ] {
        let loader = builder().with_input(folder.at(pattern));
        if expected.is_empty() {
            let refused = loader.build();
            assert!(
                matches!(refused, Err(LoadError::EmptyGlob { .. })),
                "{pattern}"
            );
        } else {
            assert_eq!(names(&folder, loader), expected, "{pattern}");
        }
    }
}

#[test]
fn an_explicit_format_takes_all_files() {
    let folder = tree();
    let all = builder()
        .with_input(folder.path())
        .with_format(Format::Text);
    assert_eq!(names(&folder, all).len(), 8);
}

#[test]
fn globs_are_expanded_sorted() {
    let folder = tree();
    let check = |pattern: &str, expected: &[&str]| {
        assert_eq!(
            names(&folder, builder().with_input(folder.at(pattern))),
            expected,
            "{pattern}"
        );
    };
    check("*.txt", &["B.txt", "b.txt"]);
    check("a/*", &["a/skip.png", "a/y.txt.gz", "a/z.md"]);
    check("**/*.{md,csv}", &["a/z.md", "a-b/x.csv"]);
    check("a*/[x-z].*", &["a/y.txt.gz", "a/z.md", "a-b/x.csv"]);
    check("?.txt", &["B.txt", "b.txt"]);
}

#[test]
fn a_file_named_like_a_glob_is_a_file() {
    let folder = Folder::new();
    let path = folder.write("[odd].txt", "x");
    assert_eq!(texts(builder().with_input(path)), ["x"]);
}

#[test]
fn inputs_keep_their_order() {
    let folder = tree();
    let inputs =
        builder().with_inputs([folder.at("b.txt"), folder.at("a/z.md"), folder.at("B.txt")]);
    assert_eq!(names(&folder, inputs), ["b.txt", "a/z.md", "B.txt"]);
}

#[test]
#[cfg(feature = "parquet")]
fn what_cannot_be_read_is_refused_at_build() {
    let folder = tree();
    let other = Folder::new();
    let parquet = other.write("p.parquet.gz", "");
    folder.write("pictures/a.png", "x");
    let check = |builder: StreamingDatasetLoaderBuilder, expected: &str| {
        let message = builder.build().unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    check(builder(), "no input was given");
    check(
        builder().with_input(folder.at("none.txt")),
        "cannot be opened",
    );
    check(builder().with_input(folder.at("*.none")), "matches no file");
    check(
        builder().with_input(folder.at("none/*.txt")),
        "matches no file",
    );
    check(builder().with_input(folder.at("[.none")), "not well formed");
    check(
        builder().with_input(folder.at("pictures")),
        "no file with a known extension",
    );
    check(
        builder()
            .with_input(folder.at("b.txt"))
            .with_input(folder.path()),
        "more than one input",
    );
    check(
        builder().with_input(parquet),
        "must not be compressed again",
    );
    check(
        builder().with_reader("p.parquet", std::io::empty()),
        "cannot be read from a stream",
    );
    check(
        builder().with_input("-").with_format(Format::Parquet),
        "cannot be read from a stream",
    );
    check(
        builder().with_input("-").with_input("-"),
        "more than one input",
    );
    check(
        builder().with_input(folder.path()).with_max_record_bytes(0),
        "with_max_record_bytes",
    );
    check(
        builder().with_input(folder.path()).with_text_field(""),
        "with_text_field",
    );
    let missing = builder().with_input(folder.at("none.txt")).build();
    assert!(matches!(missing, Err(LoadError::Input { .. })));
}

#[test]
fn standard_input_is_plain_text_by_default() {
    let loader = builder().with_input("-").build().unwrap();
    assert_eq!(loader.identity().files()[0].name, "-");
    assert_eq!(loader.total_bytes(), None);
}

#[test]
fn names_have_no_leading_dots() {
    let found = documents(
        builder()
            .with_input("./tests/../tests/it/main.rs")
            .with_text_unit(TextUnit::Line),
    );
    assert_eq!(found[0].id.to_string(), "tests/../tests/it/main.rs#1");
}

#[cfg(unix)]
#[test]
fn links_are_followed_but_not_in_circles() {
    let folder = Folder::new();
    folder.write("data/a.txt", "x");
    std::os::unix::fs::symlink(folder.path(), folder.at("data/loop")).unwrap();
    std::os::unix::fs::symlink(folder.at("data/a.txt"), folder.at("data/b.txt")).unwrap();
    let found = names(&folder, builder().with_input(folder.at("data")));
    assert_eq!(found, ["data/a.txt", "data/b.txt"]);
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_passed_over_and_listed() {
    let folder = Folder::new();
    folder.write("data/a.txt", "x");
    folder.write("data/deep/b.txt", "y");
    let dangling = |name: &str| {
        std::os::unix::fs::symlink(folder.at("gone"), folder.at(name)).unwrap();
    };
    dangling("data/c.log");
    dangling("data/directory");
    dangling("data/deep/d.log");
    let found = names(&folder, builder().with_input(folder.at("data/*.txt")));
    assert_eq!(found, ["data/a.txt"]);
    let found = names(&folder, builder().with_input(folder.at("data/**/*.txt")));
    assert_eq!(found, ["data/a.txt", "data/deep/b.txt"]);
    assert_eq!(
        ignored(&folder, builder().with_input(folder.at("data"))),
        [
            "data/c.log: a link that leads nowhere",
            "data/deep/d.log: a link that leads nowhere",
            "data/directory: a link that leads nowhere",
        ]
    );
    // Where nothing else is asked for, there is nothing to read.
    let refused = builder().with_input(folder.at("data/*.log")).build();
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("1 (a link that leads nowhere)"),
        "{refused}"
    );
    let named = builder().with_input(folder.at("data/c.log")).build();
    assert!(matches!(named, Err(LoadError::Input { .. })));
}

/// What a listing passes over, in words.
#[cfg(unix)]
fn ignored(folder: &Folder, builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
    let prefix = format!("{}/", folder.path().display());
    let loader = builder.build().unwrap();
    let files = loader.ignored_files().into_iter();
    files
        .map(|file| format!("{}: {}", file.path.display(), file.reason).replace(&prefix, ""))
        .collect()
}

#[cfg(unix)]
#[test]
fn odd_neighbours_are_passed_over_and_listed() {
    let folder = Folder::new();
    folder.write("a.txt", "x");
    folder.write("empty.txt", "");
    folder.write("empty.parquet", "");
    let _socket = std::os::unix::net::UnixListener::bind(folder.at("s.txt")).unwrap();
    std::os::unix::fs::symlink(folder.at("self.txt"), folder.at("self.txt")).unwrap();
    assert_eq!(
        ignored(&folder, builder().with_input(folder.path())),
        [
            "empty.parquet: empty",
            "empty.txt: empty",
            "s.txt: a pipe, a socket or a device",
            "self.txt: a link that leads nowhere",
        ]
    );
    let globbed = ignored(&folder, builder().with_input(folder.at("*.txt")));
    assert_eq!(globbed.len(), 3);
    assert_eq!(texts(builder().with_input(folder.path())), ["x"]);
}

#[cfg(unix)]
#[test]
fn directories_without_permission_are_passed_over_and_listed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("a.txt", "x");
    folder.write("closed/b.txt", "y");
    folder.write("listed/c.txt", "z");
    let close = |name: &str, mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.at(name), permissions).unwrap();
    };
    close("closed", 0o000);
    close("listed", 0o444);
    let may_all = std::fs::read_dir(folder.at("closed")).is_ok();
    let found = ignored(&folder, builder().with_input(folder.path()));
    close("closed", 0o755);
    close("listed", 0o755);
    // For root nothing is closed.
    let expected: &[&str] = match may_all {
        true => &[],
        false => &["closed: no permission", "listed/c.txt: no permission"],
    };
    assert_eq!(found, expected);
}

/// Names that are not UTF-8 are files like others, and two that look alike are two.
#[cfg(target_os = "linux")]
#[test]
fn names_of_any_bytes_are_read_and_opened_again() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    for (name, text) in [
        (&b"caf\xe9.txt"[..], "one"),
        (b"caf\xe8.txt", "two"),
        (b"caf%E9.txt", "three"),
        ("caf\u{fffd}.txt".as_bytes(), "four"),
    ] {
        std::fs::write(folder.path().join(OsStr::from_bytes(name)), text).unwrap();
    }
    let all = documents(builder().with_input(folder.path()));
    let texts: Vec<_> = all.iter().map(|document| &*document.text).collect();
    assert_eq!(texts, ["three", "two", "one", "four"]);
    let mut ids: Vec<_> = all.iter().map(|document| document.id.to_string()).collect();
    let prefix = folder.path().display();
    assert_eq!(ids[2], format!("bytes:{prefix}/caf%E9.txt#1"));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);

    // A run goes on from what it has stored, without being told its inputs again.
    let mut first = builder().with_input(folder.path()).build().unwrap();
    assert_eq!(first.by_ref().take(2).count(), 2);
    let stored = serde_json::to_string(&first.identity()).unwrap();
    let identity: CorpusIdentity = serde_json::from_str(&stored).unwrap();
    let rest: Vec<_> = StreamingDatasetLoader::builder_of(&identity)
        .with_cursor(first.cursor())
        .build()
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(rest, all[2..]);
}

/// A named pipe, where they can be made.
#[cfg(unix)]
fn pipe(folder: &Folder) -> Option<std::path::PathBuf> {
    let mkfifo = needed(in_path(&["mkfifo"]), "no mkfifo: install `coreutils`")?;
    let path = folder.at("pipe.txt");
    let made = std::process::Command::new(mkfifo).arg(&path).status();
    assert!(made.unwrap().success());
    Some(path)
}

#[cfg(unix)]
#[test]
fn waiting_for_somebody_to_write_into_a_pipe_can_be_interrupted() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let folder = Folder::new();
    let Some(path) = pipe(&folder) else { return };
    for workers in [0, 2] {
        for policy in [OnBadRecord::Fail, OnBadRecord::Skip] {
            // It asks again and again while it waits.
            let n_asked = AtomicUsize::new(0);
            let mut loader = builder()
                .with_input(&path)
                .with_workers(workers)
                .on_bad_record(policy)
                .with_interrupt(move || n_asked.fetch_add(1, Ordering::Relaxed) > 3)
                .build()
                .unwrap();
            assert!(matches!(loader.next(), Some(Err(LoadError::Interrupted))));
            assert!(loader.next().is_none());
            assert_eq!(
                (loader.is_exhausted(), loader.cursor().documents()),
                (false, 0)
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn pipes_are_streams() {
    let folder = Folder::new();
    let Some(path) = pipe(&folder) else { return };
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, "through a pipe").unwrap()
    });
    let loader = builder().with_input(path).build().unwrap();
    assert_eq!(loader.total_bytes(), None);
    let found: Vec<_> = loader.map(|document| document.unwrap().text).collect();
    assert_eq!(found, ["through a pipe"]);
    writer.join().unwrap();
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_by_name_and_by_content_where_it_is_not_built_in() {
    let folder = Folder::new();
    // As every such file begins and ends: text may begin with the same four letters.
    let rows = b"PAR1\x15\x04 and so on PAR1";
    let open = |path: &std::path::Path| builder().with_input(path);
    let refused = [
        open(&folder.write("a.parquet", rows)),
        open(&folder.write("folder/b.parquet", rows)),
        open(&folder.at("folder")),
        open(&folder.write("rows", rows)),
        open(&folder.write("c.txt", "text")).with_format(Format::Parquet),
        builder().with_reader("d.parquet", std::io::empty()),
    ];
    for builder in refused {
        let message = builder.build().unwrap_err().to_string();
        assert!(
            message.ends_with("does not read Parquet; enable the feature `parquet`"),
            "{message}"
        );
    }
    // Whoever names a format knows better.
    assert!(
        open(&folder.at("rows"))
            .with_format(Format::Text)
            .build()
            .is_ok()
    );
    assert_eq!(texts(open(&folder.write("e", "PAR"))), ["PAR"]);
}

#[test]
fn records_are_counted_by_the_ends_of_lines_and_files_as_far_as_may_be_read() {
    let folder = Folder::new();
    let line = "{\"text\": \"one line\"}\n";
    folder.write("a.jsonl", line.repeat(3));
    // The last line has no end.
    folder.write("b.jsonl", (line.repeat(2) + line.trim_end()).as_str());
    folder.write("c.txt", "a text of\ntwo lines\n");
    let count = |unit, most_bytes| {
        let loader = builder().with_input(folder.path()).with_text_unit(unit);
        loader.build().unwrap().count_records(most_bytes).unwrap()
    };
    assert_eq!(count(TextUnit::File, 1_000), Some(7));
    assert_eq!(count(TextUnit::Line, 1_000), Some(8));
    // Where records end, only decoding tells; and more than may be read is not.
    assert_eq!(count(TextUnit::Paragraphs, 1_000), None);
    assert_eq!(count(TextUnit::File, 100), None);
}
