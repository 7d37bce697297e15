//! Asks a knowledge base which token comes next, with which probability, and why.
//!
//! Run: `cargo run --release -p kato-examples --example next -- "Everything that" kato-kb`

use std::io::Write;
use std::process::ExitCode;

use kato::head::Expert;
use kato::head::explanation::{ExpertShare, Reason};
use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let text = ("[TEXT]", "what stands before; \"Everything that\"");
    run(
        &[text, ("[KB]", "a knowledge base that was trained; kato-kb")],
        next,
    )
}

fn next(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let text = arguments.or(0, "Everything that");
    // Counts the n-grams inside all patterns, once.
    let head = kato::open_head(arguments.or(1, "kato-kb"), HeadOptions::default())?;
    let next = head.next(text, 5)?;
    for token in &next {
        writeln!(out, "{:.4} {:?}", token.probability, token.text)?;
    }
    let Some(best) = next.first() else {
        return Ok(());
    };
    if let Some(why) = head.explain(text, &best.token)? {
        writeln!(
            out,
            "{:.4} of {:?} is the sum of",
            why.probability, best.text
        )?;
        for part in &why.parts {
            writeln!(out, "  {:.4} from {}", part.contribution, in_words(part))?;
        }
    }
    Ok(())
}

/// Says where a part of a probability comes from.
fn in_words(part: &ExpertShare) -> String {
    let from = match part.expert {
        Expert::Ngrams => "what was learned",
        Expert::CachedSymbols => "tokens that the text held before",
        Expert::RecentSymbols => "tokens that it held lately",
        Expert::FittingSymbols => "tokens that it held lately and that fit here",
        Expert::CachedPairs => "what followed the last token in the text",
        Expert::CachedTriples => "what followed the last two tokens in the text",
        _ => "elsewhere",
    };
    // The longest context says most of what was learned.
    let counted = match &part.reason {
        Reason::Ngrams { orders, .. } => orders.last().map(|order| {
            let (context, n, all) = (&order.context, order.count, order.total);
            format!(": {n} of the {all} counts after {context:?} are this token's")
        }),
        _ => None,
    };
    let (said, weight) = (part.probability, part.weight);
    format!(
        "{from}, which says {said:.4} and weighs {weight:.4}{}",
        counted.unwrap_or_default()
    )
}
