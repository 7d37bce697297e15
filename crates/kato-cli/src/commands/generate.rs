//! The command `kato generate`: continues a text with what a trained knowledge base learned, with
//! the origin of every word.
//!
//! ```text
//! kato generate --kb my-kb --text "The cat sat"
//! kato generate --kb my-kb --text "The cat sat" --explain
//! kato generate --kb my-kb --text "The" --strategy sample --seed 7 --bridge
//! ```

use anyhow::Result;
use clap::{ArgMatches, ValueEnum};
use kato_hierarchy::head::{WriteOptions, WriteStrategy};
use kato_hierarchy::{GenerationOptions, HeadOptions, Strategy};

use crate::byte_size::ByteSize;
use crate::exit::bail_as;
use crate::generation::GenerationView;
use crate::head::WritingView;
use crate::inspect::show;
use crate::knowledge_base::DirectoryArgs;
use crate::open::{open, open_head};
use crate::prediction::GenerationArgs;
use crate::unused::{Unused, unless_absent};

/// Continues a text with what a trained knowledge base learned; --explain tells where it is from.
///
/// Step by step the highest level of those whose patterns fit the text best says how it goes on, and
/// its future is unravelled to tokens. An empty answer is an answer: the last line tells why it
/// ended. Documents are told where training ran with --provenance.
///
/// With --json one object on standard output: text, whole_text, prompt_tokens, tokens, end,
/// patterns, milliseconds, and spans, each with text, tokens, level, node, pattern, fit, score,
/// n_choices, is_bridge, chain, parts, source and prediction. With --head: prompt_tokens, tokens
/// (token and probability of each, with --explain also explanation), text, whole_text and end.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    kb: DirectoryArgs,
    /// The text to continue.
    #[arg(long, value_name = "TEXT", alias = "prompt")]
    text: String,
    /// End after this many tokens.
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_tokens: usize,
    /// How one of several continuations is chosen.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Choose::Greedy)]
    strategy: Choose,
    /// Write by the probabilities of the next token; with greedy, sample and beam.
    #[arg(long, conflicts_with_all = ["level", "bridge", "kato"])]
    head: bool,
    /// Draw from the most probable tokens that together have this probability, for --head with
    /// sample.
    #[arg(long, value_name = "P", default_value_t = 1.0)]
    top_p: f64,
    /// Draw from this many, for top-n; 1 to 1000. From more than 10 the search is that much wider.
    #[arg(long = "top-k", alias = "top", value_name = "N", default_value_t = 3)]
    top: usize,
    /// Heat, for sample: the lower, the more often the best.
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    temperature: f64,
    /// Sequences that are followed, for beam; 1 to 1000.
    #[arg(long, value_name = "N", default_value_t = 5)]
    width: usize,
    /// Seed of the draws, for top-n and sample; the same seed gives the same text.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Take futures of this level only, counted from 0. Default: the highest of those that fit
    /// the text best.
    #[arg(long, value_name = "N")]
    level: Option<usize>,
    /// Go on where what was learned ends, from patterns that hold the last tokens somewhere.
    #[arg(long)]
    bridge: bool,
    /// End after this text; can be given several times.
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    #[command(flatten)]
    generation: GenerationArgs,
    /// Memory for what is loaded, such as 1GiB. Where the patterns need more, the index is written
    /// first and asked instead of them. The answers are the same. Not with --head.
    #[arg(long, value_name = "SIZE", conflicts_with = "head", value_parser = crate::byte_size::memory)]
    memory: Option<ByteSize>,
    /// Tell of every span which patterns and documents it is from; with --head, of every token.
    #[arg(long)]
    explain: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Choose {
    /// The best.
    Greedy,
    /// One of the best, each as likely.
    TopN,
    /// Any of the 10 best, with --head any, the better the likelier.
    Sample,
    /// The best sequence of several that are followed.
    Beam,
}

/// Finds options that the strategy does not use.
pub(crate) fn unused(matches: &ArgMatches) -> Option<Unused> {
    use Choose::{Beam, Sample, TopN};
    let chosen = *matches.get_one::<Choose>("strategy")?;
    let (is_drawn, is_sampled) = (matches!(chosen, TopN | Sample), matches!(chosen, Sample));
    let is_of_head = is_sampled && matches.get_flag("head");
    let options = [
        ("top", matches!(chosen, TopN), "top-n"),
        ("temperature", is_sampled, "sample"),
        ("top_p", is_of_head, "sample with --head"),
        ("width", matches!(chosen, Beam), "beam"),
        ("seed", is_drawn, "top-n or sample"),
    ];
    let mut unused = options.into_iter().filter(|(_, is_used, _)| !is_used);
    unused.find_map(|(id, _, strategy)| {
        unless_absent(matches, id, format_args!("it is for --strategy {strategy}"))
    })
}

/// Generates a text and shows it.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.head {
        return write(args);
    }
    let seed = args.seed;
    let mut options = GenerationOptions::default()
        .with_max_tokens(args.max_tokens)
        .with_strategy(match args.strategy {
            Choose::Greedy => Strategy::Greedy,
            Choose::TopN => Strategy::TopN { n: args.top, seed },
            Choose::Sample => Strategy::Sample {
                temperature: args.temperature,
                seed,
            },
            Choose::Beam => Strategy::Beam { width: args.width },
        });
    options.level = args.level;
    options.bridges = args.bridge;
    options.stop.clone_from(&args.stop);
    let hierarchy = open(&args.kb, args.memory, args.generation.kato)?;
    let view = GenerationView::of(&hierarchy, &args.text, &options, args.explain)?;
    show(&view, args.json)
}

/// Writes a text by the head and shows it.
fn write(args: &Args) -> Result<()> {
    let mut options = WriteOptions::default()
        .with_max_tokens(args.max_tokens)
        .with_strategy(match args.strategy {
            Choose::Greedy => WriteStrategy::Greedy,
            Choose::TopN => bail_as!(Usage, "--head draws with --strategy sample, not top-n"),
            Choose::Sample => WriteStrategy::Sample {
                temperature: args.temperature,
                top_p: args.top_p,
                seed: args.seed,
            },
            Choose::Beam => WriteStrategy::Beam { width: args.width },
        });
    options.stop.clone_from(&args.stop);
    options.explain = args.explain;
    let head = open_head(&args.kb, HeadOptions::default())?;
    let writing = head.write(args.text.as_str(), &options)?;
    show(&WritingView(writing), args.json)
}
