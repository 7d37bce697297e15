//! Poems from files of every form.

use std::error::Error;
use std::fs;

use kato_poetry::PoetryError;
use kato_poetry::poems::{PoemUnit, TextOptions, poems_of_text, read_poems};

use crate::support::{sonnets, sonnets_file};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn sonnets_have_their_titles_and_places() {
    let poems = sonnets();
    let titles: Vec<_> = poems
        .iter()
        .filter_map(|poem| poem.title.as_deref())
        .collect();
    assert_eq!(titles, ["XVIII", "XXIX", "LV", "LXXIII", "CXVI", "CXXX"]);
    assert!(
        poems.iter().all(|poem| poem.text.lines().count() == 15),
        "a stanza break each"
    );
    assert!(
        poems[1].place.ends_with("sonnets.txt, line 22"),
        "{}",
        poems[1].place
    );
}

#[test]
fn units_cut_the_same_file_differently() -> Outcome {
    let count = |unit| {
        let options = TextOptions::default().with_unit(unit);
        read_poems([sonnets_file()], &options).map(|poems| poems.len())
    };
    assert_eq!(count(PoemUnit::File)?, 1);
    assert_eq!(count(PoemUnit::Gap)?, 6);
    assert_eq!(count(PoemUnit::Paragraph)?, 18);
    Ok(())
}

#[test]
fn arrays_records_and_directories_are_read_in_their_order() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let array =
        r#"[{"title": "T", "author": "A", "text": "one\n\ntwo", "score": 3}, {"text": "x"}]"#;
    fs::write(at("poems.json"), array)?;
    fs::create_dir(at("texts"))?;
    fs::write(at("texts/b.txt"), "b\n")?;
    fs::write(at("texts/a.txt"), "a\n\na2\n")?;
    fs::write(at("records.jsonl"), "{\"text\": \"r\\n\\ns\"}\n")?;
    let inputs = [at("texts"), at("poems.json"), at("records.jsonl")];
    let poems = read_poems(inputs, &TextOptions::default())?;
    let texts: Vec<_> = poems.iter().map(|poem| poem.text.as_str()).collect();
    assert_eq!(texts, ["a", "a2", "b", "one\n\ntwo", "x", "r\n\ns"]);
    assert_eq!(
        (poems[3].title.as_deref(), poems[3].author.as_deref()),
        (Some("T"), Some("A"))
    );
    assert!(poems[4].place.ends_with("poems.json, element 1"));
    Ok(())
}

#[test]
fn a_bad_array_is_named_with_its_line_and_the_form_that_is_right() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("p.json");
    let error_of = |json: &str| -> Result<PoetryError, Box<dyn Error>> {
        fs::write(&path, json)?;
        Ok(read_poems([&path], &TextOptions::default()).expect_err("it is no array of poems"))
    };
    let text = error_of("[\n{\"text\": \"a\"},\n{\"title\": \"b\"}]")?.to_string();
    assert!(
        text.contains("p.json`, line 3: missing field `text`"),
        "{text}"
    );
    assert!(text.contains("[{\"title\": …"), "{text}");
    assert!(error_of("{}")?.to_string().contains("line 1"));
    assert!(
        error_of("[{\"text\": \" \\n\"}]")?
            .to_string()
            .contains("element 0")
    );
    Ok(())
}

#[test]
fn what_is_not_there_is_an_error() {
    let error = read_poems(["/nowhere/at/all.txt"], &TextOptions::default()).unwrap_err();
    let cause = error.source().expect("the loader's").to_string();
    assert!(cause.contains("/nowhere/at/all.txt"), "{cause}");
    let error = read_poems(["/nowhere/at/all.json"], &TextOptions::default()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all.json"));
    assert!(poems_of_text("", &TextOptions::default()).is_empty());
}
