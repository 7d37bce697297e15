//! Records of training runs.

use kato_model::RunName;
use kato_service::{Service, ServiceError, ServiceOptions};
use serde_json::json;

#[test]
fn a_record_is_replaced_only_by_who_has_seen_it_and_outlives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let run: RunName = "wikitext".parse().unwrap();
    let open = || Service::open(dir.path(), ServiceOptions::default()).unwrap();
    for durable in [false, true] {
        let service = match durable {
            true => open(),
            false => Service::in_memory(ServiceOptions::default()),
        };
        assert_eq!(service.run_record(&run).unwrap(), None);
        assert_eq!(
            service
                .replace_run_record(&run, 0, json!({"n": 1}))
                .unwrap(),
            1
        );
        assert_eq!(
            service
                .replace_run_record(&run, 1, json!({"n": 2}))
                .unwrap(),
            2
        );
        for stale in [0, 1, 3] {
            let refused = service.replace_run_record(&run, stale, json!({"n": 9}));
            assert!(
                matches!(refused, Err(ServiceError::RunReplaced { found: 2, .. })),
                "{refused:?}"
            );
        }
        let found = service.run_record(&run).unwrap().unwrap();
        assert_eq!((found.version, found.record), (2, json!({"n": 2})));
        let other: RunName = "other".parse().unwrap();
        assert_eq!(service.run_record(&other).unwrap(), None);
        // As JSON it has two quotation marks as well.
        let text_of = |bytes: usize| json!("x".repeat(bytes - 2));
        let refused = service.replace_run_record(&run, 2, text_of((1 << 20) + 1));
        assert!(
            matches!(refused, Err(ServiceError::RunTooLarge { .. })),
            "{refused:?}"
        );
        let largest = service.replace_run_record(&other, 0, text_of(1 << 20));
        assert_eq!(largest.unwrap(), 1);
        // Without closing, as after a crash.
    }
    let found = open().run_record(&run).unwrap().unwrap();
    assert_eq!((found.version, found.record), (2, json!({"n": 2})));
}

#[test]
fn there_are_no_more_records_than_are_allowed_and_those_that_there_are_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let options = || ServiceOptions::default().with_max_runs(2);
    let open = || Service::open(dir.path(), options()).unwrap();
    let name = |name: &str| name.parse::<RunName>().unwrap();
    for is_durable in [false, true] {
        let service = match is_durable {
            true => open(),
            false => Service::in_memory(options()),
        };
        let replace =
            |run: &str, version| service.replace_run_record(&name(run), version, json!({}));
        assert_eq!(replace("first", 0).unwrap(), 1);
        assert_eq!(replace("second", 0).unwrap(), 1);
        assert!(matches!(
            replace("third", 0),
            Err(ServiceError::TooManyRuns { limit: 2 })
        ));
        assert_eq!(replace("first", 1).unwrap(), 2);
    }
    // They are counted anew.
    let third = open().replace_run_record(&name("third"), 0, json!({}));
    assert!(matches!(third, Err(ServiceError::TooManyRuns { .. })));
}
