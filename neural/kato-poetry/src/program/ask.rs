//! `reconstruct`, `encode`, `neighbours` and `walk`: what a trained model makes of poems.

use std::io::{IsTerminal, stdout};
use std::path::Path;

use kato_advice::counted;
use kato_neural::program::{CommandFailure, Ended, refuse_inputs, say, say_json};
use kato_neural::run::write_json;
use kato_poetry::tokens::{Special, Token, join};
use kato_poetry::{Poem, RebuiltToken, Run, Trained, nearest_codes, npy};
use serde::Serialize;

use super::cli::{EncodeArguments, NeighboursArguments, ReconstructArguments, WalkArguments};
use super::text::{poem_of, poems_of, text_options};

/// Columns of the left half of a reconstruction.
const HALF: usize = 52;

/// A poem beside what came back, as JSON.
#[derive(Serialize)]
struct RebuiltPoem {
    poem: String,
    place: String,
    cosine: f64,
    token_accuracy: f64,
    tokens: Vec<TokenPair>,
}

/// A word, what came back of it, and how near that is.
#[derive(Serialize)]
struct TokenPair {
    word: String,
    rebuilt: String,
    cosine: f64,
}

/// Shows poems beside what the model makes of them.
pub(crate) fn reconstruct(arguments: &ReconstructArguments) -> Result<Ended, CommandFailure> {
    let trained = Trained::load(&arguments.run)?;
    let poems = match &arguments.text {
        Some(path) => {
            let options = text_options(&trained.settings().text, &arguments.unit)?;
            poems_of(&[path.as_path()], &options)?
        }
        None => Run::test_poems(&arguments.run)?,
    };
    let mut rebuilt_poems = Vec::new();
    for poem in poems.iter().take(arguments.limit) {
        let tokens = trained.reconstruct(poem);
        if arguments.output.json {
            rebuilt_poems.push(as_json(&trained, poem, &tokens));
        } else {
            say_rebuilt(&trained, poem, &tokens)?;
        }
    }
    if arguments.output.json {
        say_json(&rebuilt_poems)?;
    }
    Ok(Ended::Done)
}

/// Returns a reconstruction for JSON.
fn as_json(trained: &Trained, poem: &Poem, tokens: &[RebuiltToken]) -> RebuiltPoem {
    let name = |id: u32| trained.vocabulary().word(id).unwrap_or_default().to_owned();
    let pairs = tokens.iter().map(|token| TokenPair {
        word: name(token.word),
        rebuilt: name(token.rebuilt),
        cosine: token.cosine,
    });
    RebuiltPoem {
        poem: poem.to_string(),
        place: poem.place.clone(),
        cosine: mean_cosine(tokens),
        token_accuracy: token_accuracy(tokens),
        tokens: pairs.collect(),
    }
}

/// Prints a poem on the left and what came back on the right, line by line of the original.
fn say_rebuilt(
    trained: &Trained,
    poem: &Poem,
    tokens: &[RebuiltToken],
) -> Result<(), CommandFailure> {
    say(format_args!(
        "{poem}  cosine {:.4}  {:.0} % of the words right",
        mean_cosine(tokens),
        token_accuracy(tokens) * 100.0
    ))?;
    let is_break = |token: &RebuiltToken| {
        token.word == Special::LineBreak.id() || token.word == Special::StanzaBreak.id()
    };
    let vocabulary = trained.vocabulary();
    let may_color = may_color();
    for line in tokens.split(is_break) {
        let original = join(line.iter().map(|token| vocabulary.token(token.word)));
        let rebuilt: Vec<String> = line
            .iter()
            // The ends of a poem are no words of its lines.
            .filter(|token| {
                !matches!(
                    vocabulary.token(token.word),
                    Token::Special(Special::PoemStart | Special::PoemEnd)
                )
            })
            .map(|token| {
                let word = vocabulary.word(token.rebuilt).unwrap_or_default();
                colored(word, token.cosine, may_color)
            })
            .collect();
        say(format_args!("{original:<HALF$} | {}", rebuilt.join(" ")))?;
    }
    say("")
}

/// Returns whether standard output may be coloured.
fn may_color() -> bool {
    let refuses = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && !refuses
}

/// Returns a text in the colour of a cosine: green from 0.8, yellow from 0.5, else red.
fn colored(text: &str, cosine: f64, may_color: bool) -> String {
    if !may_color {
        return text.to_owned();
    }
    let code = if cosine >= 0.8 {
        32
    } else if cosine >= 0.5 {
        33
    } else {
        31
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Returns the mean cosine of a poem's tokens.
fn mean_cosine(tokens: &[RebuiltToken]) -> f64 {
    tokens.iter().map(|token| token.cosine).sum::<f64>() / tokens.len().max(1) as f64
}

/// Returns the share of a poem's tokens whose word came back.
fn token_accuracy(tokens: &[RebuiltToken]) -> f64 {
    let n_right = tokens
        .iter()
        .filter(|token| token.word == token.rebuilt)
        .count();
    n_right as f64 / tokens.len().max(1) as f64
}

/// Writes one vector a poem to a file.
pub(crate) fn encode(arguments: &EncodeArguments) -> Result<Ended, CommandFailure> {
    let beside = arguments.out.with_extension("json");
    if beside == arguments.out {
        return Err(CommandFailure::Usage(format!(
            "--out {}: the names of the poems go into that file; give the vectors another one, such as `codes.npy`",
            beside.display()
        )));
    }
    for out in [&arguments.out, &beside] {
        refuse_inputs(out, arguments.texts.iter().map(|path| path.as_path()))?;
    }
    let trained = Trained::load(&arguments.run)?;
    let poems = if arguments.texts.is_empty() {
        Run::poems(&arguments.run)?
    } else {
        let options = text_options(&trained.settings().text, &arguments.unit)?;
        let paths: Vec<&Path> = arguments.texts.iter().map(|path| path.as_path()).collect();
        poems_of(&paths, &options)?
    };
    let codes = trained.encode(&poems);
    npy::write(&arguments.out, &[poems.len(), trained.n_units()], codes)?;
    let names: Vec<_> = poems
        .iter()
        .map(|poem| (poem.to_string(), &poem.place))
        .collect();
    write_json(&beside, &names)?;
    let (file, n_poems, n_units) = (&arguments.out, poems.len(), trained.n_units());
    if arguments.output.json {
        say_json(&serde_json::json!({ "file": file, "poems": n_poems, "units": n_units }))?;
    } else {
        let (file, beside) = (file.display(), beside.display());
        let (vectors, numbers) = (counted(n_poems, "vector"), counted(n_units, "number"));
        say(format_args!(
            "{vectors} of {numbers} in {file}, names in {beside}"
        ))?;
    }
    Ok(Ended::Done)
}

/// A neighbour, as JSON.
#[derive(Serialize)]
struct Neighbour {
    cosine: f64,
    poem: String,
    place: String,
}

/// Shows which poems of the run lie close to a text.
pub(crate) fn neighbours(arguments: &NeighboursArguments) -> Result<Ended, CommandFailure> {
    let trained = Trained::load(&arguments.run)?;
    let poem = poem_of(&arguments.poem)?;
    let poems = Run::poems(&arguments.run)?;
    let codes = trained.encode(&poems);
    let query = trained.encode(std::slice::from_ref(&poem));
    let found = nearest_codes(&codes, &query, arguments.limit).into_iter();
    let found: Vec<Neighbour> = found
        .map(|(at, cosine)| Neighbour {
            cosine,
            poem: poems[at].to_string(),
            place: poems[at].place.clone(),
        })
        .collect();
    if arguments.output.json {
        say_json(&found)?;
        return Ok(Ended::Done);
    }
    for neighbour in &found {
        let Neighbour {
            cosine,
            poem,
            place,
        } = neighbour;
        say(format_args!("{cosine:.4}  {poem:<HALF$}  {place}"))?;
    }
    Ok(Ended::Done)
}

/// Shows what lies between two poems.
pub(crate) fn walk(arguments: &WalkArguments) -> Result<Ended, CommandFailure> {
    let trained = Trained::load(&arguments.run)?;
    let (from, to) = (poem_of(&arguments.from)?, poem_of(&arguments.to)?);
    let texts = trained.walk(&from, &to, arguments.steps.into())?;
    if arguments.output.json {
        say_json(&texts)?;
        return Ok(Ended::Done);
    }
    for (at, text) in texts.iter().enumerate() {
        say(format_args!("--- {} of {}\n{text}\n", at + 1, texts.len()))?;
    }
    Ok(Ended::Done)
}
