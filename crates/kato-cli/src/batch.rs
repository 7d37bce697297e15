//! Many questions in a file, a JSON object a line: answered on all cores, and told in the order of the
//! lines while others are still to be read.

mod lines;

use std::fs::File;
use std::io::{self, Read, Write, stdin};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use indicatif::HumanCount;
use kato_probe::in_order;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::lines::{Line, Lines, MAX_LINE};
use crate::advice::told;
use crate::exit::bail_as;
use crate::machine::threads;
use crate::numbers::counted;
use crate::output::stdout;

/// Most questions that a thread takes at a time: handing them over takes as long as the answer to a short one.
const MOST_AT_A_TIME: usize = 64;

/// How long a thread is to take for the questions that it takes at a time.
const AT_A_TIME: Duration = Duration::from_millis(2);

/// A file of questions.
pub(crate) struct Batch {
    name: String,
    lines: Lines<Box<dyn Read + Send>>,
}

/// An answer with the line of its question.
#[derive(Serialize)]
struct Answered<A> {
    line: u64,
    #[serde(flatten)]
    answer: A,
}

/// What became of a question.
struct Told {
    line: u64,
    json: Vec<u8>,
    /// Why there is no answer.
    error: Option<String>,
}

/// How many questions there were, and what became of the first that was not answered.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    questions: u64,
    unanswered: u64,
    first: Option<(u64, String)>,
}

impl Batch {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let (name, input): (String, Box<dyn Read + Send>) = if file == Path::new("-") {
            ("standard input".to_owned(), Box::new(stdin()))
        } else {
            let name = file.display().to_string();
            let opened = File::open(file).with_context(|| format!("failed to open {name}"))?;
            (name, Box::new(opened))
        };
        let lines = Lines::new(input);
        Ok(Self { name, lines })
    }

    /// Writes the answer to every question to standard output, as one line of JSON with the number of its
    /// question's. A question without an answer has its error there, and the others are answered. `form`
    /// shows what a question looks like.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, answers cannot be written, or, at the end, some questions were not
    /// answered.
    pub(crate) fn answer<Q: DeserializeOwned, A: Serialize>(
        self,
        form: &str,
        answer: impl Fn(Q) -> Result<A> + Sync,
    ) -> Result<()> {
        let name = self.name;
        let answer = |json: &[u8]| answer(parsed(json, form)?);
        let outcome = answer_lines(self.lines, &mut stdout(), threads(), answer)
            .with_context(|| format!("failed to answer the questions in {name}"))?;
        let Some((line, error)) = outcome.first else {
            return Ok(());
        };
        bail_as!(
            Other,
            "no answer to {} of {} in {name}, the first in line {line}: {error}",
            HumanCount(outcome.unanswered),
            counted(outcome.questions, "question")
        );
    }
}

/// Reads a question.
fn parsed<Q: DeserializeOwned>(json: &[u8], form: &str) -> Result<Q> {
    serde_json::from_slice(json).with_context(|| format!("a question looks like {form}"))
}

/// Answers lines on so many threads, writes what becomes of them in their order, and returns how many there
/// were.
fn answer_lines<A: Serialize>(
    mut lines: Lines<impl Read + Send>,
    out: &mut impl Write,
    threads: NonZeroUsize,
    answer: impl Fn(&[u8]) -> Result<A> + Sync,
) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    let at_a_time = AtomicUsize::new(1);
    let tell_each = |lines: Vec<Line>| {
        let (began, n) = (Instant::now(), lines.len());
        let told: Vec<Told> = lines.into_iter().map(|line| tell(line, &answer)).collect();
        at_a_time.store(next_at_a_time(n, began.elapsed()), Ordering::Relaxed);
        told
    };
    let ended = in_order(
        threads,
        || {
            let drawn = lines.next_ready(at_a_time.load(Ordering::Relaxed));
            drawn
                .map(|lines| (!lines.is_empty()).then_some(lines))
                .transpose()
        },
        |lines| lines.map(tell_each),
        |told| match told.and_then(|told| outcome.add(told, out)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        },
    );
    match ended {
        ControlFlow::Continue(()) => Ok(outcome),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Returns how many questions a thread takes next, given how long so many took. It decides nothing but who answers
/// what.
fn next_at_a_time(n: usize, took: Duration) -> usize {
    match took {
        took if took * 2 <= AT_A_TIME => (n * 2).min(MOST_AT_A_TIME),
        took if took > AT_A_TIME => (n / 2).max(1),
        _ => n,
    }
}

/// Answers a line, as JSON.
fn tell<A: Serialize>(line: Line, answer: impl Fn(&[u8]) -> Result<A>) -> Told {
    let number = line.number;
    let too_long = || anyhow!("the line is longer than {} MiB", MAX_LINE >> 20);
    let answered = line.json.ok_or_else(too_long).and_then(|json| {
        let answer = answer(&json)?;
        let line = number;
        Ok(serde_json::to_vec(&Answered { line, answer })?)
    });
    let (mut json, error) = match answered {
        Ok(json) => (json, None),
        Err(error) => {
            let error = told(&error);
            let json = serde_json::json!({ "line": number, "error": error });
            (json.to_string().into_bytes(), Some(error))
        }
    };
    json.push(b'\n');
    Told {
        line: number,
        json,
        error,
    }
}

impl Outcome {
    /// Writes what became of questions, and counts them.
    fn add(&mut self, told: Vec<Told>, out: &mut impl Write) -> io::Result<()> {
        for told in told {
            out.write_all(&told.json)?;
            self.questions += 1;
            if let Some(error) = told.error {
                self.unanswered += 1;
                self.first.get_or_insert((told.line, error));
            }
        }
        // Who asks through a pipe may wait for these answers before the next question.
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Doubles the number that is a line.
    fn doubled(input: &[u8], threads: usize) -> (Vec<Value>, Outcome) {
        let mut out = Vec::new();
        let lines = Lines::new(input);
        let threads = NonZeroUsize::new(threads).unwrap();
        let answer = |json: &[u8]| {
            let number: u64 = parsed(json, "a number")?;
            Ok(json!({ "double": number * 2 }))
        };
        let outcome = answer_lines(lines, &mut out, threads, answer).unwrap();
        let out = String::from_utf8(out).unwrap();
        let answers = out.lines().map(|line| serde_json::from_str(line).unwrap());
        (answers.collect(), outcome)
    }

    #[test]
    fn answers_come_in_the_order_of_the_lines() {
        let input: Vec<String> = (0..500).map(|number| number.to_string()).collect();
        let expected: Vec<Value> = (0..500)
            .map(|number| json!({ "line": number + 1, "double": number * 2 }))
            .collect();
        for threads in [1, 2, 7] {
            let (answers, outcome) = doubled(input.join("\n").as_bytes(), threads);
            assert_eq!(answers, expected);
            assert_eq!((outcome.questions, outcome.unanswered), (500, 0));
        }
    }

    #[test]
    fn a_line_that_is_no_question_has_its_error_in_its_place() {
        let (answers, outcome) = doubled(b"\xEF\xBB\xBF1\r\n\n  \nsix\n\xFF\n3", 2);
        let lines: Vec<&Value> = answers.iter().map(|answer| &answer["line"]).collect();
        assert_eq!(lines, [1, 4, 5, 6]);
        assert_eq!(answers[0]["double"], 2);
        let error = answers[1]["error"].as_str().unwrap();
        assert!(
            error.starts_with("a question looks like a number: "),
            "{error}"
        );
        assert!(answers[2]["error"].is_string());
        assert_eq!(answers[3]["double"], 6);
        assert_eq!((outcome.questions, outcome.unanswered), (4, 2));
        assert_eq!(outcome.first, Some((4, error.to_owned())));
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_memory_than_the_longest() {
        let mut input = vec![b'1'; MAX_LINE + 2];
        input.extend(b"\n2\n");
        let (answers, _) = doubled(&input, 1);
        assert_eq!(
            answers[0],
            json!({ "line": 1, "error": "the line is longer than 16 MiB" })
        );
        assert_eq!(answers[1], json!({ "line": 2, "double": 4 }));
    }

    #[test]
    fn short_questions_are_taken_many_at_a_time_and_long_ones_alone() {
        let mut n = 1;
        for _ in 0..20 {
            n = next_at_a_time(n, Duration::from_micros(10));
        }
        assert_eq!(n, MOST_AT_A_TIME);
        for _ in 0..20 {
            n = next_at_a_time(n, Duration::from_secs(1));
        }
        assert_eq!(n, 1);
    }

    #[test]
    fn an_answer_is_told_before_the_next_question_comes() {
        /// A pipe whose other end asks once the last answer has come.
        struct Dialogue<'a> {
            n_answered: &'a std::sync::Mutex<usize>,
            n_asked: usize,
        }
        impl Read for Dialogue<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                while *self.n_answered.lock().unwrap() < self.n_asked {
                    std::thread::yield_now();
                }
                if self.n_asked == 5 {
                    return Ok(0);
                }
                self.n_asked += 1;
                buffer[..2].copy_from_slice(b"1\n");
                Ok(2)
            }
        }
        /// The end that it is answered through.
        struct Answers<'a>(&'a std::sync::Mutex<usize>);
        impl Write for Answers<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                *self.0.lock().unwrap() += 1;
                Ok(())
            }
        }
        let n_answered = std::sync::Mutex::new(0);
        let dialogue = Dialogue {
            n_answered: &n_answered,
            n_asked: 0,
        };
        let lines = Lines::new(dialogue);
        let threads = NonZeroUsize::new(2).unwrap();
        let answer = |_: &[u8]| Ok(json!({}));
        let outcome = answer_lines(lines, &mut Answers(&n_answered), threads, answer).unwrap();
        assert_eq!(outcome.questions, 5);
    }
}
