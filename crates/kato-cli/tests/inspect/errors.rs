//! What goes wrong is told, with an exit code, and leaves everything as it was.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use kato_column_reader::crc32;
use kato_store::EmbeddedStore;

use crate::programs::Workplace;

#[test]
fn what_is_not_there_is_an_error_that_says_what_is() {
    let place = Workplace::trained();
    let check = |arguments: &[&str], expected: &str| {
        let (code, message) = place.inspect_fails(arguments);
        let is_usage = arguments.contains(&"node7");
        let expected = (if is_usage { 2 } else { 1 }, expected);
        assert_eq!((code, message.trim_end()), expected, "{arguments:?}");
    };
    check(
        &["--kb", "nowhere"],
        "error: there is no knowledge base at nowhere: check the directory, or train one into it",
    );
    check(
        &["--kb", "kb", "--node", "node7"],
        "error: there is no node \"node7\" here; the nodes are node0, node1, node2",
    );
    check(
        &[
            "--kb",
            "kb",
            "--pattern",
            "b98534b32c1d7489d4ce1a48724aa65aeecbdba9",
        ],
        "error: no node has a pattern b98534b32c1d7489d4ce1a48724aa65aeecbdba9; the nodes are node0, node1, node2",
    );
    check(
        &["--kb", "kb", "--pattern", "000000000000"],
        "error: no node has a pattern 000000000000; the nodes are node0, node1, node2",
    );
    for typed in ["cafe", "ABCDEF012345", "PTRN|hello world", ""] {
        let (code, message) = place.inspect_fails(&["--kb", "kb", "--pattern", typed]);
        assert_eq!(code, 2);
        assert!(
            message.contains("is no pattern name: give the 40 lower-case hexadecimal digits"),
            "{message}"
        );
    }
    check(
        &["--kb", "kb", "--import", "nothing.jsonl"],
        "error: --import nothing.jsonl cannot be opened: No such file or directory (os error 2)",
    );
}

#[test]
fn a_node_of_a_server_says_what_it_is_and_how_it_is_asked() {
    let place = Workplace::new();
    let configuration = serde_json::json!({"node_id": "words"});
    EmbeddedStore::create(place.path("words_kato"), &["words"], configuration).unwrap();
    let shown = place.inspect(&["--kb", "words_kato"]);
    assert!(
        shown.contains("node words of a server: ask it in a session of `kato serve`"),
        "{shown}"
    );
    for command in ["predict", "next", "generate"] {
        let arguments = ["--kb", "words_kato", "--text", "a"];
        let output = place.command(command, &arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(6), "{told}");
        assert!(
            told.starts_with("error: words_kato is node words of a server"),
            "{told}"
        );
    }
}

#[test]
fn a_setting_that_is_not_there_is_refused_with_those_that_are() {
    let place = Workplace::trained();
    let config = r#"{"recall": 0.5}"#;
    let arguments = ["--kb", "kb", "--text", "a", "--config", config];
    let output = place.command("predict", &arguments).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("no setting \"recall\"") && told.contains("recall_threshold"),
        "{told}"
    );
}

#[test]
fn a_setting_that_no_prediction_depends_on_is_refused() {
    let place = Workplace::trained();
    for (name, value) in [
        ("rank_sort_algo", "\"confidence\""),
        ("sort_symbols", "false"),
        ("max_pattern_length", "7"),
    ] {
        let config = format!("{{\"recall_threshold\": 0.5, \"{name}\": {value}}}");
        let arguments = ["--kb", "kb", "--text", "a", "--config", &config];
        let output = place.command("predict", &arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        let why = format!("no prediction depends on the setting \"{name}\"");
        assert!(told.contains(&why), "{told}");
    }
}

#[test]
fn every_setting_that_predictions_depend_on_is_taken() {
    let place = Workplace::trained();
    for generation in ["3.10", "6.3"] {
        for config in [
            r#"{"affinity_emotive": "joy"}"#,
            r#"{"fuzzy_token_threshold": 0.9}"#,
        ] {
            let text = ["--kb", "kb", "--text", "The cat", "--kato", generation];
            place.succeeds("predict", &[&text[..], &["--config", config]].concat());
        }
    }
    let other = ["--kb", "kb", "--text", "a", "--config", r#"{"no": 1}"#];
    let (_, told) = place.fails("predict", &other);
    assert!(
        told.contains("there are affinity_emotive, ") && told.contains("fuzzy_token_threshold"),
        "{told}"
    );
}

#[test]
fn wrong_usage_is_told_apart_from_failure() {
    let place = Workplace::new();
    for arguments in [
        &["--histogram", "--pattern", "b98534b3"][..],
        &["--export", "-", "--json"],
        &["--export", "a", "--import", "b"],
        &["--limit", "many"],
        &["--nothing"],
        &["--kb", "https://example.com/kb"],
    ] {
        assert_eq!(place.inspect_fails(arguments).0, 2, "{arguments:?}");
    }
}

#[test]
fn an_address_becomes_no_directory() {
    let place = Workplace::trained();
    let address = "https://example.com/kb";
    for arguments in [
        &["train", "corpus.jsonl", "--kb", address][..],
        &["salvage", "kb", "--out", address],
        &["serve", "--data", address],
        &["retire", "--kb", address],
    ] {
        let output = place.command(arguments[0], &arguments[1..]).output();
        assert_eq!(output.unwrap().status.code(), Some(2), "{arguments:?}");
    }
    assert!(!place.path("https:").exists());
}

#[test]
fn something_else_where_a_command_writes_is_a_conflict() {
    let place = Workplace::trained();
    fs::write(place.path("file"), "mine").unwrap();
    fs::create_dir(place.path("taken")).unwrap();
    fs::write(place.path("taken/file"), "mine").unwrap();
    let corpus = fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    let mut lines = vec![
        "train corpus.jsonl --kb file",
        "train corpus.jsonl --kb file/in",
        "train corpus.jsonl --kb other --profile --report file/in.html",
        "train corpus.jsonl --kb taken",
        "serve --data file --addr 127.0.0.1:0",
        "serve --data data --backups file --addr 127.0.0.1:0",
        "salvage kb --out file",
        "serve --data data --backups file/in --addr 127.0.0.1:0",
        "salvage kb --out taken",
        "salvage kb --out file/in",
        "runs export kb file/in",
        "inspect --kb kb --export file/in",
        "corpus --like corpus.jsonl --text-size 1kB --seed 1 --out file/in",
        "corpus --like corpus.jsonl --text-size 1kB --seed 1 --out ./corpus.jsonl",
        "plan corpus.jsonl --out corpus.jsonl",
        "plan . --out corpus.jsonl",
        "plan ./*.jsonl --report corpus.jsonl",
        "plan corpus.jsonl --out new --report ./new",
        "plan corpus.jsonl --out kb/MANIFEST",
        "tune corpus.jsonl --report kb/report.html",
        "analyze --kb kb --snapshot kb/MANIFEST",
        "estimate corpus.jsonl --plot file/in",
        "man --out file/in",
        "runs export kb taken",
        "inspect --kb kb --export taken",
        "corpus --like corpus.jsonl --text-size 1kB --seed 1 --out taken",
        "estimate corpus.jsonl --plot file",
        "man --out file",
    ];
    if cfg!(feature = "history") {
        lines.push("train corpus.jsonl --kb other --history taken");
    }
    if cfg!(feature = "cluster") {
        lines.push("cluster plan corpus.jsonl --tasks 1 --ranges 1 --store file");
    }
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let output = place.command(words[0], &words[1..]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "{line}: {told}");
    }
    for mine in ["file", "taken/file"] {
        assert_eq!(fs::read_to_string(place.path(mine)).unwrap(), "mine");
    }
    assert_eq!(
        fs::read_to_string(place.path("corpus.jsonl")).unwrap(),
        corpus
    );
    assert!(!place.path("other").exists() && !place.path("data").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let place = Workplace::new();
    let mut command = place.command("inspect", &["--help"]);
    let output = command.stdout(full.unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.starts_with("error: write standard output: "), "{told}");
    // What was to be done may be done: nobody is to do it again for this.
    assert!(
        told.ends_with("; send it to where there is room\n"),
        "{told}"
    );
}

#[test]
fn an_import_with_a_bad_line_adds_nothing_and_names_the_line() {
    let place = Workplace::trained();
    let before = place.exported("node0");
    let lines = place.inspect(&["--kb", "kb", "--export", "-"]);
    let good: Vec<&str> = lines.lines().take(3).collect();
    let bad = good[2].replace("\"length\":3", "\"length\":4");
    fs::write(place.path("bad.jsonl"), [good[0], good[1], &bad].join("\n")).unwrap();
    let (code, message) = place.inspect_fails(&["--kb", "kb", "--import", "bad.jsonl"]);
    assert_eq!(code, 1);
    assert!(
        message.starts_with("error: bad.jsonl: line 3 cannot be imported, so nothing was"),
        "{message}"
    );
    assert!(
        message.contains("states length 4 and has 3 symbols"),
        "{message}"
    );
    assert_eq!(place.exported("node0"), before);
}

#[test]
fn a_failed_export_leaves_the_file_that_was_there() {
    let place = Workplace::trained();
    fs::write(place.path("old.jsonl"), "precious").unwrap();
    let segments = fs::read_dir(place.path("kb/segments")).unwrap();
    for segment in segments {
        let path = segment.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        // Somewhere in the blocks of patterns.
        bytes[200..260].fill(0xff);
        fs::write(&path, bytes).unwrap();
    }
    let (code, message) = place.inspect_fails(&["--kb", "kb", "--export", "old.jsonl"]);
    assert_eq!(code, 1);
    assert!(
        message.contains("old.jsonl was not written") && message.contains("damaged"),
        "{message}"
    );
    assert_eq!(
        fs::read_to_string(place.path("old.jsonl")).unwrap(),
        "precious"
    );
    assert_eq!(place.parts(), [] as [String; 0]);
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let place = Workplace::trained();
    for arguments in [
        &["--kb", "kb", "--export", "-"][..],
        &["--kb", "kb", "--limit", "100000"],
        &["--kb", "kb", "--json"],
    ] {
        let mut child = place.command("inspect", arguments);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8(output.stderr).unwrap().as_str()
            ),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
    let mut child = place
        .command("inspect", &["--kb", "kb", "--export", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("{\"name\":"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_knowledge_base_can_be_read_while_it_is_written_but_not_imported_into() {
    let place = Workplace::trained();
    let lines = place.inspect(&["--kb", "kb", "--export", "-"]);
    fs::write(place.path("n.jsonl"), lines).unwrap();
    let writer = EmbeddedStore::open(place.path("kb")).unwrap();
    assert!(
        place
            .inspect(&["--kb", "kb"])
            .contains("most frequent patterns of node2")
    );
    let (code, message) = place.inspect_fails(&["--kb", "kb", "--import", "n.jsonl"]);
    assert_eq!(code, 6);
    assert!(message.contains("is in use by another writer"), "{message}");
    drop(writer);
    place.inspect(&["--kb", "kb", "--import", "n.jsonl"]);
}

#[test]
fn a_knowledge_base_of_a_newer_format_is_refused_by_name() {
    let place = Workplace::trained();
    let manifest = fs::read_to_string(place.path("kb/MANIFEST")).unwrap();
    let (body, _) = manifest.trim_end().rsplit_once('\n').unwrap();
    let body = body.replace("\"format_version\": 1,", "\"format_version\": 99,");
    fs::write(
        place.path("kb/MANIFEST"),
        format!("{body}\ncrc32 {:08x}\n", crc32(body.as_bytes())),
    )
    .unwrap();
    let (code, message) = place.inspect_fails(&["--kb", "kb"]);
    assert_eq!(code, 6);
    assert!(
        message.contains("has format version 99, and this version reads 5"),
        "{message}"
    );
}

#[test]
fn an_export_writes_into_no_knowledge_base() {
    let place = Workplace::trained();
    place.train("corpus.jsonl", "other");
    let content = |kb: &str| {
        let mut files: Vec<_> = walk(&place.path(kb));
        files.sort();
        files
    };
    let before = (content("kb"), content("other"));
    let segment = fs::read_dir(place.path("kb/segments")).unwrap().next();
    let segment = segment.unwrap().unwrap().file_name();
    let segment = format!("kb/segments/{}", segment.to_str().unwrap());
    let mut targets = vec![
        "kb/MANIFEST".to_owned(),
        "kb/new.jsonl".to_owned(),
        "kb/segments/../MANIFEST".to_owned(),
        "other/MANIFEST".to_owned(),
        segment.clone(),
    ];
    #[cfg(unix)]
    {
        let link = |name: &str, to: &str| {
            std::os::unix::fs::symlink(place.path(to), place.path(name)).unwrap();
            name.to_owned()
        };
        targets.push(link("link.jsonl", &segment));
        targets.push(link("directory", "kb") + "/new.jsonl");
    }
    for target in targets {
        let (code, message) = place.inspect_fails(&["--kb", "kb", "--export", &target]);
        assert_eq!(code, 6);
        assert!(
            message.contains("it would lie in the knowledge base"),
            "{message}"
        );
        assert_eq!((content("kb"), content("other")), before, "{target}");
    }
    // A link with a name like that of a part is no way in either.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.path(&segment), place.path("out.jsonl.part")).unwrap();
        place.inspect(&["--kb", "kb", "--export", "out.jsonl"]);
        assert_eq!((content("kb"), content("other")), before);
    }
}

/// All files below a directory with their content.
fn walk(directory: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| match path.is_dir() {
            true => walk(&path),
            false => vec![(path.clone(), fs::read(&path).unwrap())],
        })
        .collect()
}

/// Returns whether a process has a handler for SIGTERM; `None` where the system does not tell.
#[cfg(unix)]
fn catches_sigterm(pid: u32) -> Option<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))?;
    // Signals count from 1, and this one is the fifteenth.
    Some(u64::from_str_radix(mask.trim(), 16).ok()? >> 14 & 1 == 1)
}

#[cfg(unix)]
#[test]
fn an_import_from_a_pipe_that_nobody_writes_into_can_be_interrupted() {
    let place = Workplace::trained();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    let mut command = place.command("inspect", &["--kb", "kb", "--import", "pipe"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // As long as the program has no handler it ends by the signal: then it was too early, and that
    // is an interruption too.
    while catches_sigterm(child.id()) == Some(false) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    assert!(matches!(status.code(), Some(130) | None), "{status}");
}
