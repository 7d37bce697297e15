//! Texts of the tests: real ones from `KATO_CORPUS_DIR`, tokenized once, and random ones.

use std::path::PathBuf;
use std::sync::OnceLock;

use kato_estimator::{
    Calibration, CorpusSample, EstimatedHierarchy, Figure, SampleBuilder, StorageEstimator, Target,
};
use kato_learner::segment::{ORIGINAL_MIN_PARAGRAPH_CHARS, Paragraphs};
use kato_random::SplitMix64;
use kato_tokenizer::{Tokenizer as _, gpt2};

/// A document: its text and the token ids of its paragraphs.
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) paragraphs: Vec<Vec<u32>>,
}

pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) documents: Vec<Document>,
}

/// The real texts, or `None`, told on the standard error, when there are none here.
pub(crate) fn real() -> Option<&'static [Corpus]> {
    static CORPORA: OnceLock<Option<Vec<Corpus>>> = OnceLock::new();
    let corpora = CORPORA.get_or_init(|| {
        let Some(dir) = std::env::var_os("KATO_CORPUS_DIR").map(PathBuf::from) else {
            eprintln!("skipped: KATO_CORPUS_DIR is not set");
            return None;
        };
        let read = |path: &str| std::fs::read_to_string(dir.join(path)).unwrap();
        let wiki = read("wikitext-2/valid.txt") + &read("wikitext-2/test.txt");
        let rows = wiki
            .lines()
            .filter(|row| row.trim().len() > 10)
            .map(str::to_owned);
        let shakespeare = read("tinyshakespeare.txt");
        Some(vec![
            tokenized("wikitext-2 rows", rows.collect()),
            tokenized("wikitext-2 articles", articles(&wiki)),
            tokenized(
                "tinyshakespeare",
                shakespeare.split("\n\n").map(str::to_owned).collect(),
            ),
        ])
    });
    corpora.as_deref()
}

/// Articles begin with a heading of one `=`; their rows are paragraphs.
fn articles(wiki: &str) -> Vec<String> {
    let mut articles: Vec<String> = Vec::new();
    for row in wiki.lines().map(str::trim) {
        let is_title = row.starts_with("= ") && !row.starts_with("= =");
        if is_title || articles.is_empty() {
            articles.push(String::new());
        }
        if let Some(article) = articles.last_mut() {
            article.push_str(row);
            article.push_str("\n\n");
        }
    }
    articles
}

pub(crate) fn tokenized(name: &'static str, texts: Vec<String>) -> Corpus {
    let tokenizer = gpt2();
    let documents = texts.into_iter().map(|text| {
        let paragraphs = Paragraphs::new(&text, ORIGINAL_MIN_PARAGRAPH_CHARS);
        let paragraphs = paragraphs.map(|paragraph| {
            let mut ids = Vec::new();
            tokenizer.encode_into(paragraph.text, &mut ids).unwrap();
            ids.truncate(2_048);
            ids
        });
        Document {
            paragraphs: paragraphs.collect(),
            text,
        }
    });
    Corpus {
        name,
        documents: documents.collect(),
    }
}

pub(crate) fn sample<'a>(
    hierarchy: &EstimatedHierarchy,
    documents: impl IntoIterator<Item = &'a Document>,
) -> CorpusSample {
    let mut builder = SampleBuilder::new(hierarchy.clone()).with_max_patterns(10_000_000);
    for document in documents {
        builder.add(&document.paragraphs, document.text.len() as u64);
    }
    builder.finish().unwrap()
}

/// Random choices by a seed.
pub(crate) struct Draws(SplitMix64);

impl Draws {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(SplitMix64::from_seed(seed))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// `n` of the documents, each at most once, in a random order.
    pub(crate) fn choose<'a, T>(&mut self, documents: &'a [T], n: usize) -> Vec<&'a T> {
        let mut all: Vec<&T> = documents.iter().collect();
        for at in 0..n.min(all.len()) {
            let other = at + self.below(all.len() - at);
            all.swap(at, other);
        }
        all.truncate(n);
        all
    }
}

/// A document of which no text is kept: its paragraphs and its bytes.
pub(crate) type Tokens<'a> = (&'a [Vec<u32>], u64);

/// What is estimated of a corpus from some of its documents, against the truth.
pub(crate) struct Found {
    /// The logarithm of the estimate over the truth.
    pub(crate) error: f64,
    /// The logarithm of the interval's upper end over the lower one.
    pub(crate) width: f64,
    pub(crate) holds: bool,
}

impl Found {
    /// Compares an estimate with the truth.
    pub(crate) fn of(estimate: &Figure, truth: f64) -> Self {
        Self {
            error: (estimate.value / truth).ln(),
            width: (estimate.high / estimate.low).ln(),
            holds: estimate.covers(truth),
        }
    }

    /// Estimates all documents, whose text is known in bytes, from `n` of them.
    pub(crate) fn from(
        hierarchy: &EstimatedHierarchy,
        documents: &[Tokens<'_>],
        n: usize,
        draws: &mut Draws,
    ) -> Self {
        let patterns = |documents: &[&Tokens<'_>], text_bytes: Option<u64>| -> Figure {
            let sample = SampleBuilder::new(hierarchy.clone());
            let mut sample = sample.with_windows(text_bytes.is_some());
            for (paragraphs, bytes) in documents {
                sample.add(paragraphs, *bytes);
            }
            let sample = sample.finish().unwrap();
            let target = Target::text_bytes(text_bytes.unwrap_or(sample.text_bytes));
            let estimator = StorageEstimator::builder();
            let estimator = estimator.with_calibration(Calibration::from_sample(&sample));
            let estimator = estimator.build().unwrap();
            estimator.estimate(target).unwrap().total_patterns
        };
        let truth = patterns(&documents.iter().collect::<Vec<_>>(), None).value;
        let text_bytes = documents.iter().map(|(_, bytes)| bytes).sum();
        Self::of(
            &patterns(&draws.choose(documents, n), Some(text_bytes)),
            truth,
        )
    }
}

/// Returns a logarithm of a ratio as a percentage.
pub(crate) fn percent(logarithm: f64) -> f64 {
    100.0 * logarithm.exp_m1()
}

/// Returns the median distance of values from 0.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().map(f64::abs).collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Prints the header of a table of what was found, by `what`.
pub(crate) fn print_header(what: &str) {
    println!(
        "\n| {what} | errors of distinct patterns, % | holds | median width |\n|---|---|--:|--:|"
    );
}

/// Prints a line of it.
pub(crate) fn print_found(name: &str, found: &[Found]) {
    let errors = found
        .iter()
        .map(|found| format!("{:+.0}", percent(found.error)));
    println!(
        "| {name} | {} | {} of {} | {:.0} % |",
        errors.collect::<Vec<_>>().join(" "),
        found.iter().filter(|found| found.holds).count(),
        found.len(),
        percent(median(found.iter().map(|found| found.width))),
    );
}
