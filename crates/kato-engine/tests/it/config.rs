//! Configuration: what is checked when, and what is not.

mod rules;

use kato_engine::SessionConfig;
use kato_engine::config::StmMode;
use kato_model::KatoGeneration::{V3_10, V6};
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use serde_json::{Value, json};

fn updated(changes: &Value) -> Result<SessionConfig, String> {
    let mut config = SessionConfig::default();
    let result = config.update(changes.as_object().unwrap(), V3_10);
    if result.is_err() {
        assert_eq!(config, SessionConfig::default(), "all or nothing");
    }
    result.map(|()| config).map_err(|error| error.to_string())
}

#[test]
fn an_update_reports_every_refused_key_and_changes_nothing() {
    let error =
        updated(&json!({"max_predictions": "x", "persistence": 0, "recall_threshold": 0.5}));
    assert_eq!(
        error.unwrap_err(),
        "configure a session: max_predictions: Must be an integer between 1 and 10000; \
         persistence: Must be an integer between 1 and 100"
    );
}

#[test]
fn an_update_takes_what_kato_does_not_check_and_predictions_cope() {
    let config = updated(&json!({
        "fuzzy_token_threshold": 7, "filter_pipeline": ["zzz", "length"], "length_min_ratio": -3, "minhash_bands": 0,
    }))
    .unwrap();
    let prediction = config.prediction();
    // An unknown stage does nothing; alone it selects no candidates, as `bloom` does.
    assert_eq!(prediction.filter_pipeline, [Filter::Bloom, Filter::Length]);
    assert_eq!(prediction.fuzzy_token_threshold, Some(7.0));
}

#[test]
fn an_update_checks_types_of_every_key() {
    for changes in [
        json!({"filter_pipeline": "length"}),
        json!({"filter_pipeline": [1]}),
        json!({"minhash_bands": "x"}),
        json!({"sort": 1}),
        json!({"process_predictions": 1}),
    ] {
        assert!(updated(&changes).is_err(), "{changes}");
    }
}

#[test]
fn null_unsets_what_can_be_unset() {
    let mut config =
        updated(&json!({"fuzzy_token_threshold": 0.5, "affinity_emotive": "joy"})).unwrap();
    let unset = json!({"fuzzy_token_threshold": null, "affinity_emotive": null});
    config.update(unset.as_object().unwrap(), V3_10).unwrap();
    assert_eq!(config, SessionConfig::default());
}

/// Settings of values that KATO takes for others, and what they count as.
#[test]
fn what_counts_as_something_else_is_answered_as_it_was_given() {
    let given = json!({
        "max_pattern_length": true, "persistence": true, "max_predictions": true,
        "fuzzy_token_threshold": true, "jaccard_min_overlap": 2.5, "minhash_rows": true,
        "sort_symbols": [], "enable_filter_metrics": "x", "affinity_emotive": 7,
    });
    for generation in [V3_10, V6] {
        let object = given.as_object().unwrap();
        let (config, error) = SessionConfig::at_creation(object, generation);
        assert_eq!(error, None);
        let settings = config.settings(generation);
        for (name, value) in object {
            assert_eq!(settings[name], *value, "{name}");
        }
        assert_eq!((config.max_pattern_length, config.max_predictions), (1, 1));
        assert_eq!(config.fuzzy_token_threshold, Some(1.0));
        // Two and a half symbols in common are three.
        assert_eq!(config.jaccard_min_overlap, 3);
        assert_eq!(config.affinity_emotive.as_deref(), Some("7"));
        assert!(!config.sort_symbols && config.enable_filter_metrics);
        // It is stored, and changes in place, too.
        let stored = serde_json::from_value::<SessionConfig>(json!(config)).unwrap();
        assert_eq!(stored.settings(generation), settings);
        let mut changed = SessionConfig::default();
        changed.update(object, generation).unwrap();
        assert_eq!(changed, config);
    }
}

#[test]
fn a_setting_that_is_set_again_is_answered_as_it_is() {
    let mut config = SessionConfig::default();
    let mut set = |changes: Value| {
        config.update(changes.as_object().unwrap(), V6).unwrap();
        config.clone()
    };
    set(json!({"max_predictions": true, "persistence": true, "sort_symbols": "x"}));
    let mut config = set(json!({"max_predictions": 7, "sort_symbols": null}));
    config.persistence = 3;
    let mut expected = SessionConfig::default();
    (expected.max_predictions, expected.persistence) = (7, 3);
    assert_eq!(config.settings(V6), expected.settings(V6));
}

#[test]
fn what_is_next_to_the_range_of_a_count_is_not_rounded_into_it() {
    for (name, value) in [
        ("jaccard_min_overlap", json!(0.5)),
        ("minhash_bands", json!(100.5)),
        ("minhash_rows", json!(false)),
        ("minhash_num_hashes", json!(9.99)),
        ("max_candidates_per_stage", json!("100")),
    ] {
        let given = json!({name: value});
        let mut config = SessionConfig::default();
        let refused = config.update(given.as_object().unwrap(), V6);
        assert!(refused.is_err(), "{given}");
    }
}

#[test]
fn a_creation_with_a_single_bad_value_gives_the_defaults_and_says_why() {
    let given = json!({"max_predictions": 3, "fuzzy_token_threshold": 7});
    let (config, error) = SessionConfig::at_creation(given.as_object().unwrap(), V3_10);
    assert_eq!(config, SessionConfig::default());
    assert!(
        error
            .unwrap()
            .messages()
            .keys()
            .eq(["fuzzy_token_threshold"])
    );
}

#[test]
fn a_builder_checks_every_value() {
    assert!(
        SessionConfig::builder()
            .with_recall_threshold(f64::NAN)
            .build()
            .is_err()
    );
    assert!(
        SessionConfig::builder()
            .with_recall_threshold(1.5)
            .build()
            .is_err()
    );
    let settings = FilterSettings {
        minhash_rows: 21,
        ..FilterSettings::default()
    };
    let refused = SessionConfig::builder().with_filters(&[Filter::Minhash], settings);
    assert!(refused.build().is_err());
}

#[test]
fn a_configuration_survives_json() {
    let config = SessionConfig::builder()
        .with_max_pattern_length(7)
        .with_stm_mode(StmMode::Rolling)
        .with_rank_sort_algo(RankMetric::TfidfScore)
        .with_fuzzy_token_threshold(0.8)
        .with_affinity_emotive("joy")
        .with_filters(
            &[Filter::Length, Filter::Rapidfuzz],
            FilterSettings::default(),
        )
        .build()
        .unwrap();
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<SessionConfig>(&json).unwrap(),
        config
    );
}

/// Settings, what is refused of them in the newest generation, and whether it is named.
#[test]
fn the_newest_generation_refuses_at_creation_and_change_alike() {
    let rows = [
        (json!({"recall_threshold": 0}), vec!["recall_threshold"]),
        (json!({"recall_threshold": true}), vec!["recall_threshold"]),
        (json!({"recall_threshold": null}), vec!["recall_threshold"]),
        (
            json!({"recall_threshold": 1e-300, "filter_pipeline": []}),
            vec![],
        ),
        (
            json!({"filter_pipeline": ["length"]}),
            vec!["filter_pipeline"],
        ),
        (json!({"filter_pipeline": null}), vec!["filter_pipeline"]),
        (
            json!({"vector_search_limit": 0, "max_predictions": 0, "persistence": true}),
            vec!["max_predictions", "vector_search_limit"],
        ),
        (
            json!({"vector_search_limit": 100, "vector_event_mode": "self_only"}),
            vec![],
        ),
        (
            json!({"vector_search_limit": 3.0}),
            vec!["vector_search_limit"],
        ),
        (json!({"vector_event_mode": "x"}), vec!["vector_event_mode"]),
        (
            json!({"return_vector_search_results": 1}),
            vec!["return_vector_search_results"],
        ),
        // Nothing is known of these any more.
        (json!({"length_min_ratio": "x", "no_setting": 1}), vec![]),
        (json!({"minhash_rows": null}), vec![]),
        // Looked at, and then nothing.
        (json!({"sort": 1}), vec!["sort"]),
        (json!({"sort": true}), vec![]),
    ];
    for (given, named) in rows {
        let object = given.as_object().unwrap();
        let (created, at_creation) = SessionConfig::at_creation(object, V6);
        let mut changed = SessionConfig::default();
        let at_change = changed.update(object, V6).err();
        assert_eq!(at_creation, at_change, "{given}");
        assert_eq!(created, changed, "{given}");
        let found = at_change.map(|error| {
            let names = error.validation_errors().into_keys().map(str::to_owned);
            names.collect::<Vec<_>>()
        });
        assert_eq!(found.unwrap_or_default(), named, "{given}");
    }
    // Refused without a name, and nothing is changed.
    let given = json!({"jaccard_threshold": 2, "max_predictions": 7});
    let mut config = SessionConfig::default();
    let error = config.update(given.as_object().unwrap(), V6).unwrap_err();
    assert!(error.validation_errors().is_empty() && !error.messages().is_empty());
    assert_eq!(config, SessionConfig::default());
    config.update(given.as_object().unwrap(), V3_10).unwrap();
    assert_eq!(config.max_predictions, 7);
}

#[test]
fn every_generation_answers_its_own_settings() {
    let given = json!({"use_token_matching": false, "vector_search_limit": 9});
    let given = given.as_object().unwrap();
    let of = |generation| {
        let (config, error) = SessionConfig::at_creation(given, generation);
        assert_eq!(error, None);
        (config.clone(), config.settings(generation))
    };
    let (old, settings) = of(V3_10);
    assert_eq!(json!(settings), json!(old));
    assert!(settings["sort_symbols"] == true && settings["length_max_ratio"] == 2.0);
    assert!(!settings.contains_key("vector_search_limit"));
    let (new, settings) = of(V6);
    assert_eq!(new.vector_search_limit, 9);
    assert!(settings["sort_symbols"] == false && settings["fuzzy_token_threshold"] == 0.0);
    assert_eq!(settings["vector_event_mode"], "neighbors_plus_self");
    assert!(!settings.contains_key("length_max_ratio"));
    // What is stored comes back.
    let stored = serde_json::from_value::<SessionConfig>(json!(new)).unwrap();
    assert_eq!(stored, new);
    // Of a session of 3.10, what the newest refuses is shown as it counts: as the default.
    let zero = SessionConfig::builder().with_recall_threshold(0.0);
    let zero = zero.build().unwrap();
    let shown = |generation| zero.settings(generation)["recall_threshold"].clone();
    assert_eq!((shown(V3_10), shown(V6)), (json!(0.0), json!(0.1)));
}
