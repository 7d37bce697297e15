//! The course of a pre-training, for other programs.

use std::fs;

use kato_microbes::Run;
use serde_json::Value;

use crate::support::{Done, distances, settings, target, train};

#[test]
fn a_course_has_every_step_of_its_run() -> Done {
    let settings = settings("")?;
    let folder = tempfile::tempdir()?;
    let [run, course] = ["run", "course"].map(|name| folder.path().join(name));
    let n_steps = Run::create(&run, settings.clone(), distances(&settings)?, None)?.n_steps()?;
    Run::write_course(&run, &course)?;
    let read = |name: &str| -> Result<Vec<Value>, Box<dyn std::error::Error>> {
        let text = fs::read_to_string(course.join(name))?;
        Ok(text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?)
    };
    let steps = read("steps.jsonl")?;
    assert_eq!(steps.len() as u64, n_steps);
    assert!(course.join("weights.safetensors").exists());
    for step in &steps {
        assert_eq!(step["rate"], 0.003);
        let n = |name: &str| step[name].as_array().map_or(0, Vec::len);
        let n_samples = n("lengths");
        assert_eq!(n("distances"), n_samples * (n_samples - 1) / 2);
        assert_eq!(
            n("places") as u64,
            n_samples as u64 * step["n_rows"].as_u64().unwrap_or(0)
        );
    }
    let judged: usize = read("validation.jsonl")?
        .iter()
        .map(|batch| batch["lengths"].as_array().map_or(0, Vec::len))
        .sum();
    let truth = read("distances.json")?.remove(0);
    let n_pairs = truth.as_array().map_or(0, Vec::len);
    assert!(judged > 1 && n_pairs == judged * (judged - 1) / 2);
    // The run is as if nobody had asked.
    let mut run = Run::open(&run)?;
    assert_eq!(train(&mut run, u64::MAX)?.n_steps, n_steps);
    Ok(())
}

#[test]
fn only_a_pre_training_has_a_course() -> Done {
    let settings = settings("")?;
    let folder = tempfile::tempdir()?;
    let run = folder.path().join("run");
    Run::create(&run, settings.clone(), target(&settings, "single")?, None)?;
    let error = Run::write_course(&run, &folder.path().join("course")).unwrap_err();
    assert!(error.to_string().contains("pretrain"), "{error}");
    Ok(())
}
