//! Forcing and curriculum.

use kato_gradient::curriculum::{Curriculum, CurriculumSettings, Phase};
use kato_gradient::forcing::{Forcing, ForcingSettings};

#[test]
fn the_default_curriculum_is_the_planned_one() {
    let curriculum = Curriculum::new(CurriculumSettings::default()).unwrap();
    let at = |epoch: f64| {
        let stage = curriculum.at(epoch);
        // Forcing to nine digits: a sum of two products is rounded.
        let forcing = (stage.forcing * 1e9).round() / 1e9;
        (stage.phase, stage.max_length, stage.rate_factor, forcing)
    };
    assert_eq!(at(0.0), (0, 20, 1.0, 0.9));
    assert_eq!(at(5.0), (0, 20, 1.0, 0.8));
    assert_eq!(at(9.5), (0, 20, 1.0, 0.71));
    assert_eq!(at(10.0), (1, 35, 0.8, 0.7));
    assert_eq!(at(24.0), (1, 35, 0.8, 0.326_666_667));
    assert_eq!(at(25.0), (2, 50, 0.6, 0.3));
    assert_eq!(at(37.5), (2, 50, 0.6, 0.2));
    assert_eq!(at(50.0), (2, 50, 0.6, 0.1));
    assert_eq!(at(1e6), at(50.0));
    assert_eq!(at(f64::NAN), at(0.0));
    assert_eq!(curriculum.n_epochs(), 50.0);
}

#[test]
fn forcing_never_falls_below_the_floor() {
    let phases = vec![Phase::new(10.0, 20).with_forcing(0.5, 0.0)];
    let curriculum = Curriculum::new(CurriculumSettings::new(phases)).unwrap();
    assert_eq!(curriculum.at(9.9).forcing, 0.05);
}

#[test]
fn the_decays_are_those_of_their_source() {
    let ratio = |settings, position| Forcing::new(settings).unwrap().ratio(position);
    assert_eq!(
        ratio(ForcingSettings::Exponential { base: 0.5 }, 3.0),
        0.125
    );
    let sigmoid = ForcingSettings::InverseSigmoid { k: 10.0 };
    assert_eq!(ratio(sigmoid, 0.0), 10.0 / 11.0);
    // Half where exp(i/k) is k: at 10·ln 10.
    assert!((ratio(sigmoid, 10.0 * 10.0_f64.ln()) - 0.5).abs() < 1e-12);
    assert_eq!(ratio(sigmoid, 1e9), 0.0);
}
