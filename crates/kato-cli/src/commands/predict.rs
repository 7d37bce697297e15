//! The command `kato predict`: asks one node of a trained knowledge base what a text or a
//! short-term memory resembles, and what would come next.
//!
//! ```text
//! kato predict --kb my-kb --text "The cat sat"
//! kato predict --kb my-kb --batch questions.jsonl
//! kato predict --kb my-kb --node node0 --stm '[["The"],["Ġcat"]]' --json
//! ```

use std::path::PathBuf;

use anyhow::Result;
use clap::ArgGroup;

use crate::batch::Batch;
use crate::byte_size::ByteSize;
use crate::inspect::show;
use crate::knowledge_base::DirectoryArgs;
use crate::open::open;
use crate::prediction::{GenerationArgs, PredictionView, Question, configured};

/// Asks one node of a trained knowledge base what a text or a short-term memory resembles, and what
/// would come next.
///
/// A text is cut into chunks and taken up through the levels as training did; the node is asked in
/// the state it is in then: its last chunk, complete or begun, of tokens on level 0 and of names
/// above. --stm asks for any state.
///
/// With --json one object on standard output: node, patterns, generation, state, milliseconds, and
/// KATO's predictions and future_potentials. With --batch one for each question, in their order, with
/// line, the number of its line; where there is no answer, line and error.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("question").required(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Node to ask.
    #[arg(long, value_name = "NAME", default_value = "node0")]
    node: String,
    /// Text that leads to the state.
    #[arg(long, group = "question")]
    text: Option<String>,
    /// The state itself: a JSON list of events, each a list of symbols.
    #[arg(long, value_name = "JSON", group = "question")]
    stm: Option<String>,
    /// Ask the questions of a file, one a line, on all cores: {"text": "The cat"} or {"stm":
    /// [["The"],["Ġcat"]]}. - is standard input. Answers are those of --json; the other options hold for all of them.
    #[arg(long, value_name = "FILE", group = "question")]
    batch: Option<PathBuf>,
    /// Ask with the end of the state alone: the last event, and more as long as all have at most this many symbols.
    #[arg(long = "max-symbols", alias = "window", value_name = "N")]
    window: Option<usize>,
    /// Session settings of KATO that predictions depend on, as a JSON object, such as {"recall_threshold": 0.3}.
    #[arg(long, value_name = "JSON")]
    config: Option<String>,
    #[command(flatten)]
    generation: GenerationArgs,
    /// Memory for what is loaded, such as 1GiB. Where the patterns need more, the index is written
    /// first and asked instead of them. The answers are the same.
    #[arg(long, value_name = "SIZE", value_parser = crate::byte_size::memory)]
    memory: Option<ByteSize>,
    /// Show this many predictions and futures. Default: 10, and all with --json or --batch. Of predictions there
    /// are 100 at most, or as many as max_predictions of --config says.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Asks the node and shows its answer.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Opened first, as a wrong name should not wait for the knowledge base.
    let batch = args.batch.as_deref().map(Batch::open).transpose()?;
    let generation = args.generation.kato;
    let mut hierarchy = open(&args.kb, args.memory, generation)?;
    let node = hierarchy.engine().node(&args.node)?;
    if let Some(changes) = &args.config {
        let level = node.node_idx();
        let base = hierarchy.config(level).cloned().unwrap_or_default();
        hierarchy = hierarchy.with_config(level, configured(&base, changes, generation)?)?;
    }
    // Programs get everything; people read a screen.
    let for_people = !args.json && batch.is_none();
    let default = if for_people { 10 } else { usize::MAX };
    let cut = (args.window, args.limit.unwrap_or(default));
    let view = |question| PredictionView::of(&hierarchy, &node, question, cut, for_people);
    if let Some(batch) = batch {
        return batch.answer(Question::FORM, view);
    }
    // The parser takes exactly one of the three.
    let question = match &args.stm {
        Some(json) => Question::of_stm(json)?,
        None => Question::Text(args.text.clone().unwrap_or_default()),
    };
    show(&view(question)?, args.json)
}
