//! Behaviour of KATO 3.10.1 that its recorded transcripts do not show, over HTTP.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Request, Running};

/// A session under test.
struct Session<'a> {
    server: &'a Running,
    id: String,
}

impl<'a> Session<'a> {
    async fn of(server: &'a Running, body: Value) -> Self {
        let answer = server.post("/sessions", body).await;
        let id = answer.json()["session_id"].as_str().unwrap().to_owned();
        Self { server, id }
    }

    async fn post(&self, what: &str, body: Value) -> Answer {
        self.server
            .post(&format!("/sessions/{}/{what}", self.id), body)
            .await
    }

    async fn get(&self, what: &str) -> Value {
        self.server
            .get(&format!("/sessions/{}/{what}", self.id))
            .await
            .json()
    }

    async fn observe(&self, strings: Value) -> Value {
        self.post("observe", json!({"strings": strings}))
            .await
            .json()
    }

    async fn stm(&self) -> Value {
        self.get("stm").await["stm"].clone()
    }
}

#[tokio::test]
async fn the_stm_is_cut_to_its_last_thousand_events_when_it_is_saved() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "n"})).await;
    let items: Vec<_> = (0..1003)
        .map(|n| json!({"strings": [format!("s{n}")]}))
        .collect();
    let answer = session
        .post("observe-sequence", json!({"observations": items}))
        .await
        .json();
    assert_eq!(
        (
            &answer["final_stm_length"],
            &answer["observations_processed"]
        ),
        (&json!(1003), &json!(1003))
    );
    assert_eq!(answer["results"][1002]["stm_length"], 1003);
    let stm = session.stm().await;
    assert_eq!(
        (stm.as_array().unwrap().len(), &stm[0], &stm[999]),
        (1000, &json!(["s3"]), &json!(["s1002"]))
    );
}

#[tokio::test]
async fn zero_is_no_lifetime_at_creation_and_the_end_in_extend() {
    let (server, clock) = Running::manual(|builder| builder).await;
    let made = server
        .post("/sessions", json!({"node_id": "n", "ttl_seconds": 0}))
        .await
        .json();
    assert_eq!(made["ttl_seconds"], 3600);
    let session = Session::of(
        &server,
        json!({"node_id": "n", "ttl_seconds": "7", "metadata": null, "config": null}),
    )
    .await;
    assert_eq!(session.get("exists").await["exists"], true);
    // Extending lasts until the next write, which snaps back.
    let extended = session
        .post("extend?ttl_seconds=100", json!({}))
        .await
        .json();
    assert_eq!(
        extended,
        json!({"status": "extended", "session_id": session.id, "ttl_seconds": 100})
    );
    clock.advance(Duration::from_secs(50));
    assert_eq!(session.observe(json!(["a"])).await["stm_length"], 1);
    clock.advance(Duration::from_secs(8));
    let info = server.get(&format!("/sessions/{}", session.id)).await;
    assert_eq!(info.status, 404);

    let session = Session::of(&server, json!({"node_id": "n"})).await;
    assert_eq!(
        session.post("extend?ttl_seconds=0", json!({})).await.status,
        200
    );
    assert_eq!(session.post("observe", json!({})).await.status, 404);
    let gone = json!({"exists": false, "expired": false, "session_id": session.id});
    assert_eq!(
        server
            .get(&format!("/sessions/{}/exists", session.id))
            .await
            .json(),
        gone
    );
}

#[tokio::test]
async fn sessions_are_counted_and_looked_up_without_being_renewed() {
    let (server, clock) = Running::manual(|builder| builder).await;
    let session = Session::of(&server, json!({"node_id": "", "ttl_seconds": 10})).await;
    assert_eq!(
        server.get("/sessions/count").await.json(),
        json!({"active_session_count": 1})
    );
    clock.advance(Duration::from_secs(6));
    for _ in 0..2 {
        let info = server
            .get(&format!("/sessions/{}", session.id))
            .await
            .json();
        assert_eq!(
            (&info["ttl_seconds"], &info["node_id"]),
            (&json!(4), &json!(""))
        );
        assert_eq!(session.get("exists").await["exists"], true);
    }
    clock.advance(Duration::from_secs(4));
    assert_eq!(session.get("exists").await["exists"], false);
}

#[tokio::test]
async fn an_empty_observation_is_no_event_and_passes_the_time() {
    let server = Running::memory().await;
    let session = Session::of(
        &server,
        json!({"node_id": "n", "config": {"max_pattern_length": 1}}),
    )
    .await;
    let answer = session
        .post("observe", json!({"emotives": {"joy": 1}}))
        .await
        .json();
    assert_eq!(
        (
            &answer["stm_length"],
            &answer["time"],
            &answer["auto_learned_pattern"]
        ),
        (&json!(0), &json!(1), &Value::Null)
    );
    assert_eq!(answer["processor_id"], "n");
    assert!(answer["unique_id"].as_str().unwrap().starts_with("obs-"));
}

#[tokio::test]
async fn events_are_sorted_by_code_point_and_keep_what_was_sent() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "n"})).await;
    let cases = [
        (
            json!(["100", "20", "3", "1", "10", "2"]),
            json!(["1", "10", "100", "2", "20", "3"]),
        ),
        (json!(["b", "A", "a", "B"]), json!(["A", "B", "a", "b"])),
        (json!(["z", "", "a"]), json!(["", "a", "z"])),
        (json!(["a", "a", ""]), json!(["", "a", "a"])),
        (
            json!(["\u{1f600}", "\u{ff5e}", " x "]),
            json!([" x ", "\u{ff5e}", "\u{1f600}"]),
        ),
    ];
    for (idx, (sent, kept)) in cases.iter().enumerate() {
        session.observe(sent.clone()).await;
        assert_eq!(session.stm().await[idx], *kept);
    }
    // The setting is kept, answered, and has no effect.
    session.post("config", json!({"sort_symbols": false})).await;
    session.observe(json!(["b", "a"])).await;
    assert_eq!(session.stm().await[5], json!(["a", "b"]));
}

#[tokio::test]
async fn learning_needs_an_event_and_two_symbols() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "n"})).await;
    let empty = session.post("learn", json!({})).await;
    assert_eq!(
        (empty.status, empty.json()),
        (400, json!({"detail": "Cannot learn from empty STM"}))
    );
    session.observe(json!(["a"])).await;
    let single = session.post("learn", json!({})).await.json();
    assert_eq!(
        (&single["status"], &single["pattern_name"]),
        (&json!("learned"), &json!(""))
    );
    assert_eq!(session.stm().await, json!([]));
    session.observe(json!(["b", "a"])).await;
    let learned = session.post("learn", json!(null)).await.json();
    let name = "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4";
    assert_eq!(
        learned,
        json!({"status": "learned", "pattern_name": name, "session_id": session.id, "processor_id": null,
               "message": format!("Learned pattern {name} from 0 events")})
    );
    for asked in [name, &name[5..]] {
        let found = server
            .get(&format!("/pattern/{asked}?node_id=n"))
            .await
            .json();
        assert_eq!(found["node_id"], "n_kato");
        assert_eq!(
            found["pattern"]["pattern"],
            json!({"name": name, "pattern_data": [["a", "b"]], "length": 2, "frequency": 1, "emotives": [], "metadata": {}})
        );
    }
    let unknown = server.get("/pattern/PTRN%7Cabc?node_id=n").await;
    assert_eq!(unknown.status, 200);
    assert_eq!(
        unknown.json()["pattern"],
        json!({"status": "error", "message": "Pattern abc not found"})
    );
}

#[tokio::test]
async fn auto_learning_follows_length_and_mode() {
    let server = Running::memory().await;
    let cases = [
        // Mode, length, events, patterns learned, what is left.
        (
            "ROLLING",
            3,
            vec!["a", "b", "c", "d", "e"],
            3,
            json!([["d"], ["e"]]),
        ),
        (
            "CLEAR",
            3,
            vec!["a", "b", "c", "d", "e"],
            1,
            json!([["d"], ["e"]]),
        ),
        ("anything", 2, vec!["a", "b", "c"], 1, json!([["c"]])),
        ("ROLLING", 1, vec!["a", "b"], 0, json!([])),
        ("CLEAR", 1, vec!["a"], 0, json!([])),
        ("CLEAR", 0, vec!["a", "b"], 0, json!([["a"], ["b"]])),
    ];
    for (mode, length, events, learned, left) in cases {
        let session = Session::of(&server, json!({"node_id": "auto"})).await;
        let set = session
            .post(
                "config",
                json!({"stm_mode": mode, "max_pattern_length": length}),
            )
            .await;
        assert_eq!(set.status, 200);
        let mut n_learned = 0;
        for event in &events {
            let name = session.observe(json!([event])).await["auto_learned_pattern"].clone();
            assert!(name.is_null() || name.as_str().unwrap().starts_with("PTRN|"));
            n_learned += usize::from(!name.is_null());
        }
        assert_eq!(
            (n_learned, session.stm().await),
            (learned, left),
            "{mode} {length}"
        );
    }
    // A single event of two symbols is a pattern.
    let session = Session::of(
        &server,
        json!({"node_id": "auto", "config": {"max_pattern_length": 1, "stm_mode": "ROLLING"}}),
    )
    .await;
    let answer = session.observe(json!(["a", "b"])).await;
    assert_eq!(
        (&answer["auto_learned_pattern"], &answer["stm_length"]),
        (
            &json!("PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4"),
            &json!(0)
        )
    );
}

#[tokio::test]
async fn flags_of_sequences_combine() {
    let server = Running::memory().await;
    let send = |flags: Value, observations: Value| {
        let server = &server;
        async move {
            let session = Session::of(server, json!({"node_id": "seq"})).await;
            let mut body = flags;
            body["observations"] = observations;
            let answer = session.post("observe-sequence", body).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            (answer.json(), session.stm().await)
        }
    };
    let abc = json!([{"strings": ["a"]}, {"strings": ["b"]}, {"strings": ["c"]}]);
    let name = "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9";

    let (answer, stm) = send(json!({"learn_at_end": true}), abc.clone()).await;
    assert_eq!(
        (
            &answer["auto_learned_patterns"],
            &answer["final_learned_pattern"]
        ),
        (&json!([name]), &json!(name))
    );
    assert_eq!(
        (
            &answer["final_stm_length"],
            &answer["initial_stm_length"],
            stm
        ),
        (&json!(0), &json!(0), json!([]))
    );
    assert_eq!(answer["isolated"], false);

    // One symbol each is no pattern, and is listed as such.
    let (answer, stm) = send(
        json!({"learn_after_each": true, "learn_at_end": true}),
        abc.clone(),
    )
    .await;
    assert_eq!(
        (
            &answer["auto_learned_patterns"],
            &answer["final_learned_pattern"]
        ),
        (&json!(["", "", ""]), &Value::Null)
    );
    assert_eq!(
        (&answer["results"][2]["stm_length"], stm),
        (&json!(0), json!([]))
    );

    let (answer, stm) = send(
        json!({"clear_stm_between": true, "learn_at_end": true}),
        abc.clone(),
    )
    .await;
    assert_eq!(
        (
            &answer["auto_learned_patterns"],
            &answer["final_learned_pattern"],
            &answer["isolated"]
        ),
        (&json!([""]), &json!(""), &json!(true))
    );
    assert_eq!(stm, json!([]));

    let (answer, stm) = send(json!({"clear_stm_between": true}), abc).await;
    assert_eq!(
        (&answer["final_stm_length"], stm),
        (&json!(1), json!([["c"]]))
    );
    assert_eq!(answer["results"][1]["time"], 2);

    let (answer, stm) = send(json!({"learn_at_end": true}), json!([])).await;
    assert_eq!(
        (
            &answer["observations_processed"],
            &answer["auto_learned_patterns"],
            stm
        ),
        (&json!(0), &json!([]), json!([]))
    );

    let ids = json!([{"strings": ["a"], "unique_id": "mine"}, {"strings": ["b"], "unique_id": ""}, {"strings": [], "unique_id": null}]);
    let (answer, _) = send(json!({}), ids).await;
    assert_eq!(answer["results"][0]["unique_id"], "mine");
    for idx in [1, 2] {
        let id = answer["results"][idx]["unique_id"].as_str().unwrap();
        assert!(id.starts_with("seq-obs-") && id.len() == 8 + 32);
    }
    assert_eq!(answer["results"][2]["stm_length"], 2);
}

#[tokio::test]
async fn percept_and_cognition_show_the_session_and_are_emptied() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "p"})).await;
    assert_eq!(
        session.get("percept-data").await,
        json!({"percept_data": {}, "session_id": session.id, "node_id": "p"})
    );
    session
        .post(
            "observe",
            json!({"strings": ["b", "a"], "emotives": {"joy": 0.5}, "metadata": {"k": 1}}),
        )
        .await;
    session
        .post(
            "observe",
            json!({"strings": ["c"], "emotives": {"joy": 1.0, "fear": -1}}),
        )
        .await;
    let percept = session.get("percept-data").await["percept_data"].clone();
    assert_eq!(
        (&percept["strings"], &percept["path"]),
        (&json!(["c"]), &json!([]))
    );
    assert_eq!(percept["emotives"], json!({"joy": 0.75, "fear": -1.0}));
    let cognition = session.get("cognition-data").await["cognition_data"].clone();
    assert_eq!(
        (&cognition["symbols"], &cognition["time"]),
        (&json!(["a", "b", "c"]), &json!(2))
    );
    assert_eq!(cognition["emotives"], json!({"joy": 1.0, "fear": -1.0}));
    assert_eq!(cognition["short_term_memory"], json!([["a", "b"], ["c"]]));
    for clear in ["clear-stm", "clear-all"] {
        let cleared = session.post(clear, json!({})).await.json();
        assert_eq!(
            (&cleared["status"], cleared.get("scope").is_some()),
            (&json!("cleared"), clear == "clear-all")
        );
        assert_eq!(session.get("percept-data").await["percept_data"], json!({}));
        assert_eq!(
            session.get("cognition-data").await["cognition_data"]["time"],
            0
        );
        assert_eq!(session.observe(json!(["x"])).await["time"], 1);
    }
    for (path, key) in [
        ("percept-data", "percept_data"),
        ("cognition-data", "cognition_data"),
    ] {
        let answer = server.get(&format!("/{path}?node_id=p")).await.json();
        assert!(answer["warning"].is_string() && answer[key].is_object());
        assert_eq!(answer["node_id"], "p_kato");
    }
}

#[tokio::test]
async fn settings_are_checked_on_change_and_dropped_as_a_whole_at_creation() {
    let server = Running::memory().await;
    let bad = json!({"node_id": "c", "config": {"recall_threshold": 0.5, "max_predictions": 0}});
    let session = Session::of(&server, bad).await;
    assert_eq!(
        session.get("config").await["config"]["recall_threshold"],
        0.1
    );
    for body in [
        json!({"recall_threshold": 0.5, "nonsense": 1}),
        json!({"config": {"recall_threshold": 0.5}}),
    ] {
        let session = Session::of(&server, json!({"node_id": "c"})).await;
        let answer = session.post("config", body).await.json();
        assert_eq!(
            answer,
            json!({"status": "okay", "message": "Configuration updated", "session_id": session.id})
        );
        assert_eq!(
            session.get("config").await["config"]["recall_threshold"],
            0.5
        );
    }
    session
        .post("config", json!({"use_token_matching": false}))
        .await;
    let config = session.get("config").await["config"].clone();
    assert_eq!(
        (&config["use_token_matching"], &config["sort_symbols"]),
        (&json!(false), &json!(false))
    );
    session
        .post(
            "config",
            json!({"use_token_matching": false, "sort_symbols": true}),
        )
        .await;
    assert_eq!(session.get("config").await["config"]["sort_symbols"], true);
    let refused = session
        .post(
            "config",
            json!({"recall_threshold": 2, "persistence": 2.0, "stm_mode": 1, "max_predictions": 7}),
        )
        .await;
    assert_eq!(refused.status, 400);
    let detail = refused.json()["detail"].clone();
    assert_eq!(detail["error"], "Configuration validation failed");
    assert_eq!(
        detail["validation_errors"]["recall_threshold"],
        "Must be a number between 0.0 and 1.0"
    );
    assert_eq!(
        detail["validation_errors"]["persistence"],
        "Must be an integer between 1 and 100"
    );
    assert!(detail["validation_errors"].get("max_predictions").is_none());
    assert_eq!(
        session.get("config").await["config"]["max_predictions"],
        100
    );
    // Not checked by the real server either.
    assert_eq!(
        session
            .post(
                "config",
                json!({"fuzzy_token_threshold": 7, "filter_pipeline": ["zzz"]})
            )
            .await
            .status,
        200
    );
    // Another session of the node has its own.
    let other = Session::of(&server, json!({"node_id": "c"})).await;
    assert_eq!(
        other.get("config").await["config"]["use_token_matching"],
        true
    );
}

#[tokio::test]
async fn one_symbol_is_compared_as_the_process_says_and_several_as_the_session_does() {
    let server = Running::memory().await;
    let config = json!({"use_token_matching": false});
    let session = Session::of(&server, json!({"node_id": "t", "config": config})).await;
    for symbol in ["a", "b", "c"] {
        session.observe(json!([symbol])).await;
    }
    session.post("learn", json!({})).await;
    // Of symbols: 2 · 1 / 4. Of characters, `a b` and `a b c`: 2 · 3 / 8.
    for (symbol, similarity) in [("a", 0.5), ("b", 0.75)] {
        session.observe(json!([symbol])).await;
        let answer = session.get("predictions").await;
        assert_eq!(answer["predictions"][0]["similarity"], similarity);
    }
}

#[tokio::test]
async fn vectors_of_an_observation_are_one_symbol_and_meet_their_neighbours() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "v"})).await;
    let four_six = "VCTR|d4ae6976f832d22d69d3a980c3da5401f08b0b1a";
    // One-element vectors add to every element; strings stand behind.
    let cases = [
        json!([[4.0, 6.0]]),
        json!([[1, 2], [3, 4]]),
        json!([[3, 5], [1]]),
        json!([[1], [3, 5]]),
    ];
    for (idx, vectors) in cases.into_iter().enumerate() {
        session
            .post(
                "observe",
                json!({"vectors": vectors, "strings": ["z", "A"]}),
            )
            .await;
        assert_eq!(session.stm().await[idx], json!([four_six, "A", "z"]));
    }
    session.post("clear-stm", json!({})).await;
    for vectors in [
        json!([[1.0, 2.0]]),
        json!([[4.0, 6.0]]),
        json!([[9.0, 9.0]]),
        json!([[100.0, 0.0]]),
    ] {
        session.post("observe", json!({"vectors": vectors})).await;
    }
    session.post("learn", json!({})).await;
    // Own name and the three nearest, sorted; the far one is none of them.
    session
        .post("observe", json!({"vectors": [[2.0, 2.0]]}))
        .await;
    let event = session.stm().await[0].as_array().unwrap().clone();
    assert!(
        event.len() == 4
            && event.is_sorted_by_key(ToString::to_string)
            && event.contains(&json!(four_six))
    );
    session
        .post("observe", json!({"vectors": [[4.0, 6.0]]}))
        .await;
    assert_eq!(
        session.stm().await[1].as_array().unwrap().len(),
        3,
        "its own name is one of the three nearest"
    );
}

#[tokio::test]
async fn emotives_leak_into_the_next_pattern_until_they_are_cleared() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "e"})).await;
    let learn = |symbols: [&'static str; 2], joy: f64| {
        let session = &session;
        async move {
            session.post("observe", json!({"strings": symbols, "emotives": {"joy": joy}, "metadata": {"k": [joy, true, null]}})).await;
            let name = session.post("learn", json!({})).await.json()["pattern_name"].clone();
            let found = session
                .server
                .get(&format!("/pattern/{}?node_id=e", name.as_str().unwrap()))
                .await
                .json();
            found["pattern"]["pattern"].clone()
        }
    };
    let first = learn(["a", "b"], 1.0).await;
    assert_eq!(
        (&first["emotives"], &first["metadata"]),
        (&json!([{"joy": 1.0}]), &json!({"k": ["[1.0, True, None]"]}))
    );
    let second = learn(["c", "d"], 2.0).await;
    assert_eq!(second["emotives"], json!([{"joy": 1.0}, {"joy": 2.0}]));
    session.post("clear-stm", json!({})).await;
    let third = learn(["e", "f"], 3.0).await;
    assert_eq!(third["emotives"], json!([{"joy": 3.0}]));
    session.post("clear-stm", json!({})).await;
    let again = learn(["a", "b"], 4.0).await;
    assert_eq!(
        (&again["emotives"], &again["frequency"]),
        (&json!([{"joy": 1.0}, {"joy": 4.0}]), &json!(2))
    );
    // The window holds five.
    let mut window = Value::Null;
    for joy in [5.0, 6.0, 7.0, 8.0] {
        session.post("clear-stm", json!({})).await;
        window = learn(["a", "b"], joy).await["emotives"].clone();
    }
    assert_eq!(
        window,
        json!([{"joy": 4.0}, {"joy": 5.0}, {"joy": 6.0}, {"joy": 7.0}, {"joy": 8.0}])
    );
    let affinity = server.get("/symbols/a/affinity?node_id=e").await.json();
    assert_eq!(
        affinity,
        json!({"symbol": "a", "affinity": {"joy": 31.0}, "node_id": "e_kato"})
    );
    assert_eq!(
        server.get("/symbols/none/affinity?node_id=e").await.json()["affinity"],
        json!({})
    );
}

#[tokio::test]
async fn a_node_is_named_by_query_then_test_header_then_node_header() {
    let server = Running::memory().await;
    let node = |target: &'static str, headers: &'static [(&'static str, &'static str)]| {
        let request = headers
            .iter()
            .fold(Request::new("GET", target), |request, (name, value)| {
                request.header(name, value)
            });
        let server = &server;
        async move { server.send(request).await.json()["node_id"].clone() }
    };
    assert_eq!(node("/symbols/stats", &[]).await, "default_node_kato");
    assert_eq!(
        node("/symbols/stats", &[("x-node-id", "a-b")]).await,
        "a_b_kato"
    );
    assert_eq!(
        node("/symbols/stats", &[("x-node-id", "a"), ("x-test-id", "t")]).await,
        "test_t_kato"
    );
    assert_eq!(
        node("/symbols/stats", &[("x-test-id", "test_t")]).await,
        "test_t_kato"
    );
    assert_eq!(
        node("/symbols/stats?node_id=q%20q", &[("x-test-id", "t")]).await,
        "q_q_kato"
    );
    // A session is no node.
    let session = Session::of(&server, json!({"node_id": "s"})).await;
    let request = Request::new("GET", "/symbols/stats").header("x-session-id", &session.id);
    assert_eq!(
        server.send(request).await.json()["node_id"],
        "default_node_kato"
    );
}

#[tokio::test]
async fn node_ids_that_clean_to_the_same_name_share_a_knowledge_base() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "a.b"})).await;
    session.observe(json!(["x", "y"])).await;
    session.post("learn", json!({})).await;
    for other in ["a-b", "a%20b", "a_b", "a%2Fb"] {
        let stats = server
            .get(&format!("/symbols/stats?node_id={other}"))
            .await
            .json();
        assert_eq!(
            (&stats["node_id"], &stats["symbols"]["x"]["frequency"]),
            (&json!("a_b_kato"), &json!(1))
        );
    }
    let long = "l".repeat(200);
    let id = server
        .get(&format!("/symbols/stats?node_id={long}"))
        .await
        .json()["node_id"]
        .clone();
    assert!(id.as_str().unwrap().len() <= 60 && id.as_str().unwrap().ends_with("_kato"));
}

#[tokio::test]
async fn clear_all_empties_the_node_and_leaves_other_sessions_their_memory() {
    let server = Running::memory().await;
    let (one, two) = (
        Session::of(&server, json!({"node_id": "n"})).await,
        Session::of(&server, json!({"node_id": "n"})).await,
    );
    one.observe(json!(["a", "b"])).await;
    one.post("learn", json!({})).await;
    two.observe(json!(["a"])).await;
    assert_eq!(one.stm().await, json!([]));
    assert_eq!(two.get("predictions").await["count"], 1);
    one.post("clear-all", json!({})).await;
    assert_eq!(two.stm().await, json!([["a"]]));
    assert_eq!(two.get("predictions").await["count"], 0);
    assert_eq!(
        server.get("/symbols/stats?node_id=n").await.json()["symbols"],
        json!({})
    );
}

#[tokio::test]
async fn a_single_symbol_finds_patterns_that_begin_with_it_in_a_shape_of_its_own() {
    let server = Running::memory().await;
    let session = Session::of(
        &server,
        json!({"node_id": "f", "config": {"recall_threshold": 1.0}}),
    )
    .await;
    for strings in [["a", "b", "c"], ["b", "a", "c"]] {
        let items: Vec<_> = strings
            .iter()
            .map(|symbol| json!({"strings": [symbol]}))
            .collect();
        session
            .post(
                "observe-sequence",
                json!({"observations": items, "learn_at_end": true}),
            )
            .await;
    }
    session.observe(json!(["a"])).await;
    let answer = session.get("predictions").await;
    assert_eq!(
        (&answer["count"], &answer["time"], &answer["unique_id"]),
        (&json!(1), &Value::Null, &Value::Null)
    );
    let found = &answer["predictions"][0];
    assert_eq!(
        (&found["future"], &found["present"], &found["past"]),
        (&json!(["b", "c"]), &json!(["a"]), &json!([]))
    );
    assert_eq!(
        (&found["length"], &found["matches"], &found["similarity"]),
        (&json!(3), &json!(["a"]), &json!(0.5))
    );
    assert!(found.get("type").is_none() && found.get("entropy").is_none());
}

#[tokio::test]
async fn paths_and_methods_are_told_apart_as_starlette_does() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "n"})).await;
    let status = |method: &'static str, target: String| {
        let server = &server;
        async move {
            let answer = server.send(Request::new(method, &target)).await;
            (answer.status, answer.header("allow").map(str::to_owned))
        }
    };
    let id = &session.id;
    let allow = |methods: &str| Some(methods.to_owned());
    assert_eq!(status("GET", "/observe".into()).await, (404, None));
    assert_eq!(
        status("GET", "/sessions".into()).await,
        (405, allow("POST"))
    );
    assert_eq!(
        status("PUT", format!("/sessions/{id}")).await,
        (405, allow("GET"))
    );
    assert_eq!(
        status("GET", format!("/sessions/{id}/learn")).await,
        (405, allow("POST"))
    );
    assert_eq!(
        status("POST", "/docs".into()).await,
        (405, allow("GET, HEAD"))
    );
    assert_eq!(status("HEAD", "/health".into()).await, (405, allow("GET")));
    assert_eq!(status("HEAD", "/docs".into()).await, (200, None));
    // An unknown session comes before an unknown path or method.
    assert_eq!(
        status("PUT", "/sessions/none/learn".into()).await,
        (404, None)
    );
    assert_eq!(status("DELETE", "/sessions/none".into()).await, (404, None));
    let redirected = server.get("/health/?a=b").await;
    assert_eq!(
        (redirected.status, redirected.header("location")),
        (307, Some("http://localhost/health?a=b"))
    );
    let test = server.get(&format!("/sessions/test/{id}")).await;
    assert_eq!(
        (test.status, &test.json()["error"]["session_id"]),
        (404, &json!("test"))
    );
}

#[tokio::test]
async fn trace_and_session_ids_come_back() {
    let server = Running::memory().await;
    let session = Session::of(&server, json!({"node_id": "n"})).await;
    let made = server.get("/nowhere").await;
    let trace = made.header("x-trace-id").unwrap();
    assert!(trace.starts_with("kato-") && trace.len() == 5 + 32);
    let named = |target: &str| Request::new("GET", target).header("x-trace-id", "mine");
    assert_eq!(
        server.send(named("/")).await.header("x-trace-id"),
        Some("mine")
    );
    // From the path if it was checked, else as sent, whether it exists or not.
    let stm = format!("/sessions/{}/stm", session.id);
    let sent = Request::new("GET", &stm).header("x-session-id", "other");
    assert_eq!(
        server.send(sent).await.header("x-session-id"),
        Some(session.id.as_str())
    );
    let sent = Request::new("GET", "/").header("x-session-id", "other");
    assert_eq!(
        server.send(sent).await.header("x-session-id"),
        Some("other")
    );
    let sent = Request::new("GET", "/").header("cookie", "a=b; session_id=from-cookie");
    assert_eq!(
        server.send(sent).await.header("x-session-id"),
        Some("from-cookie")
    );
    assert_eq!(server.get("/").await.header("x-session-id"), None);
}
