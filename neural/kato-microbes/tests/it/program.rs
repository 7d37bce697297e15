//! The program `kato-microbes`, as a user runs it.

use std::error::Error;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use kato_random::SplitMix64;
use kato_test_needs::ends_within;
use serde_json::Value;

type Done = Result<(), Box<dyn Error>>;

pub(crate) fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kato-microbes"));
    // The user's own cache is none of a test's.
    command
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"));
    command.args(arguments);
    command
}

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Result<Output, Box<dyn Error>> {
    Ok(program(folder, arguments).output()?)
}

pub(crate) fn json(output: &Output) -> Result<Value, Box<dyn Error>> {
    assert!(output.status.success(), "{}", stderr(output));
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes a small community in the folder `c`.
pub(crate) fn made() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let arguments = [
        "synth",
        "--out",
        "c",
        "--samples",
        "24",
        "--sequences",
        "20",
        "--length",
        "40",
        "--depth",
        "200",
        "--json",
    ];
    let found = json(&run(folder.path(), &arguments)?)?;
    assert_eq!(found["samples"], 24);
    Ok(folder)
}

#[test]
fn a_community_is_made_checked_compared_and_predicted() -> Done {
    let folder = made()?;
    let at = folder.path();
    let check = [
        "check",
        "c/table.biom",
        "--tree",
        "c/tree.nwk",
        "--metadata",
        "c/metadata.tsv",
        "--depth",
        "200",
        "--json",
    ];
    let found = json(&run(at, &check)?)?;
    assert_eq!(
        (&found["fits"], &found["community"]["n_samples"]),
        (&true.into(), &24.into())
    );
    assert_eq!(found["columns"][1]["kind"], "categorical");
    let deepest = found["counts_a_sample"][2].clone();
    assert!(deepest.as_f64() >= Some(200.0), "{found}");
    // Deeper than any sample: what they hold is told with the rest.
    let check = run(
        at,
        &["check", "c/table.biom", "--metadata", "c/metadata.tsv"],
    )?;
    let said = String::from_utf8_lossy(&check.stdout);
    assert_eq!(check.status.code(), Some(1));
    assert!(
        said.contains("5000 counts") && said.contains(": lower `--depth`"),
        "{said}"
    );
    assert!(said.contains("column `deep`"), "{said}");

    let unifrac = |out: &str| {
        run(
            at,
            &[
                "unifrac",
                "c/table.biom",
                "c/tree.nwk",
                "--metric",
                "weighted",
                "--out",
                out,
                "--json",
            ],
        )
    };
    let first = unifrac("d.tsv")?;
    assert_eq!(json(&first)?["samples"], 24);
    assert!(stderr(&first).contains("computed in"), "{}", stderr(&first));
    let second = unifrac("e.tsv")?;
    assert!(stderr(&second).contains("read in"), "{}", stderr(&second));
    assert_eq!(
        std::fs::read(at.join("d.tsv"))?,
        std::fs::read(at.join("e.tsv"))?
    );
    // A depth of 0 takes all counts, and draws none.
    let all = [
        "unifrac",
        "c/table.biom",
        "c/tree.nwk",
        "--metric",
        "weighted",
        "--depth",
        "0",
        "--no-cache",
        "--out",
        "f.tsv",
        "--json",
    ];
    assert_eq!(json(&run(at, &all)?)?["samples"], 24);
    assert_eq!(
        std::fs::read(at.join("d.tsv"))?,
        std::fs::read(at.join("f.tsv"))?
    );

    let baseline = [
        "baseline",
        "c/table.biom",
        "--metadata",
        "c/metadata.tsv",
        "--column",
        "single",
        "--depth",
        "200",
        "--trees",
        "10",
        "--folds",
        "3",
        "--out",
        "p.tsv",
        "--json",
    ];
    let found = json(&run(at, &baseline)?)?;
    assert_eq!(found["scores"][0]["name"], "r2");
    assert_eq!(
        std::fs::read_to_string(at.join("p.tsv"))?.lines().count(),
        25
    );
    Ok(())
}

#[test]
fn faith_s_pd_is_written_as_text() -> Done {
    let folder = made()?;
    let faith = [
        "unifrac",
        "c/table.biom",
        "c/tree.nwk",
        "--metric",
        "faith-pd",
        "--out",
        "f.tsv",
    ];
    assert!(run(folder.path(), &faith)?.status.success());
    let text = std::fs::read_to_string(folder.path().join("f.tsv"))?;
    assert!(
        text.starts_with("sample_id\tfaith_pd\nsample_0000\t"),
        "{text}"
    );
    Ok(())
}

#[test]
fn what_does_not_fit_is_told_with_flags_and_an_exit_code() -> Done {
    let folder = made()?;
    let at = folder.path();
    std::fs::write(
        at.join("t.tsv"),
        "#OTU ID\ts1\ts2\nOTU_1\t3\t0\nOTU_2\t9\t1\n",
    )?;
    std::fs::write(at.join("t.nwk"), "(OTU_1:1,b:1);")?;
    std::fs::write(at.join("long"), "(".repeat(100_000))?;
    std::fs::create_dir(at.join("mine"))?;
    std::fs::write(at.join("mine/metadata.tsv"), "mine")?;
    let check = run(at, &["check", "t.tsv", "--tree", "t.nwk", "--depth", "2"])?;
    assert_eq!(check.status.code(), Some(1));
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(
        said.contains("--prune") && said.contains("--fasta") && said.contains("`s2`"),
        "{said}"
    );
    let pruned = [
        "check",
        "t.tsv",
        "--tree",
        "t.nwk",
        "--depth",
        "2",
        "--prune",
        "--without-empty",
    ];
    assert!(run(at, &pruned)?.status.success());

    for (arguments, code, wanted) in [
        (
            &["unifrac", "t.tsv", "t.nwk", "--out", "d.txt"][..],
            2,
            ".npy",
        ),
        (
            &[
                "unifrac", "t.tsv", "t.nwk", "--out", "d.tsv", "--alpha", "0.5",
            ],
            2,
            "--metric generalized",
        ),
        (
            &["unifrac", "t.tsv", "t.nwk", "--out", "./t.tsv"],
            6,
            "`./t.tsv` would be written over, and is read; name another file",
        ),
        (
            &["unifrac", "t.tsv", "t.nwk", "--out", "d.tsv", "--seed", "7"],
            2,
            "--depth",
        ),
        (&["check", "t.tsv", "--prune"], 2, "--tree"),
        (
            &[
                "pretrain",
                "t.tsv",
                "--tree",
                "t.nwk",
                "--out",
                "p",
                "--memory-mib",
                "5",
            ],
            2,
            "--find-batch",
        ),
        (&["synth", "--out", "s", "--offset", "3"], 2, "--fasta"),
        (
            &["check", "t.tsv", "--metadata", "long"],
            1,
            "the first column is `((((((((((",
        ),
        (
            &["synth", "--out", "mine"],
            6,
            "was not made by `synth`; name another folder",
        ),
        (
            &["unifrac", "none.tsv", "t.nwk", "--out", "d.tsv"],
            1,
            "none.tsv",
        ),
        (
            &["unifrac", "t.tsv", "t.nwk", "--out", "d.tsv"],
            1,
            "leave them out with --prune",
        ),
        (
            &[
                "unifrac",
                "c/table.biom",
                "c/tree.nwk",
                "--out",
                "d.tsv",
                "--memory",
                "0",
                "--no-cache",
            ],
            5,
            "raise --memory of `kato-microbes unifrac` (`pretrain` takes its file with --distances), or ask for the distances of a few samples with a table of those alone",
        ),
        (
            &[
                "baseline",
                "t.tsv",
                "--metadata",
                "c/metadata.tsv",
                "--column",
                "x",
                "--depth",
                "2",
            ],
            2,
            "`deep`",
        ),
    ] {
        assert_refused(at, arguments, code, wanted)?;
    }
    assert_eq!(std::fs::read(at.join("mine/metadata.tsv"))?, b"mine");
    assert!(stderr(&run(at, &["check", "t.tsv", "--metadata", "long"])?).len() < 1000);
    // All samples are too shallow.
    let none = [
        "unifrac",
        "c/table.biom",
        "c/tree.nwk",
        "--depth",
        "1000000000",
        "--no-cache",
        "--out",
        "n.tsv",
    ];
    let none = run(at, &none)?;
    assert_eq!(
        String::from_utf8_lossy(&none.stdout),
        "distances of 0 samples in n.tsv; there is no pair of samples\n"
    );
    Ok(())
}

#[test]
fn tables_and_columns_that_nothing_can_be_learned_from_are_refused() -> Done {
    let folder = made()?;
    let at = folder.path();
    let head = "#OTU ID\ts1\ts2\n";
    for (counts, wanted) in [
        (
            "ACGT\tnan\t3\nACGA\t4\t5\n",
            "`s1` has NaN of feature `ACGT`",
        ),
        (
            "ACGT\t1\tinf\nACGA\t4\t5\n",
            "`s2` has inf of feature `ACGT`",
        ),
        ("ACGT\t1\t3\nACGA\t-4\t5\n", "`s1` has -4 of feature `ACGA`"),
        ("ACGT\t0\t0\n", "no sample of the table holds any count"),
    ] {
        std::fs::write(at.join("t.tsv"), format!("{head}{counts}"))?;
        for depth in ["0", "2"] {
            let baseline = ["baseline", "t.tsv", "--metadata", "c/metadata.tsv"];
            let baseline = [&baseline[..], &["--column", "deep", "--depth", depth]].concat();
            assert_refused(at, &baseline, 1, wanted)?;
            let check = run(at, &["check", "t.tsv", "--depth", depth])?;
            let said = String::from_utf8_lossy(&check.stdout).into_owned();
            assert_eq!(check.status.code(), Some(1), "{said}");
            assert!(said.contains(wanted) && !said.contains("-0 "), "{said}");
        }
    }
    std::fs::write(at.join("t.tsv"), "#OTU ID\ts1\ts1\nACGT\t1\t3\n")?;
    let check = run(at, &["check", "t.tsv", "--depth", "0"])?;
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert_eq!(check.status.code(), Some(1), "{said}");
    assert!(said.contains("several samples are named `s1`"), "{said}");

    // One value alone, and one that a single sample has.
    let metadata = std::fs::read_to_string(at.join("c/metadata.tsv"))?;
    let rows = metadata.lines().enumerate().map(|(row, line)| match row {
        0 => format!("{line}\tclass\tnumber\trare\n"),
        3 => format!("{line}\ta\t1.5\tb\n"),
        _ => format!("{line}\ta\t1.5\ta\n"),
    });
    std::fs::write(at.join("m.tsv"), rows.collect::<String>())?;
    let asked = |command: &'static str, column: &'static str| {
        let of = [command, "c/table.biom", "--metadata", "m.tsv", "--column"];
        [&of[..], &[column]].concat()
    };
    for (column, value) in [("class", "`a`"), ("number", "`1.5`")] {
        let baseline = [&asked("baseline", column)[..], &["--depth", "200"]].concat();
        assert_refused(at, &baseline, 2, value)?;
        let train = with_small(&[&asked("train", column)[..], &["--out", "one"]].concat());
        assert_refused(at, &train, 2, value)?;
        assert!(!at.join("one").exists());
    }
    let few = ["--depth", "200", "--trees", "3", "--folds", "3", "--json"];
    let found = json(&run(at, &[&asked("baseline", "rare")[..], &few].concat())?)?;
    assert_eq!(found["scores"][0]["name"], "accuracy");
    let folds = ["--depth", "200", "--folds", "18446744073709551615"];
    let many = [&asked("baseline", "deep")[..], &folds].concat();
    assert_refused(at, &many, 1, "fewer folds")?;

    // What is no run of `pretrain` is told before anything is made.
    let tuned = ["--out", "tuned", "--pretrained", "c"];
    let train = with_small(&[&asked("train", "deep")[..], &tuned].concat());
    assert_refused(at, &train, 2, "`c` holds no run")?;
    let trained = with_small(&[&asked("train", "deep")[..], &["--out", "run"]].concat());
    assert!(run(at, &trained)?.status.success());
    let tuned = ["--out", "tuned", "--pretrained", "run"];
    let train = with_small(&[&asked("train", "deep")[..], &tuned].concat());
    assert_refused(at, &train, 2, "a run of `kato-microbes pretrain`")?;
    assert!(!at.join("tuned").exists());

    // Settings of a run may be written to.
    let settings = at.join("run/settings.toml");
    let text = std::fs::read_to_string(&settings)?;
    std::fs::write(&settings, text.replace("prefetch = 2", "prefetch = 0"))?;
    for command in [&["resume", "run"][..], &["predict", "run", "c/table.biom"]] {
        assert_refused(at, command, 2, "`training.prefetch` is 0")?;
    }
    Ok(())
}

#[test]
fn a_run_that_was_begun_keeps_what_decides_its_course() -> Done {
    let folder = made()?;
    let at = folder.path();
    let pretrain = ["pretrain", "c/table.biom", "--tree", "c/tree.nwk"];
    let pretrain = with_small(&[&pretrain[..], &["--out", "pre"]].concat());
    assert!(run(at, &pretrain)?.status.success());
    let train = ["train", "c/table.biom", "--metadata", "c/metadata.tsv"];
    let train = with_small(&[&train[..], &["--column", "deep"]].concat());
    let trained = [&train[..], &["--out", "run"]].concat();
    assert!(run(at, &trained)?.status.success());
    // Other samples would be judged by than those that nothing was learned from.
    for run in ["pre", "run"] {
        let settings = at.join(run).join("settings.toml");
        let text = std::fs::read_to_string(&settings)?;
        let (before, split) = text.split_once("[split]").ok_or("a table")?;
        let split = split.replacen("seed = 42", "seed = 43", 1);
        std::fs::write(&settings, format!("{before}[split]{split}"))?;
    }
    let tuned = [&train[..], &["--pretrained", "pre", "--out", "tuned"]].concat();
    let explain = ["explain", "run", "c/table.biom", "--sample", "sample_0003"];
    for command in [
        &["resume", "run"][..],
        &["predict", "run", "c/table.biom"],
        &explain,
        &["bench", "course", "pre", "--out", "course"],
        &tuned,
    ] {
        assert_refused(at, command, 6, "`split.seed` was 42 and is 43")?;
    }

    let settings = at.join("run/settings.toml");
    let text = std::fs::read_to_string(&settings)?;
    let text = text.replace("seed = 43", "seed = 42");
    let longer = text.replace("silence_s = 600", "silence_s = 6000");
    assert!(longer != text);
    std::fs::write(&settings, longer)?;
    for command in [&["resume", "run"][..], &["predict", "run", "c/table.biom"]] {
        let output = run(at, command)?;
        assert!(output.status.success(), "{}", stderr(&output));
    }
    // The rate of each step would be another share of the way.
    std::fs::write(&settings, text.replace("epochs = 2", "epochs = 4"))?;
    let wanted = "`training.epochs` was 2 and is 4";
    assert_refused(at, &["resume", "run"], 6, wanted)
}

/// Asserts that a command ends with a code, and says a word of why.
fn assert_refused(at: &Path, arguments: &[&str], code: i32, wanted: &str) -> Done {
    let output = run(at, arguments)?;
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?} {said}");
    assert!(said.contains(wanted), "{arguments:?} {said}");
    Ok(())
}

/// Flags of a model that trains in a moment.
const SMALL: [&str; 20] = [
    "--depth",
    "200",
    "--max-bp",
    "40",
    "--width",
    "8",
    "--max-sequences",
    "8",
    "--batch",
    "4",
    "--epochs",
    "2",
    "--set",
    "model.heads=2",
    "--set",
    "model.nucleotide_layers=1",
    "--set",
    "model.sample_layers=1",
    "--threads",
    "1",
];

pub(crate) fn with_small<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &SMALL].concat()
}

#[test]
fn the_batch_that_is_found_leaves_room() -> Done {
    let folder = made()?;
    let at = folder.path();
    let find = |mebibytes: &str| -> Result<Output, Box<dyn Error>> {
        let pretrain = ["pretrain", "c/table.biom", "--tree", "c/tree.nwk"];
        let memory = ["--find-batch", "--memory-mib", mebibytes, "--json"];
        run(at, &[&with_small(&pretrain)[..], &memory].concat())
    };
    let found = json(&find("1000")?)?;
    let number = |name: &str| found[name].as_u64().ok_or("a number");
    assert!(number("peak_bytes")? * 5 <= number("limit_bytes")? * 4);
    // All that are trained on, which is less than there could be.
    assert_eq!((number("batch")?, number("accumulate")?), (12, 1));
    // A process alone takes more than a mebibyte.
    let none = find("1")?;
    assert_eq!(none.status.code(), Some(5), "{}", stderr(&none));
    assert!(stderr(&none).contains("fit"), "{}", stderr(&none));
    Ok(())
}

#[test]
fn every_item_of_the_plan_is_measured_and_those_that_change_no_bit_have_the_same_result() -> Done {
    let folder = tempfile::tempdir()?;
    let bench = [
        "bench",
        "items",
        "--rounds",
        "1",
        "--epochs",
        "1",
        "--samples",
        "24",
        "--sequences",
        "8",
        "--json",
    ];
    let found = json(&run(folder.path(), &bench)?)?;
    let items = found["items"].as_array().ok_or("a list")?;
    let named = |name: &str| items.iter().find(|item| item["name"] == name);
    let defaults = named("all defaults").ok_or("it is measured")?;
    for name in ["no worker", "four workers", "no cache"] {
        let item = named(name).ok_or("it is measured")?;
        let of = |item: &Value| item["rounds"][0]["r2"].clone();
        assert_eq!(of(item), of(defaults), "{name}");
    }
    for item in items {
        let round = &item["rounds"][0];
        for figure in [
            "tokens_a_second",
            "tokens_a_processor_second",
            "peak_mib",
            "other_s",
        ] {
            assert!(round[figure].as_f64() > Some(0.0), "{figure} of {item}");
        }
    }
    Ok(())
}

#[test]
fn a_model_is_pretrained_tuned_asked_and_explained() -> Done {
    let folder = made()?;
    let at = folder.path();
    // Both hold back the same, as intervals come from what neither has learned from.
    let held_back = ["--set", "split.calibration=0.4"];
    let pretrain = ["pretrain", "c/table.biom", "--tree", "c/tree.nwk"];
    let pretrain = with_small(&[&pretrain[..], &held_back].concat());
    let dry = json(&run(
        at,
        &[&pretrain[..], &["--dry-run", "--json"]].concat(),
    )?)?;
    assert!(dry["n_steps"].as_u64() > Some(1) && !at.join("pre").exists());
    let outcome = json(&run(
        at,
        &[&pretrain[..], &["--out", "pre", "--json"]].concat(),
    )?)?;
    assert_eq!(
        (&outcome["ending"], &outcome["n_epochs"]),
        (&"complete".into(), &2.into())
    );
    let page = std::fs::read_to_string(at.join("pre/report.html"))?;
    assert!(page.contains("Distances of test samples"));

    let target = [
        "--metadata",
        "c/metadata.tsv",
        "--column",
        "deep",
        "--pretrained",
        "pre",
        "--freeze",
    ];
    let train = with_small(
        &[
            &["train", "c/table.biom", "--out", "tuned", "--json"][..],
            &target,
        ]
        .concat(),
    );
    let outcome = json(&run(at, &[&train[..], &held_back].concat())?)?;
    assert_eq!(outcome["test"][0]["name"], "r2");
    // What the pre-trained run decides is measured as it will be, whatever else is asked for.
    let parameters = |width: &str| -> Result<u64, Box<dyn Error>> {
        let dry = ["--dry-run", "--set", width];
        let told = json(&run(at, &[&train[..], &held_back, &dry].concat())?)?;
        Ok(told["n_parameters"].as_u64().ok_or("a number")?)
    };
    assert_eq!(parameters("model.width=32")?, parameters("model.width=64")?);
    assert_eq!(outcome["conformal"]["n_calibration"], 9);

    let predict = [
        "predict",
        "tuned",
        "c/table.biom",
        "--passes",
        "2",
        "--out",
        "p.tsv",
    ];
    assert!(run(at, &predict)?.status.success());
    let text = std::fs::read_to_string(at.join("p.tsv"))?;
    assert!(
        text.starts_with("sample_id\tpredicted\tlow\thigh\tdeviation\nsample_0000\t"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 25);
    // The file is written beside JSON as well.
    std::fs::remove_file(at.join("p.tsv"))?;
    let found = json(&run(at, &[&predict[..], &["--json"]].concat())?)?;
    assert_eq!(found["answers"].as_array().map(Vec::len), Some(24));
    assert_eq!(std::fs::read_to_string(at.join("p.tsv"))?, text);
    let explain = [
        "explain",
        "tuned",
        "c/table.biom",
        "--sample",
        "sample_0003",
        "--limit",
        "3",
        "--json",
    ];
    let found = json(&run(at, &explain)?)?;
    assert_eq!(found["parts"].as_array().map(Vec::len), Some(3));
    assert!(found.get("branches").is_none(), "no tree was given");
    let with_tree = [&explain[..], &["--tree", "c/tree.nwk"]].concat();
    let found = json(&run(at, &with_tree)?)?;
    assert!(found["branches"][0]["features"][1].is_string(), "{found}");
    assert_eq!(found["n_unplaced"], 0);

    for (arguments, code, wanted) in [
        (&["resume", "c"][..], 2, "holds no run"),
        (&["predict", "pre", "c/table.biom"], 2, "pre-trained alone"),
        (
            &["explain", "tuned", "c/table.biom", "--sample", "x"],
            2,
            "no sample `x`, or it was left out; `kato-microbes predict` lists those there are",
        ),
        (
            &[
                "pretrain",
                "c/table.biom",
                "--tree",
                "c/tree.nwk",
                "--out",
                "pre",
                "--depth",
                "200",
            ],
            6,
            "resume",
        ),
        (
            &[
                "pretrain",
                "c/table.biom",
                "--tree",
                "c/tree.nwk",
                "--out",
                "y",
                "--set",
                "model.size=3",
            ],
            2,
            "size",
        ),
    ] {
        assert_refused(at, arguments, code, wanted)?;
    }
    Ok(())
}

#[test]
fn killed_at_any_moment_a_run_goes_on_with_the_same_bits() -> Done {
    let folder = made()?;
    let at = folder.path();
    let train = |out: &'static str| {
        let flags = [
            "train",
            "c/table.biom",
            "--metadata",
            "c/metadata.tsv",
            "--column",
            "single_class",
            "--out",
            out,
        ];
        with_small(&[&flags[..], &["--set", "training.save_steps=1"]].concat())
    };
    let history = |out: &str| -> Result<Vec<Value>, Box<dyn Error>> {
        let text = std::fs::read_to_string(at.join(out).join("history.jsonl"))?;
        let timeless = |line: &str| -> Result<Value, serde_json::Error> {
            let record: Value = serde_json::from_str(line)?;
            Ok(serde_json::json!([
                record["epoch"],
                record["step"],
                record["train_loss"],
                record["validation"]
            ]))
        };
        Ok(text.lines().map(timeless).collect::<Result<_, _>>()?)
    };
    let begun = Instant::now();
    assert!(run(at, &train("whole"))?.status.success());
    let (longest, expected) = (begun.elapsed(), history("whole")?);

    // Before there is a run, there is nothing to go on with.
    let next = |threads: &str| {
        let mut command = if at.join("killed/run.json").exists() {
            program(at, &["resume", "killed", "--threads", threads])
        } else {
            program(at, &train("killed"))
        };
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let n_kills = std::env::var("KATO_NEURAL_KILLS").map_or(Ok(4), |n| n.parse())?;
    let mut moments = SplitMix64::from_seed(11);
    for kill in 0..n_kills {
        let mut child = next(["1", "2", "3"][kill % 3]).spawn()?;
        if ends_within(&mut child, longest.mul_f64(moments.unit())) {
            assert!(child.wait()?.success(), "kill {kill}");
            assert_eq!(history("killed")?, expected, "kill {kill}");
            std::fs::remove_dir_all(at.join("killed"))?;
        }
        // One that has ended is past it.
        child.kill()?;
        child.wait()?;
    }
    assert!(next("2").status()?.success());
    assert_eq!(history("killed")?, expected);
    Ok(())
}

#[cfg(unix)]
#[test]
fn the_first_signal_ends_what_does_not_train_or_not_yet() -> Done {
    let folder = made()?;
    let at = folder.path();
    // Who reads it waits for what nobody writes.
    let tree = at.join("t.nwk");
    assert!(Command::new("mkfifo").arg(&tree).status()?.success());
    let of = |command| [command, "c/table.biom", "--tree", "t.nwk"];
    let pretrain = with_small(&[&of("pretrain")[..], &["--out", "run", "--no-cache"]].concat());
    for (signal, arguments) in [("-INT", &of("check")[..]), ("-TERM", &pretrain)] {
        let mut child = program(at, arguments).spawn()?;
        let (sender, is_read) = mpsc::channel();
        let tree = tree.clone();
        thread::spawn(move || sender.send(OpenOptions::new().write(true).open(tree)));
        let writer = is_read.recv_timeout(Duration::from_secs(60))??;
        let killed = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()?;
        assert!(killed.success());
        let has_ended = ends_within(&mut child, Duration::from_secs(60));
        // One that has not ended is past it then.
        drop(writer);
        assert_eq!(child.wait()?.code(), Some(130), "{arguments:?}");
        assert!(has_ended, "{arguments:?}");
    }
    assert!(!at.join("run").exists());
    Ok(())
}
