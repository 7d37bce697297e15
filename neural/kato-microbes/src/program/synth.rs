//! `synth`: a community that is made.

use kato_advice::counted;
use kato_microbes::synth::SynthOptions;
use kato_neural::program::{CommandFailure, say, say_json};

use super::cli::SynthArguments;

/// Makes a community and writes its files.
pub(crate) fn synth(arguments: &SynthArguments) -> Result<(), CommandFailure> {
    let mut options = SynthOptions::default()
        .with_size(arguments.samples, arguments.sequences)
        .with_length(arguments.length)
        .with_depth(arguments.depth)
        .with_seed(arguments.seed);
    options.effect = arguments.effect;
    options.prevalence = arguments.prevalence;
    options.offset = arguments.offset;
    options.fasta.clone_from(&arguments.fasta);
    options.tree.clone_from(&arguments.tree);
    // What another synth has made has its truth beside it.
    let at = |name| arguments.out.join(name);
    let of_the_user = ["table.biom", "tree.nwk", "metadata.tsv"].map(at);
    if let (false, Some(taken)) = (
        at("truth.json").exists(),
        of_the_user.iter().find(|path| path.exists()),
    ) {
        return Err(CommandFailure::taken(format!(
            "`{}` is there and was not made by `synth`; name another folder",
            taken.display()
        )));
    }
    let made = kato_microbes::synth::synth(&options)?;
    made.write(&arguments.out)?;
    let (n_clade, n_single) = (made.truth.clade.len(), made.truth.single.len());
    let (n_samples, n_features) = (made.table.n_samples(), made.table.n_features());
    if arguments.output.json {
        return say_json(&serde_json::json!({
            "folder": arguments.out, "samples": n_samples, "sequences": n_features,
            "clade": n_clade, "single": n_single,
        }));
    }
    say(format_args!(
        "{} of {} in {}; `deep` moves {n_clade} of them, `single` {n_single}",
        counted(n_samples, "sample"),
        counted(n_features, "sequence"),
        arguments.out.display()
    ))?;
    let folder = arguments.out.display();
    say(format_args!(
        "look at them with `kato-microbes check {folder}/table.biom --tree {folder}/tree.nwk --metadata {folder}/metadata.tsv --depth {}`",
        arguments.depth
    ))
}
