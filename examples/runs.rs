//! Manages the runs of a folder: trains one, lists, clones, renames, exports, imports and deletes.
//!
//! Run: `cargo run --release -p kato-examples --example runs -- corpus.jsonl my-runs`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use kato::Training;
use kato::loader::StreamingDatasetLoader;
use kato::runs::Runs;
use kato_examples::{Arguments, Output, SOURCE, run, sources};

fn main() -> ExitCode {
    let folder = "where the runs lie afterwards; else a folder that goes away";
    run(&[SOURCE, ("[FOLDER]", folder)], manage)
}

fn manage(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = arguments
        .get(1)
        .map_or_else(|| temporary.path().join("runs"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let corpus = StreamingDatasetLoader::builder().with_inputs(sources(arguments.get(0)));
    Training::new(folder.join("first"))
        .with_corpus(corpus)
        .run()?;

    // All or nothing, each of them, also where the process dies in the middle.
    let runs = Runs::in_directory(&folder)?;
    let copy = runs.clone_run("first", &"copy".parse()?)?;
    writeln!(
        out,
        "cloned: {}, which shares the files of first",
        copy.in_words()
    )?;
    let renamed = runs.rename("copy", &"second".parse()?)?;
    writeln!(out, "renamed: {}, its id stays", renamed.in_words())?;

    // Patterns as lines of JSON, with a manifest and checksums.
    let archive = temporary.path().join("exported");
    runs.export("second", &archive)?;
    runs.delete("second")?;
    let imported = runs.import(&archive, Some(&"third".parse()?))?;
    writeln!(out, "imported: {}", imported.in_words())?;

    for run in runs.list()? {
        let (manifest, bytes) = (&run.manifest, run.disk_bytes.unwrap_or(0));
        let tokens = manifest
            .results
            .as_ref()
            .map_or(0, |results| results.tokens);
        let (name, state) = (&manifest.name, manifest.state.as_str());
        writeln!(out, "{name}: {state}, {tokens} tokens, {bytes} bytes")?;
    }
    runs.delete("third")?;
    writeln!(out, "deleted: third; {} left", runs.list()?.len())?;
    Ok(())
}
