//! Successive halving finds what trying everything finds, in less time.

use kato_planner::PlanError;
use kato_planner::halving::{Criterion, Halving, MeasuredPart, Trial};
use kato_random::SplitMix64;

/// Draws from the normal distribution, by Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

fn trial(rate: f64, bits: f64) -> Trial {
    let measures = [("rate".to_owned(), rate), ("bits".to_owned(), bits)];
    Trial {
        measures: measures.into(),
        ..Trial::default()
    }
}

fn criteria() -> [Criterion; 2] {
    [
        Criterion::maximize("rate", 1.0),
        Criterion::minimize("bits", 2.0),
    ]
}

#[test]
fn the_best_of_a_hundred_is_found_in_a_third_of_the_time() {
    let n = 100;
    let mut found = 0;
    for seed in 0..10 {
        let mut random = SplitMix64::from_seed(seed);
        // Rates from 1 to 2, bits from 5 to 8; rates are measured within 3 %, and small shares make
        // bits worse, more so for some configurations than for others.
        let truths: Vec<(f64, f64, f64)> = (0..n)
            .map(|_| {
                (
                    1.0 + random.unit(),
                    5.0 + 3.0 * random.unit(),
                    0.1 * random.unit(),
                )
            })
            .collect();
        let score = |&(rate, bits, _): &(f64, f64, f64)| rate.ln() - 2.0 * f64::ln(bits);
        let best = (0..n)
            .max_by(|&a, &b| score(&truths[a]).total_cmp(&score(&truths[b])))
            .unwrap();
        let mut spent = 0.0;
        let halving = Halving::new(criteria()).with_seed(seed);
        let ranking = halving
            .run(n, |configuration, share, _| {
                spent += share;
                let (rate, bits, growth) = truths[configuration];
                let bits = bits * (1.0 + growth * (1.0 - share));
                Ok::<_, PlanError>(trial(rate * (0.03 * normal(&mut random)).exp(), bits))
            })
            .unwrap();
        let exhaustive = (n as u32 * halving.repeats) as f64;
        assert!(spent <= exhaustive / 3.0, "{spent} of {exhaustive}");
        assert_eq!(ranking.ranked.len(), n, "all are ranked");
        let first = ranking.ranked[0].configuration;
        // Within what noise does not tell apart.
        found += usize::from(first == best || score(&truths[best]) - score(&truths[first]) < 0.03);
    }
    assert!(found >= 9, "{found} of 10");
}

#[test]
fn how_far_trials_are_apart_is_taken_from_all_of_the_round() {
    // Twenty that differ by 20 % from trial to trial, but for the best and the fifth, whose two
    // trials happened to agree: the sixth cannot be told from the fifth all the same.
    let ranking = Halving::new([Criterion::maximize("rate", 1.0)])
        .with_rounds(2)
        .run(20, |configuration, _, repeat| {
            let rate = 2.0 * 0.97_f64.powi(configuration as i32);
            let noise = match configuration {
                0 | 4 | 5 => 1.0,
                _ if repeat == 0 => 1.1,
                _ => 0.9,
            };
            Ok::<_, PlanError>(trial(rate * noise, 5.0))
        })
        .unwrap();
    let of_round = |share: f64| ranking.ranked.iter().filter(move |one| one.share == share);
    assert!(of_round(1.0).count() > 5, "{ranking:?}");
    let errors: Vec<f64> = of_round(0.25).map(|one| one.error).collect();
    assert!(
        errors
            .iter()
            .all(|&error| error > 0.0 && error == errors[0])
    );
}

/// Bits of twenty parts of 50 tokens each.
fn asked(bits: impl Fn(usize) -> f64) -> Trial {
    let parts: Vec<MeasuredPart> = (0..20)
        .map(|at| MeasuredPart {
            weight: 50.0,
            sum: 50.0 * bits(at),
        })
        .collect();
    let mean = parts.iter().map(|part| part.sum).sum::<f64>() / 1_000.0;
    Trial {
        measures: [("bits".to_owned(), mean)].into(),
        parts: [("bits".to_owned(), parts)].into(),
    }
}

#[test]
fn what_all_find_hard_is_no_error_of_their_difference() {
    // Parts need 4 to 9 bits, by all alike; the second needs 1 % more of each, the third as many as
    // that on the whole, of which a part has more and another less than the first.
    let hard = |at: usize| 4.0 + 5.0 * (at % 7) as f64 / 6.0;
    let trials = [
        asked(hard),
        asked(|at| 1.01 * hard(at)),
        asked(|at| 1.01 * hard(at) + if at % 2 == 0 { 1.0 } else { -1.0 }),
    ];
    let halving = Halving::new([Criterion::minimize("bits", 1.0)]).with_rounds(1);
    let ranking = halving
        .run(trials.len(), |configuration, _, _| {
            Ok::<_, PlanError>(trials[configuration].clone())
        })
        .unwrap();
    let of = |configuration: usize| {
        let mut ranked = ranking.ranked.iter();
        let one = ranked.find(|one| one.configuration == configuration);
        one.unwrap().error
    };
    assert_eq!(of(0), 0.0);
    assert!(of(1) < 1e-9, "{}", of(1));
    // The standard error of a mean of 20 differences of 1 is 1/√19, of about 6.4 bits.
    let mean = trials[2].measures["bits"];
    let expected = 1.0 / 19_f64.sqrt() / mean;
    assert!((of(2) - expected).abs() < 0.05 * expected, "{}", of(2));
}

#[test]
fn what_questions_cannot_tell_from_the_last_of_the_quarter_goes_on() {
    // Twelve configurations, of which three are the quarter; the fourth is 1 % worse, for sure or not.
    let went_on = |differs: f64| {
        let halving = Halving::new([Criterion::minimize("bits", 1.0)]).with_rounds(2);
        let ranking = halving
            .run(12, |configuration, _, _| {
                Ok::<_, PlanError>(asked(|at| {
                    let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
                    let own = if configuration == 3 { differs } else { 0.0 };
                    6.0 * 1.01_f64.powi(configuration as i32) + own * sign
                }))
            })
            .unwrap();
        let last = ranking.ranked.iter().filter(|one| one.share == 1.0);
        last.count()
    };
    assert_eq!(went_on(0.0), 3);
    assert_eq!(went_on(1.0), 4);
}

#[test]
fn those_that_went_on_stand_first_and_the_front_is_of_the_last_round() {
    let truths = [
        (1.0, 8.0),
        (2.0, 6.0),
        (3.0, 6.5),
        (0.5, 5.9),
        (1.0, 9.0),
        (1.0, 9.5),
        (1.0, 9.7),
        (1.0, 9.9),
    ];
    let mut order = Vec::new();
    let ranking = Halving::new(criteria())
        .with_rounds(2)
        .with_repeats(1)
        .run(truths.len(), |configuration, share, repeat| {
            order.push((configuration, share, repeat));
            let (rate, bits) = truths[configuration];
            Ok::<_, PlanError>(trial(rate, bits))
        })
        .unwrap();
    let shares: Vec<f64> = ranking.ranked.iter().map(|one| one.share).collect();
    assert_eq!(shares, [1.0, 1.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]);
    assert_eq!(ranking.ranked[0].configuration, 2);
    assert_eq!(ranking.ranked[0].score, 1.0);
    assert!(ranking.ranked[0].is_on_front && ranking.ranked[1].is_on_front);
    assert!(!ranking.ranked[2].is_on_front);
    // One that was stopped is measured by the best of its round, which went on.
    assert_eq!(ranking.ranked[2].configuration, 0);
    let expected = (1.0 / 3.0 * (6.5_f64 / 8.0).powi(2)).cbrt();
    assert!(
        (ranking.ranked[2].score - expected).abs() < 1e-12,
        "{ranking:?}"
    );
    assert_eq!(order.len(), 10);
}

#[test]
fn equal_input_gives_equal_rankings_and_what_is_missing_comes_last() {
    let run = || {
        Halving::new(criteria())
            .with_rounds(1)
            .run(3, |configuration, _, _| {
                Ok::<_, PlanError>(match configuration {
                    0 => Trial::default(),
                    1 => trial(1.0, 5.0),
                    _ => trial(1.0, 4.0),
                })
            })
            .unwrap()
    };
    assert_eq!(run(), run());
    let order: Vec<usize> = run().ranked.iter().map(|one| one.configuration).collect();
    assert_eq!(order, [2, 1, 0]);
    assert_eq!(run().ranked[2].score, 0.0);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let try_it =
        |halving: &Halving, n| halving.run(n, |_, _, _| Ok::<_, PlanError>(Trial::default()));
    assert!(try_it(&Halving::new(criteria()), 0).is_err());
    assert!(try_it(&Halving::new(criteria()).with_rounds(0), 3).is_err());
    assert!(try_it(&Halving::new(criteria()).with_repeats(0), 3).is_err());
    assert!(try_it(&Halving::new([]), 3).is_err());
    assert!(try_it(&Halving::new([Criterion::maximize("x", f64::NAN)]), 3).is_err());
}
