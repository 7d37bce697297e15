//! Plans, comparisons of settings, and the history of runs, as their users meet them.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::Place;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn a_plan_has_intervals_machines_and_the_command_that_train_compares_itself_with() {
    let place = Place::new(1500);
    let ask = [
        "corpus.jsonl",
        "--text-size",
        "2MB",
        "--within",
        "24h",
        "--pilot",
        "200kB",
        "--repeat",
        "2",
        "--workers",
        "1",
    ];
    let ask = [
        &ask[..],
        &[
            "--levels",
            "5,3",
            "--out",
            "plan.json",
            "--report",
            "plan.html",
            "--index",
            "--occurrences",
            "--max-window",
            "64MiB",
            "--json",
            "--quiet",
        ],
    ]
    .concat();
    let plan = place.json_of("plan", &ask);
    let run = ["seconds", "disk_bytes", "memory_bytes"];
    let beside = [
        "index_bytes",
        "index_seconds",
        "head_bytes",
        "head_seconds",
        "occurrences_bytes",
        "occurrences_seconds",
    ];
    for figure in run.iter().chain(&beside) {
        let figure = &plan["forecast"][figure];
        let [low, value, high] = ["low", "value", "high"].map(|end| number(&figure[end]));
        assert!(0.0 < low && low <= value && value <= high, "{figure}");
    }
    assert_eq!(
        plan["pilots"].as_array().unwrap().len(),
        10,
        "five sizes, twice"
    );
    let options = plan["recommendation"]["options"].as_array().unwrap();
    let here = options
        .iter()
        .find(|option| option["machine"] == "this machine")
        .unwrap();
    assert_eq!(
        (&here["verdict"], number(&here["usd"]["value"])),
        (&"surely".into(), 0.0)
    );
    let command = plan["command"].as_str().unwrap();
    assert_eq!(
        command,
        "kato train corpus.jsonl --kb kato-kb --levels 5,3 --workers 1 --memory 268435456 --index --occurrences --max-window 64MiB --forecast plan.json"
    );
    let page = place.read("plan.html");
    assert!(page.contains("<svg") && page.ends_with("</html>\n") && !page.contains("NaN"));
    // Words of the command have an element each, so that lines end between them.
    let page = page.replace("<span>", "").replace("</span>", "");
    // The answer comes first, and nothing of it is what a terminal shows.
    let (_, answer) = page.split_once("callout\"><h2>").unwrap();
    let (answer, _) = answer.split_once("</h2>").unwrap();
    assert!(answer.ends_with(" on this machine, at no cost"), "{answer}");
    for part in [
        command,
        "aria-label=\"Time\"",
        "wanted: 24.0 h",
        "What this rests on",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<pre").count(), 1, "the command alone");

    let words: Vec<&str> = command.split(' ').skip(2).collect();
    let trained = place.json_of("train", &[&words[..], &["--json", "--quiet"]].concat());
    let compared = &trained["forecast"]["seconds"];
    assert_eq!(compared["value"], plan["forecast"]["seconds"]["value"]);
    let error = number(&compared["value"]) / number(&trained["total_time_seconds"]) - 1.0;
    assert!((number(&compared["error"]) - error).abs() < 1e-9);
    // What was foretold goes as far as the index, and pilots tell how far learning alone.
    let peaks = [
        &trained["learning_peak_memory_bytes"],
        &trained["index"]["peak_memory_bytes"],
        &trained["peak_memory_bytes"],
    ]
    .map(number);
    assert!(1e6 < peaks[0] && peaks.is_sorted(), "{peaks:?}");
    for pilot in plan["pilots"].as_array().unwrap() {
        let peaks = ["memory_bytes", "index_memory_bytes"].map(|peak| number(&pilot[peak]));
        assert!(peaks.is_sorted(), "{peaks:?}");
    }
    for figure in beside {
        let taken = &trained["forecast"][figure];
        assert_eq!(taken["value"], plan["forecast"][figure]["value"]);
        assert!(number(&taken["error"]).is_finite(), "{figure}: {taken}");
    }
    // Of other settings than the run's it is refused, and of another size it is told and compared.
    let other = ["corpus.jsonl", "--kb", "other", "--forecast", "plan.json"];
    let told = place.refusal("train", &other, 2);
    assert!(told.contains("made for --levels [5,3]"), "{told}");
    let again = |more: &[&str]| {
        let same = ["--levels", "5,3", "--workers", "1"];
        let output = place.run("train", &[&other[..2], more, &other[3..], &same].concat());
        assert!(output.status.success(), "{output:?}");
        output
    };
    let summary = String::from_utf8(again(&["again"]).stdout).unwrap();
    assert!(summary.contains("foretold"), "{summary}");
    let trained = again(&["third", "--progress", "json"]);
    let told = String::from_utf8(trained.stderr).unwrap();
    let events = told.lines().map(|line| serde_json::from_str(line).unwrap());
    let events: Vec<Value> = events.collect();
    assert!(told.contains("made for another corpus"), "{told}");
    let first = events
        .iter()
        .find(|event| event["event"] == "forecast")
        .unwrap();
    assert_eq!(first["seconds"], plan["forecast"]["seconds"]);
    assert_eq!(told.matches("\"forecast\"").count(), 1, "{told}");
}

#[test]
fn a_run_into_a_mongodb_is_planned_by_pilots_there_that_leave_nothing_behind() {
    if !kato_mongo_server::is_installed() {
        return;
    }
    let uri = kato_mongo_server::shared(kato_mongo_server::ServerOptions::default());
    let place = Place::new(60);
    let ask = ["corpus.jsonl", "--text-size", "20kB", "--pilot", "8kB"];
    let settings = ["--repeat", "1", "--workers", "1", "--levels", "5,3"];
    let answer = ["--out", "plan.json", "--json", "--quiet"];
    let asked = |backend: &str| {
        [&ask[..], &["--backend", backend], &settings, &answer]
            .concat()
            .join(" ")
    };
    let words = asked(&uri);
    let plan = place.json_of("plan", &words.split(' ').collect::<Vec<_>>());
    for figure in ["seconds", "disk_bytes", "memory_bytes"] {
        let figure = &plan["forecast"][figure];
        let [low, value, high] = ["low", "value", "high"].map(|end| number(&figure[end]));
        assert!(0.0 < low && low <= value && value <= high, "{figure}");
    }
    let options = plan["recommendation"]["options"].as_array().unwrap();
    assert_eq!(
        (options.len(), &options[0]["bound_by"]),
        (1, &"fixed".into())
    );
    assert!(options[0]["disk_gb"].is_null(), "{}", options[0]);
    let hours = number(&options[0]["hours"]["value"]);
    assert!((hours * 3600.0 / number(&plan["forecast"]["seconds"]["value"]) - 1.0).abs() < 1e-9);
    assert!(plan["on_the_way"].as_array().unwrap().is_empty());
    let runs = || place.json_of("runs", &["list", "--in", &uri, "--json"]);
    let is_pilot = |run: &Value| run["location"].to_string().contains("run_");
    let left = runs();
    let left = left["runs"].as_array().unwrap();
    assert!(!left.iter().any(is_pilot), "{left:?}");

    let command = plan["command"].as_str().unwrap();
    let expected = format!("kato train corpus.jsonl --backend '{uri}' --levels");
    assert!(
        command
            .replace('\'', "")
            .starts_with(&expected.replace('\'', "")),
        "{command}"
    );
    let words = command.replace('\'', "");
    let words: Vec<&str> = words.split(' ').skip(2).collect();
    let trained = [&words[..], &["--run", "planned", "--json", "--quiet"]].concat();
    let trained = place.json_of("train", &trained);
    let value = &plan["forecast"]["disk_bytes"]["value"];
    assert_eq!(&trained["forecast"]["disk_bytes"]["value"], value);

    let told = place.refusal(
        "plan",
        &[&ask[..], &["--backend", "kato:http://h"]].concat(),
        2,
    );
    assert!(told.contains("kato history forecast"), "{told}");
}

/// Before the pilots it says how large they would have to be, and then it answers all the same.
#[test]
fn a_run_however_far_away_is_planned_with_intervals_as_wide_as_that() {
    let place = Place::new(300);
    let ask_with = |pilot: &str, target: &str| {
        let ask = ["corpus.jsonl", "--text-size", target, "--pilot", pilot];
        let output = place.run("plan", &[&ask[..], &["--repeat", "1", "--json"]].concat());
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        (plan, told)
    };
    let ask = |target| ask_with("60kB", target);
    let share = |plan: &Value, figure: &str| {
        let figure = &plan["forecast"][figure];
        number(&figure["high"]) / number(&figure["value"])
    };
    let ((near, silent), (far, told)) = (ask("6MB"), ask("1TB"));
    assert!(!silent.contains("times the pilots"), "{silent}");
    let (first, _) = told.split_once('\n').unwrap();
    assert!(
        first.contains("which is more text than the corpus has"),
        "{told}"
    );
    // What is advised is enough.
    let (_, told) = ask("14MB");
    let (_, advised) = told.split_once("which --pilot ").unwrap();
    let (advised, _) = advised.split_once(' ').unwrap();
    let (_, told) = ask_with(advised, "14MB");
    assert!(!told.contains("times the pilots"), "{told}");
    // Of the bytes alone, which no clock measures: those of the time are held where its law is.
    let widths = [&near, &far].map(|plan| share(plan, "disk_bytes"));
    assert!(widths[1] > 1.5 * widths[0], "{widths:?}");
    let assumptions = far["assumptions"].to_string();
    assert!(
        assumptions.contains("Nothing was measured as far away"),
        "{assumptions}"
    );
}

#[test]
fn what_cannot_be_planned_is_told() {
    let place = Place::new(300);
    let pilots = ["--pilot", "60kB", "--repeat", "1", "--quiet"];
    let refused = |ask: &[&str], code| place.refusal("plan", &[ask, &pilots[..]].concat(), code);
    let told = refused(&["nowhere.jsonl", "--text-size", "1MB"], 1);
    assert!(told.contains("nowhere.jsonl"), "{told}");
    std::fs::write(
        place.path().join("machines.toml"),
        "schema = 1\ndate = \"\"\nsource = \"\"\n[[machine]]\nname = \"a\"",
    )
    .unwrap();
    let told = refused(
        &[
            "corpus.jsonl",
            "--text-size",
            "1MB",
            "--catalogue",
            "machines.toml",
        ],
        1,
    );
    assert!(told.contains("machines.toml"), "{told}");
    std::fs::write(
        place.path().join("one.jsonl"),
        "{\"text\": \"one document alone is no corpus\"}\n",
    )
    .unwrap();
    let told = refused(&["one.jsonl", "--text-size", "1kB"], 1);
    assert!(told.contains("too few documents"), "{told}");
    // Well before a pilot would give the server up.
    let began = Instant::now();
    let unreachable = ["--backend", "mongodb://127.0.0.1:1/", "--text-size", "1MB"];
    let told = refused(&[&["corpus.jsonl"], &unreachable[..]].concat(), 4);
    assert!(told.contains("127.0.0.1:1 did not answer"), "{told}");
    assert!(
        began.elapsed() < Duration::from_secs(50),
        "{:?}",
        began.elapsed()
    );
    // By the former name of the flag.
    let told = place.refusal("train", &["corpus.jsonl", "--plan", "one.jsonl"], 1);
    assert!(
        told.contains("kato plan --out") && told.contains("--plan is called --forecast now"),
        "{told}"
    );
}

#[test]
fn settings_are_ranked_and_a_file_of_trials_makes_none_again() {
    let place = Place::new(600);
    let ask = [
        "corpus.jsonl",
        "--try",
        "8",
        "--try",
        "4,4",
        "--levels",
        "5,3",
        "--workers",
        "1",
        "--text",
        "100kB",
    ];
    let ask = [
        &ask[..],
        &[
            "--held-out",
            "10kB",
            "--questions",
            "50",
            "--rounds",
            "2",
            "--repeat",
            "1",
        ],
    ]
    .concat();
    let ask = [
        &ask[..],
        &[
            "--journal",
            "trials.jsonl",
            "--report",
            "tune.html",
            "--json",
            "--quiet",
        ],
    ]
    .concat();
    let first = place.json_of("tune", &ask);
    let ranking = first["ranking"].as_array().unwrap();
    assert_eq!((ranking.len(), number(&ranking[0]["score"])), (3, 1.0));
    // Three with a quarter of the text, and one or two with all.
    assert!((4.0..=5.0).contains(&number(&first["trials"])), "{first}");
    for measure in ["rate", "bits", "bytes", "patterns", "memory", "seconds"] {
        assert!(
            number(&ranking[0]["measures"][measure]) > 0.0,
            "{measure}: {first}"
        );
    }
    let page = place.read("tune.html");
    assert!(page.contains("<svg") && page.ends_with("</html>\n") && !page.contains("NaN"));
    let again = place.json_of("tune", &ask);
    assert_eq!(
        (&again["ranking"], &again["resumed"]),
        (&first["ranking"], &first["trials"])
    );
    for wrong in [
        &["--try", "5,0"][..],
        &["--held-out", "0"],
        &["--chunks", "1", "--depths", "2"],
    ] {
        let told = place.refusal("tune", &[&["corpus.jsonl"], wrong].concat(), 2);
        assert!(told.contains(wrong[0]), "{told}");
    }
    let told = place.refusal("tune", &["corpus.jsonl", "--weight", "speed=1"], 2);
    assert!(told.contains("rate, bits"), "{told}");
}

#[cfg(feature = "history")]
#[test]
fn runs_are_recorded_and_foretell_those_that_come_after() {
    let place = Place::new(400);
    let corpus = place.read("corpus.jsonl");
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    let mut last = Value::Null;
    for (run, documents) in [100, 150, 200, 300, 400].into_iter().enumerate() {
        let file = format!("part{run}.jsonl");
        std::fs::write(place.path().join(&file), lines[..documents].concat()).unwrap();
        let kb = format!("kb{run}");
        let train = [
            file.as_str(),
            "--kb",
            &kb,
            "--workers",
            "1",
            "--history",
            "runs.db",
            "--json",
            "--quiet",
        ];
        last = place.json_of("train", &train);
        let recorded = last["recorded"].as_str().unwrap();
        assert_eq!(recorded, format!("run_c5-7-9_w1_s{documents}"));
    }
    // Three sizes were known by then.
    let bytes = &last["forecast"]["disk_bytes"];
    assert!(number(&bytes["error"]).abs() < 0.2, "{last}");
    let ask = |words: &[&str]| {
        place.json_of(
            "history",
            &[words, &["--history", "runs.db", "--json"]].concat(),
        )
    };
    let rows = ask(&["list"])["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[0]["samples"], 400);
    let accuracy = ask(&["accuracy"]);
    assert_eq!(
        (&accuracy["runs"], &accuracy["without_estimate"]),
        (&5.into(), &3.into())
    );
    assert_eq!(accuracy["seconds"]["runs"], 2);
    let similar = ask(&["similar", "--levels", "5,7,9", "--workers", "1"]);
    assert_eq!(number(&similar["similar"][0]["similarity"]), 1.0);
    let forecast = ask(&["forecast", "--levels", "5,7,9", "--documents", "4000"]);
    let [low, high] = ["low", "high"].map(|end| number(&forecast["seconds"][end]));
    assert!(0.0 < low && low < high, "{forecast}");
    let told = place.refusal(
        "history",
        &[
            "forecast",
            "--levels",
            "2",
            "--documents",
            "9",
            "--history",
            "runs.db",
        ],
        1,
    );
    assert!(told.contains("--learns"), "{told}");
    let run = ask(&["show", "run_c5-7-9_w1_s100"]);
    assert_eq!(run["outcome"]["levels"].as_array().unwrap().len(), 3);
    let plots = place.run("history", &["plot", "plots", "--history", "runs.db"]);
    assert_eq!(String::from_utf8(plots.stdout).unwrap().lines().count(), 6);
    assert!(
        place
            .read("plots/estimated-against-actual.svg")
            .contains("<circle")
    );
    for line in [
        "plot plots --json",
        "list --csv - --json",
        "--json list --csv -",
    ] {
        let line: Vec<&str> = line.split(' ').chain(["--history", "runs.db"]).collect();
        let told = place.refusal("history", &line, 2);
        assert!(told.contains("--json has no effect: "), "{line:?}: {told}");
    }
    let csv = place.run("history", &["list", "--csv", "-", "--history", "runs.db"]);
    assert_eq!(String::from_utf8(csv.stdout).unwrap().lines().count(), 6);
    assert_eq!(
        ask(&["remove", "run_c5-7-9_w1_s100"])["removed"],
        "run_c5-7-9_w1_s100"
    );
    let told = place.refusal("history", &["list", "--history", "none.db"], 1);
    assert!(told.contains("none.db"), "{told}");
    let plot = ["plot", "corpus.jsonl/plots", "--history", "runs.db"];
    let told = place.refusal("history", &plot, 6);
    assert!(
        told.contains("DIR corpus.jsonl/plots: corpus.jsonl is a file: choose another place"),
        "{told}"
    );
    let import = ["import", "corpus.jsonl", "--history", "none.db"];
    place.refusal("history", &import, 1);
    assert!(!place.path().join("none.db").exists());
    // Found out before anything is learned.
    let told = place.refusal(
        "train",
        &["corpus.jsonl", "--kb", "new", "--history", "corpus.jsonl"],
        6,
    );
    assert!(told.contains("no history"), "{told}");
    assert!(!place.path().join("new").exists());
}

/// Pilots take too long for several of them, so a plan is foretold once, and its errors are of a run
/// that took what it took.
#[cfg(feature = "history")]
#[test]
fn forecasts_are_kept_beside_what_happened_and_correct_the_next() {
    let place = Place::new(300);
    let history = ["--history", "runs.db", "--json", "--quiet"];
    let ask = |command: &str, words: &[&str]| place.json_of(command, &[words, &history].concat());
    let settings = ["corpus.jsonl", "--levels", "5,3", "--workers", "1"];
    let pilots = ["--pilot", "60kB", "--repeat", "1"];
    let plan = ask("plan", &[&settings[..], &pilots].concat());
    let foretold = &plan["forecast"]["seconds"];
    assert!(foretold.get("correction").is_none(), "nothing is known yet");
    let estimate = ask("estimate", &settings);
    assert_eq!(estimate["correction"], Value::Null);

    // The plan comes before the estimate, as it tells the time.
    let trained = ask("train", &[&settings[..], &["--kb", "kb"]].concat());
    assert_eq!(trained["forecast"]["made_by"], "plan");
    // Numbers that were written and read again may differ in their last bit.
    let are_equal = |a: &Value, b: &Value| (number(a) / number(b) - 1.0).abs() < 1e-12;
    let same = |forecast: &Value| are_equal(&forecast["seconds"]["value"], &foretold["value"]);
    assert!(same(&trained["forecast"]), "{trained}");
    assert!(number(&trained["forecast"]["memory_bytes"]["value"]) > 1e6);
    let run = place.json_of("runs", &["show", "kb", "--json"]);
    assert!(same(&run["manifest"]["forecast"]), "{run}");
    let shown = place.run("runs", &["show", "kb"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("foretold   time: ") && shown.contains("foretold   bytes: "),
        "{shown}"
    );

    let accuracy = place.json_of("history", &["accuracy", "--history", "runs.db", "--json"]);
    assert_eq!(accuracy["disk_bytes"]["intervals"], 1);
    let correction = &accuracy["corrections"][0];
    assert_eq!(correction["made_by"], "plan");
    let took = number(&trained["total_time_seconds"]);
    let expected = (took / number(&foretold["value"])).cbrt();
    let factor = number(&correction["seconds"]["factor"]);
    assert!(
        (factor / expected - 1.0).abs() < 1e-9,
        "{factor} {expected}"
    );
    let next = ask("plan", &[&settings[..], &pilots].concat());
    let corrected = &next["forecast"]["seconds"]["correction"]["factor"];
    assert!((number(corrected) / factor - 1.0).abs() < 1e-12, "{next}");

    // A named one comes before what is found.
    std::fs::write(place.path().join("estimate.json"), estimate.to_string()).unwrap();
    let named = ["--kb", "other", "--forecast", "estimate.json"];
    let trained = ask("train", &[&settings[..], &named].concat());
    assert_eq!(trained["forecast"]["made_by"], "estimate");
    assert_eq!(trained["forecast"]["seconds"], Value::Null);
    assert_eq!(
        trained["forecast"]["disk_bytes"]["value"],
        estimate["bytes"]["value"]
    );
    let again = ask("estimate", &settings);
    assert_eq!(again["correction"]["runs"], 1);

    // A session that goes on took the time of its own documents only, and teaches nothing.
    let begun = ["--kb", "part", "--max-documents", "100"];
    ask("train", &[&settings[..], &begun].concat());
    ask(
        "train",
        &[&settings[..], &["--kb", "part", "--resume"]].concat(),
    );
    let accuracy = place.json_of("history", &["accuracy", "--history", "runs.db", "--json"]);
    assert_eq!(accuracy["disk_bytes"]["intervals"], 2);
    // Nor has it a rate, and no forecast is made of it.
    let rows =
        place.json_of("history", &["list", "--history", "runs.db", "--json"])["rows"].clone();
    let resumed = &rows[0];
    assert_eq!(
        (&resumed["samples"], &resumed["seconds"]),
        (&300.into(), &0.0.into())
    );
    for rate in ["samples_per_second", "tokens_per_second"] {
        assert_eq!(resumed[rate], Value::Null, "{resumed}");
    }
    let run = resumed["run_id"].as_str().unwrap();
    let shown = place.run("history", &["show", run, "--history", "runs.db"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("300 documents in a time that is not known"),
        "{shown}"
    );
    ask("train", &[&settings[..], &["--kb", "third"]].concat());
    let more = [
        "forecast",
        "--levels",
        "5,3",
        "--documents",
        "4000",
        "--history",
        "runs.db",
        "--json",
    ];
    let forecast = place.json_of("history", &more);
    assert_eq!(
        (&forecast["left_out"]["time"], &forecast["runs"]),
        (&1.into(), &3.into()),
        "{forecast}"
    );
}

#[test]
fn trials_of_another_standard_input_are_made_anew() {
    let place = Place::new(200);
    let corpus = place.read("corpus.jsonl");
    let half = corpus.lines().count() / 2;
    let lines = |of: std::ops::Range<usize>| {
        let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
        lines[of].concat()
    };
    std::fs::write(place.path().join("first"), lines(0..half)).unwrap();
    std::fs::write(place.path().join("other"), lines(half..2 * half)).unwrap();
    let resumed = |file: &str| {
        let mut tune = crate::program::kato("tune");
        let ask = "- --format jsonl --levels 4 --workers 1 --text-size 20kB --held-out 5kB --questions 0 \
                   --rounds 1 --repeat 1 --journal trials.jsonl --json --quiet";
        tune.args(ask.split_whitespace()).current_dir(place.path());
        let text = std::fs::File::open(place.path().join(file)).unwrap();
        let output = tune.stdin(text).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["resumed"].clone()
    };
    let files = ["first", "other", "first", "other"];
    assert_eq!(files.map(resumed), [0, 0, 1, 1]);
}

#[cfg(not(feature = "history"))]
#[test]
fn a_build_without_a_history_says_how_to_get_one() {
    let place = Place::new(1);
    for (command, ask) in [
        ("history", &["list"][..]),
        ("train", &["corpus.jsonl", "--history", "runs.db"]),
        ("plan", &["corpus.jsonl", "--history", "runs.db"]),
        ("estimate", &["corpus.jsonl", "--history", "runs.db"]),
    ] {
        let told = place.refusal(command, ask, 1);
        assert!(told.contains("--features history"), "{told}");
    }
}
