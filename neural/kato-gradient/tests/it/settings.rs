//! Settings as they stand in a file: short ones are enough, wrong ones are told.

use kato_gradient::curriculum::{Curriculum, CurriculumSettings};
use kato_gradient::forcing::{Forcing, ForcingSettings};
use kato_gradient::plateau::PlateauSettings;
use kato_gradient::sampler::{Bucketed, SamplerSettings, TokenBudget};
use kato_gradient::schedule::{CosineRestarts, Schedule};
use kato_gradient::stop::EarlyStopSettings;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Training {
    schedule: Schedule,
    plateau: PlateauSettings,
    stop: EarlyStopSettings,
    sampler: SamplerSettings,
    forcing: Forcing,
    curriculum: Curriculum,
}

#[test]
fn a_whole_file_is_read() {
    let training: Training = toml::from_str(
        r#"
        [schedule]
        kind = "cosine-restarts"
        base_rate = 2.5e-4
        first_cycle = 10 # epochs

        [plateau]
        goal = "max"
        patience = 4

        [stop]
        goal = "max"
        target = 0.95

        [sampler]
        kind = "bucketed"
        batch_size = 32

        [forcing]
        kind = "linear"
        start = 0.9
        end = 0.1
        length = 50

        [[curriculum.phases]]
        n_epochs = 10
        max_length = 20
        rate_factor = 1.0
        forcing_start = 0.9
        forcing_end = 0.7
        "#,
    )
    .unwrap();
    let wanted = Schedule::new(CosineRestarts::new(2.5e-4, 10.0)).unwrap();
    assert_eq!(training.schedule, wanted);
    assert_eq!(
        (training.plateau.patience, training.plateau.factor),
        (4, 0.1)
    );
    assert_eq!(
        (training.stop.target, training.stop.patience),
        (Some(0.95), 20)
    );
    assert_eq!(training.sampler, Bucketed::new(32).into());
    assert_eq!(training.forcing.ratio(25.0), 0.5);
    assert_eq!(training.curriculum.at(5.0).forcing, 0.8);
    assert_eq!(training.curriculum.settings().forcing_floor, 0.05);
}

fn refusal<'a, T: Deserialize<'a> + std::fmt::Debug>(text: &'a str) -> String {
    toml::from_str::<T>(text).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_in_a_file_is_named() {
    let told = refusal::<Schedule>("kind = \"constant\"\nrate = 0.1\nwarmup = 3");
    assert!(told.contains("warmup"), "{told}");
    let told = refusal::<Schedule>("kind = \"cosine\"\nrate = 0.1");
    assert!(told.contains("cosine-restarts"), "{told}");
    let told = refusal::<Schedule>("kind = \"polynomial\"\nbase_rate = 0.1\ntotal = -3");
    assert!(
        told.contains("total is -3; set it to a finite number above 0"),
        "{told}"
    );
    let told = refusal::<SamplerSettings>("kind = \"token-budget\"\nmax_token = 5");
    assert!(told.contains("max_tokens"), "{told}");
    let told = refusal::<Forcing>("kind = \"constant\"\nratio = 1.5");
    assert!(told.contains("ratio is 1.5"), "{told}");
    let told = refusal::<ForcingSettings>("kind = \"constant\"\nratio = 0.5\nend = 1");
    assert!(told.contains("end"), "{told}");
    let told = refusal::<Curriculum>("phases = []");
    assert!(told.contains("phases is empty"), "{told}");
}

#[test]
fn what_is_left_out_has_its_default() {
    let read: SamplerSettings = toml::from_str("kind = \"token-budget\"").unwrap();
    assert_eq!(read, TokenBudget::new(4096, 64).into());
    let read: CurriculumSettings = toml::from_str("").unwrap();
    assert_eq!(read, CurriculumSettings::default());
    assert_eq!(read.phases.len(), 3);
}
