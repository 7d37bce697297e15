//! What the head says: `next`, `score` and `generate --head`.

use std::fs;

use serde_json::Value;

use crate::programs::Workplace;

fn json_of(place: &Workplace, program: &str, arguments: &[&str]) -> Value {
    let common = ["--kb", "kb", "--json"];
    let arguments: Vec<&str> = common.iter().chain(arguments).copied().collect();
    let text = place.succeeds(program, &arguments);
    assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn next_tokens_come_with_their_reasons() {
    let place = Workplace::trained();
    let answer = json_of(
        &place,
        "next",
        &["--text", "The cat", "--limit", "3", "--explain"],
    );
    let next = answer["next"].as_array().unwrap();
    assert_eq!(next.len(), 3);
    let probability = |next: &Value| next["probability"].as_f64().unwrap();
    assert!(next.is_sorted_by(|one, other| probability(one) >= probability(other)));
    let why = &answer["explanation"];
    assert_eq!(
        (&why["symbol"], &why["probability"]),
        (&next[0]["token"], &next[0]["probability"])
    );
    // What is explained need not be shown.
    let none = json_of(
        &place,
        "next",
        &["--text", "The cat", "--limit", "0", "--explain"],
    );
    assert_eq!(none["next"].as_array().map(Vec::len), Some(0));
    assert_eq!(&none["explanation"], why);

    let parts = why["parts"].as_array().unwrap();
    let sum: f64 = parts
        .iter()
        .map(|part| part["contribution"].as_f64().unwrap())
        .sum();
    assert_eq!(sum, probability(&next[0]));

    let text = place.succeeds(
        "next",
        &["--kb", "kb", "--text", "The cat", "--why", "Ġmat"],
    );
    assert!(text.contains("n-grams inside patterns"), "{text}");
    let (code, message) = place.fails("next", &["--kb", "kb", "--text", "a", "--why", "no token"]);
    assert_eq!(
        (code, message.trim_end()),
        (
            2,
            "error: \"no token\" is no token of the vocabulary: write --why as `kato next --json` writes tokens"
        )
    );
}

#[test]
fn a_text_on_standard_input_is_scored_as_that_of_a_file() {
    let place = Workplace::trained();
    let text = "The dog sat on the mat.\n";
    fs::write(place.path("a.txt"), text).unwrap();
    let of_file = json_of(&place, "score", &["a.txt"]);
    let mut command = place.command("score", &["--kb", "kb", "--json", "-"]);
    let input = fs::File::open(place.path("a.txt")).unwrap();
    let output = command.stdin(input).output().unwrap();
    let mut of_input: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(of_input["texts"][0]["name"], "-");
    of_input["texts"][0]["name"] = "a.txt".into();
    assert_eq!(of_input, of_file);

    let (code, message) = place.fails("score", &["--kb", "kb", "-", "-"]);
    assert_eq!(
        (code, message.trim_end()),
        (2, "error: standard input is named twice: drop one `-`")
    );
}

#[test]
fn what_texts_taught_counts_from_the_first_token_once_it_is_kept() {
    let place = Workplace::trained();
    fs::write(
        place.path("a.txt"),
        "The dog sat on the mat. The cat sat on the dog. The dog sat.\n",
    )
    .unwrap();
    let score = |more: &[&str]| json_of(&place, "score", &[&["a.txt"], more].concat());
    let first = score(&[]);
    assert_eq!(score(&["--keep-weights"]), first, "scored as without it");
    let kept = score(&[]);
    assert_ne!(kept["bits"], first["bits"]);
    assert_eq!(
        score(&["--keep-weights"]),
        first,
        "from the beginning again"
    );
    assert_eq!(score(&[]), kept);

    let file = place.path("kb/weights.json");
    fs::write(&file, "{}\n").unwrap();
    for program in ["score", "next"] {
        let question: &[&str] = match program {
            "score" => &["--kb", "kb", "a.txt"],
            _ => &["--kb", "kb", "--text", "The"],
        };
        let (code, message) = place.fails(program, question);
        assert_eq!(code, 6, "{message}");
        assert!(
            message.contains("weights.json are damaged; remove"),
            "{message}"
        );
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(score(&[]), first);
}

#[test]
fn texts_are_scored() {
    let place = Workplace::trained();
    fs::write(
        place.path("a.txt"),
        "The cat sat on the mat.\n\nThe dog sat on the mat.\n",
    )
    .unwrap();
    fs::write(place.path("b.txt"), "Zebras xylophone quartz.\n").unwrap();
    let score = json_of(&place, "score", &["a.txt", "b.txt", "--tokens"]);
    let texts = score["texts"].as_array().unwrap();
    let bits = |value: &Value| value["bits_per_token"].as_f64().unwrap();
    assert!(bits(&texts[0]) < bits(&texts[1]), "{score}");
    let scored = texts[0]["scored"].as_array().unwrap();
    assert_eq!(scored.len() as u64, texts[0]["tokens"].as_u64().unwrap());
    let sum: f64 = scored
        .iter()
        .map(|token| token["bits"].as_f64().unwrap())
        .sum();
    assert_eq!(sum, texts[0]["bits"].as_f64().unwrap());
    assert_eq!(score["perplexity"].as_f64().unwrap(), bits(&score).exp2());

    let lines = json_of(&place, "score", &["a.txt", "--lines"]);
    let names: Vec<&str> = lines["texts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a.txt:1", "a.txt:3"]);
    let text = place.succeeds("score", &["--kb", "kb", "a.txt"]);
    assert!(
        text.contains("perplexity") && text.contains("most surprising"),
        "{text}"
    );
    // A byte order mark is no part of a text.
    let a = fs::read_to_string(place.path("a.txt")).unwrap();
    fs::write(place.path("marked.txt"), format!("\u{feff}{a}")).unwrap();
    let both = json_of(&place, "score", &["a.txt", "marked.txt"]);
    let texts = both["texts"].as_array().unwrap();
    assert_eq!(texts[0]["tokens"], texts[1]["tokens"], "{both}");
    assert_eq!(texts[0]["bits"], texts[1]["bits"], "{both}");
    assert_eq!(place.fails("score", &["--kb", "kb", "nowhere.txt"]).0, 1);
    assert_eq!(place.fails("score", &["--kb", "kb"]).0, 2);
}

#[test]
fn the_head_writes() {
    let place = Workplace::trained();
    for strategy in ["greedy", "sample", "beam"] {
        let arguments = [
            "--head",
            "--text",
            "The",
            "--strategy",
            strategy,
            "--max-tokens",
            "8",
        ];
        let answer = json_of(&place, "generate", &arguments);
        assert_eq!(
            answer,
            json_of(&place, "generate", &arguments),
            "{strategy}"
        );
        assert_eq!(answer["tokens"].as_array().unwrap().len(), 8);
        assert_eq!(answer["end"], "max_tokens");
    }
    let nothing = ["--kb", "kb", "--head", "--text", "The", "--max-tokens", "0"];
    let told = place.succeeds("generate", &nothing);
    let end = "0 tokens; the end: as many tokens as were asked for\n";
    assert!(told.ends_with(end), "{told}");
    let arguments = [
        "--kb",
        "kb",
        "--head",
        "--text",
        "The",
        "--strategy",
        "top-n",
    ];
    let (code, message) = place.fails("generate", &arguments);
    let expected = "error: --head draws with --strategy sample, not top-n";
    assert_eq!((code, message.trim_end()), (2, expected));
    let arguments = ["--kb", "kb", "--head", "--text", "The", "--bridge"];
    assert_eq!(place.fails("generate", &arguments).0, 2);
}
