//! Configuration: what is checked when, and what is not.

use kato_engine::SessionConfig;
use kato_engine::config::StmMode;
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use serde_json::{Value, json};

fn updated(changes: &Value) -> Result<SessionConfig, String> {
    let mut config = SessionConfig::default();
    let result = config.update(changes.as_object().unwrap());
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
        json!({"affinity_emotive": 1}),
        json!({"minhash_bands": "x"}),
        json!({"sort_symbols": 1}),
        json!({"enable_filter_metrics": null}),
    ] {
        assert!(updated(&changes).is_err(), "{changes}");
    }
}

#[test]
fn null_unsets_what_can_be_unset() {
    let mut config =
        updated(&json!({"fuzzy_token_threshold": 0.5, "affinity_emotive": "joy"})).unwrap();
    let unset = json!({"fuzzy_token_threshold": null, "affinity_emotive": null});
    config.update(unset.as_object().unwrap()).unwrap();
    assert_eq!(config, SessionConfig::default());
}

#[test]
fn a_creation_with_a_single_bad_value_gives_the_defaults_and_says_why() {
    let given = json!({"max_predictions": 3, "fuzzy_token_threshold": 7});
    let (config, error) = SessionConfig::at_creation(given.as_object().unwrap());
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
