//! A table of runs that can be done and runs that cannot: each is answered.

use kato_planner::catalogue::Rented;
use kato_planner::recommend::{Change, Fulfilment, Recommendation, Resource, Tenure};
use kato_planner::{Catalogue, Interval, Requirements, RunCosts, recommend};
use proptest::prelude::*;

const GB: f64 = 1e9;

/// A run of so many core hours that leaves so many GB.
fn costs(core_hours: f64, gb: f64) -> RunCosts {
    RunCosts::new(
        Interval::around(core_hours * 3600.0, 0.1),
        Interval::around(gb * GB, 0.05),
    )
}

fn ask(costs: &RunCosts, wanted: Requirements) -> Recommendation {
    recommend(costs, &wanted, &Catalogue::builtin()).unwrap()
}

/// What is expected: the verdict of the first machine, what bounds it, and words of the answer.
struct Case(
    &'static str,
    RunCosts,
    Requirements,
    Fulfilment,
    Resource,
    &'static str,
);

#[test]
fn thirty_runs_are_answered() {
    use Fulfilment::{DoesNot, Probably, Surely};
    use Resource::{Disk, Fixed, Processor, Reader};
    let any = Requirements::new;
    let nothing = Interval::exact(0.0);
    let reads = |hours: f64| Interval::around(hours * 3600.0, 0.1);
    let cases = [
        Case(
            "a small run, no wishes",
            costs(1.0, 1.0),
            any(),
            Surely,
            Processor,
            "c3-standard-4",
        ),
        Case(
            "nothing at all",
            RunCosts::new(nothing, nothing),
            any(),
            Surely,
            Processor,
            "0.0 s",
        ),
        Case(
            "a day is plenty",
            costs(10.0, 50.0),
            any().with_hours(24.0),
            Surely,
            Processor,
            "c3-standard-4",
        ),
        Case(
            "an hour needs more threads",
            costs(10.0, 50.0),
            any().with_hours(1.0),
            Surely,
            Processor,
            "F32s_v2: does it; 21 min",
        ),
        Case(
            "only just, as expected",
            costs(40.0, 50.0),
            any().with_hours(0.9),
            Probably,
            Processor,
            "probably",
        ),
        Case(
            "too late anywhere",
            costs(1e4, 100.0),
            any().with_hours(1.0),
            DoesNot,
            Processor,
            "instead, on",
        ),
        Case(
            "no time at all",
            costs(1.0, 1.0),
            any().with_hours(0.0),
            DoesNot,
            Processor,
            "nothing does it",
        ),
        Case(
            "a tiny deadline",
            costs(1.0, 1.0),
            any().with_hours(1e-9),
            DoesNot,
            Processor,
            "nothing does it",
        ),
        Case(
            "cheap enough",
            costs(10.0, 50.0),
            any().with_budget(10.0),
            Surely,
            Processor,
            "USD",
        ),
        Case(
            "no money",
            costs(10.0, 50.0),
            any().with_budget(0.0),
            DoesNot,
            Processor,
            "USD instead, for",
        ),
        Case(
            "little money, much time",
            costs(100.0, 50.0),
            any().with_budget(10.0),
            Surely,
            Processor,
            "GCP",
        ),
        Case(
            "little money, little time",
            costs(1e3, 50.0),
            any().with_budget(5.0).with_hours(10.0),
            DoesNot,
            Processor,
            "% of the corpus",
        ),
        Case(
            "bought, no wishes",
            costs(10.0, 50.0),
            any().with_place(Tenure::Bought),
            Surely,
            Processor,
            "7900X",
        ),
        Case(
            "bought, in time",
            costs(1e3, 50.0),
            any().with_place(Tenure::Bought).with_hours(48.0),
            Surely,
            Processor,
            "GB disk",
        ),
        Case(
            "bought, too dear",
            costs(10.0, 50.0),
            any().with_place(Tenure::Bought).with_budget(100.0),
            DoesNot,
            Processor,
            "1176.00 USD instead",
        ),
        Case(
            "bought, a petabyte",
            costs(10.0, 1e6),
            any().with_place(Tenure::Bought),
            DoesNot,
            Disk,
            "GB of disk",
        ),
        Case(
            "rented, a terabyte and a half",
            costs(10.0, 1500.0),
            any().with_place(Tenure::Rented),
            Surely,
            Processor,
            "c7i.16xlarge",
        ),
        Case(
            "rented, ten terabytes",
            costs(10.0, 1e4),
            any().with_place(Tenure::Rented),
            DoesNot,
            Processor,
            "a disk of 11667 GB",
        ),
        Case(
            "ten terabytes, bought",
            costs(10.0, 1e4),
            any(),
            Surely,
            Processor,
            "16000 GB disk",
        ),
        Case(
            "memory for a small machine",
            costs(10.0, 1.0).with_memory(Interval::exact(15e9), nothing),
            any(),
            Surely,
            Processor,
            "c3-standard-4",
        ),
        Case(
            "memory for a large one",
            costs(10.0, 1.0).with_memory(Interval::exact(120e9), nothing),
            any().with_place(Tenure::Rented),
            Surely,
            Processor,
            "of memory",
        ),
        Case(
            "more than 512 GB",
            costs(10.0, 1.0).with_memory(Interval::exact(600e9), nothing),
            any(),
            Surely,
            Processor,
            "1024 GB",
        ),
        Case(
            "more memory than there is",
            costs(10.0, 1.0).with_memory(Interval::exact(1e13), nothing),
            any(),
            DoesNot,
            Processor,
            "10000.0 GB of memory",
        ),
        Case(
            "memory a worker",
            costs(10.0, 1.0).with_memory(Interval::exact(1e9), Interval::exact(4e9)),
            any(),
            Surely,
            Processor,
            "c3-standard-4",
        ),
        Case(
            "bound by reading",
            costs(1.0, 1.0).with_reader_seconds(reads(5.0)),
            any(),
            Surely,
            Reader,
            "the thread that reads",
        ),
        Case(
            "reading takes too long",
            costs(1.0, 1.0).with_reader_seconds(reads(5.0)),
            any().with_hours(2.0),
            DoesNot,
            Reader,
            "3 runs at once",
        ),
        Case(
            "bound by the disk",
            costs(1.0, 100.0).with_written_bytes(Interval::exact(1e17)),
            any().with_place(Tenure::Bought),
            Surely,
            Disk,
            "its disk",
        ),
        Case(
            "bound by what is fixed",
            costs(0.001, 1.0).with_fixed_seconds(reads(1.0)),
            any(),
            Surely,
            Fixed,
            "no machine makes shorter",
        ),
        Case(
            "fixed takes too long",
            costs(0.001, 1.0).with_fixed_seconds(reads(3.0)),
            any().with_hours(2.0),
            DoesNot,
            Fixed,
            "instead, on",
        ),
        Case(
            "larger than anything",
            costs(1e12, 1e9),
            any().with_hours(24.0).with_budget(1e4),
            DoesNot,
            Processor,
            "nothing does it",
        ),
    ];
    assert_eq!(cases.len(), 30);
    let mut failed = Vec::new();
    for Case(name, costs, wanted, verdict, bound_by, words) in cases {
        let answer = ask(&costs, wanted);
        let text = answer.to_string();
        let best = &answer.options[0];
        let is_right = (best.verdict, best.bound_by) == (verdict, bound_by)
            && text.contains(words)
            && answer.changes.is_empty() == (verdict != Fulfilment::DoesNot)
            && !text.contains("NaN")
            && !text.contains("inf");
        if !is_right {
            let lines = text.lines().take(2).chain(
                text.lines()
                    .skip_while(|line| !line.contains("nothing does it")),
            );
            failed.push(format!(
                "{name}: {:?}\n{}",
                best,
                lines.collect::<Vec<_>>().join("\n")
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn what_would_have_to_change_makes_the_run_possible() {
    let long = costs(1e3, 50.0);
    let wanted = Requirements::new().with_hours(2.0).with_budget(20.0);
    // Neither more time nor more money alone is enough.
    let longer = long.with_fixed_seconds(Interval::exact(3.0 * 3600.0));
    let nothing = Requirements::new().with_hours(1e-3).with_budget(0.0);
    for (run, wanted) in [(long, wanted), (longer, nothing)] {
        let answer = ask(&run, wanted);
        assert!(!answer.changes.is_empty(), "{answer}");
        assert!(answer.to_string().contains("nothing does it; one of these"));
        for change in &answer.changes {
            let changed = match change {
                Change::Hours { hours, .. } => ask(&run, wanted.with_hours(hours * 1.001)),
                Change::Budget { usd, .. } => ask(&run, wanted.with_budget(usd * 1.001)),
                Change::HoursAndBudget { hours, usd, .. } => {
                    let wanted = wanted.with_hours(hours * 1.001);
                    ask(&run, wanted.with_budget(usd * 1.001))
                }
                Change::Share { share, .. } => {
                    ask(&costs(1e3 * share * 0.999, 50.0 * share), wanted)
                }
                Change::Machine {
                    threads,
                    memory_gb,
                    disk_gb,
                    ..
                } => {
                    let machine = Rented::owned(
                        "theirs",
                        threads.unwrap() as u64,
                        *memory_gb * 1.001,
                        *disk_gb * 1.001,
                    );
                    let mine = Catalogue::builtin().with_machine(machine);
                    recommend(&run, &wanted, &mine).unwrap()
                }
                _ => continue,
            };
            assert_ne!(
                changed.options[0].verdict,
                Fulfilment::DoesNot,
                "{change}\n{changed}"
            );
        }
    }
}

#[test]
fn the_machine_that_is_there_is_always_among_the_answers() {
    let here = Rented::owned("this machine", 2, 8.0, 100.0)
        .with_speed(1.0)
        .with_disk_rate(1500.0);
    let catalogue = Catalogue::builtin().with_machine(here);
    let wanted = Requirements::new()
        .with_place(Tenure::Bought)
        .with_hours(10.0);
    let answer = recommend(&costs(2.0, 10.0), &wanted, &catalogue).unwrap();
    let best = &answer.options[0];
    assert_eq!(
        (best.machine.as_str(), best.usd.value),
        ("this machine", 0.0)
    );
    // Of its cores everything is known but how much they slow each other down.
    assert!(best.hours.high / best.hours.low < 2.0, "{:?}", best.hours);
}

#[test]
fn room_that_is_not_known_is_taken_to_be_enough_and_told_as_unknown() {
    let here = Rented::owned("this machine", 2, None::<f64>, None::<f64>).with_speed(1.0);
    let catalogue = Catalogue::of_machine(here);
    let answer = recommend(&costs(1.0, 1e9), &Requirements::new(), &catalogue).unwrap();
    let best = &answer.options[0];
    assert_eq!((best.memory_gb, best.disk_gb), (None, None));
    assert_eq!(best.verdict, Fulfilment::Surely, "{best:?}");
}

#[test]
fn a_catalogue_without_machines_has_an_answer() {
    let text = "schema = 1\ndate = \"2026-11\"\nsource = \"nothing\"";
    let catalogue = Catalogue::from_toml(text).unwrap();
    let answer = recommend(
        &costs(1.0, 1.0),
        &Requirements::new().with_hours(1.0),
        &catalogue,
    )
    .unwrap();
    assert!(answer.options.is_empty());
    assert!(
        matches!(answer.changes[..], [Change::Machine { .. }]),
        "{answer}"
    );
}

#[test]
fn numbers_that_are_none_are_refused() {
    let catalogue = Catalogue::builtin();
    let bad = RunCosts::new(Interval::exact(f64::NAN), Interval::exact(1.0));
    assert!(recommend(&bad, &Requirements::new(), &catalogue).is_err());
    let run = costs(1.0, 1.0);
    assert!(recommend(&run, &Requirements::new().with_hours(-1.0), &catalogue).is_err());
    assert!(
        recommend(
            &run,
            &Requirements::new().with_budget(f64::INFINITY),
            &catalogue
        )
        .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_request_panics_and_every_machine_is_told_in_numbers(
        core_hours in 0.0..1e15_f64, gb in 0.0..1e15_f64, memory in 0.0..1e15_f64,
        hours in proptest::option::of(0.0..1e9_f64), usd in proptest::option::of(0.0..1e9_f64),
    ) {
        let run = costs(core_hours, gb).with_memory(Interval::exact(memory), Interval::exact(memory / 8.0));
        let mut wanted = Requirements::new();
        wanted.hours = hours;
        wanted.budget_usd = usd;
        let answer = ask(&run, wanted);
        prop_assert_eq!(answer.options.len(), 20);
        for option in &answer.options {
            prop_assert!(option.hours.high.is_finite() && option.usd.high.is_finite());
            prop_assert!(option.hours.low <= option.hours.value && option.hours.value <= option.hours.high);
            prop_assert_eq!(option.shortfalls.is_empty(), option.verdict != Fulfilment::DoesNot);
        }
        let order: Vec<Fulfilment> = answer.options.iter().map(|option| option.verdict).collect();
        prop_assert!(order.is_sorted());
    }
}
