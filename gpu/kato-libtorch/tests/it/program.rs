//! The program: what it measures and writes, and how it fails.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};

use kato_libtorch::{read_arrays, tch};

type Done = Result<(), Box<dyn Error>>;

fn run(arguments: &[&str]) -> std::io::Result<Output> {
    let program = env!("CARGO_BIN_EXE_kato-libtorch");
    Command::new(program)
        .args(["--device", "cpu", "--threads", "1"])
        .args(arguments)
        .output()
}

fn lines(output: &Output) -> Result<Vec<serde_json::Value>, Box<dyn Error>> {
    let text = std::str::from_utf8(&output.stdout)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

#[test]
fn golden_numbers_are_those_of_the_repository() -> Done {
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().to_str().ok_or("a path of text")?;
    assert!(run(&["golden", path])?.status.success());
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../neural/kato-poetry/tests/data/libtorch.safetensors");
    let (found, recorded) = (read_arrays(file.path())?, read_arrays(&recorded)?);
    assert!(!found.is_empty());
    for (name, tensor) in found {
        let other = recorded.get(&name).ok_or_else(|| format!("no {name}"))?;
        // Another processor adds in another order.
        let gap = (tensor - other).abs().max().double_value(&[]);
        assert!(gap < 1e-5, "{name} differs by {gap:e}");
    }
    Ok(())
}

#[test]
fn every_configuration_is_a_line_of_json() -> Done {
    let small =
        "measure autoencoder --width 6 --hidden 8 --code 3 --steps 4 --batches 2,3 --seconds 0.01";
    let output = run(&small.split(' ').collect::<Vec<_>>())?;
    let found = lines(&output)?;
    assert_eq!(found.len(), 4, "two batches, two feeds");
    assert!(
        found
            .iter()
            .all(|line| line["rate"].as_f64().is_some_and(|rate| rate > 0.0))
    );
    let small = "measure microbes --batch 2 --sequences 3 --length 6 --width 8 --heads 2 --layers 1 --seconds 0.01";
    let found = lines(&run(&small.split(' ').collect::<Vec<_>>())?)?;
    assert_eq!(
        found.len(),
        4,
        "two formats, with and without recomputation"
    );
    Ok(())
}

#[test]
fn what_cannot_be_done_is_said() -> Done {
    let output = run(&["steps", "/nowhere.safetensors"])?;
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr)?;
    assert!(text.contains("cannot read /nowhere.safetensors"), "{text}");
    if !tch::Cuda::is_available() {
        let output = Command::new(env!("CARGO_BIN_EXE_kato-libtorch"))
            .args(["measure", "microbes"])
            .output()?;
        let text = String::from_utf8(output.stderr)?;
        assert!(
            text.contains("no CUDA device") && text.contains("--device cpu"),
            "{text}"
        );
    }
    Ok(())
}
