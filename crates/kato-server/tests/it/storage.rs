//! Storage that fails, and work that outlives its clients.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kato_service::clock::Clock;
use kato_service::{Service, ServiceOptions};
use kato_store::EmbeddedStore;
use serde_json::json;

use crate::support::{Request, Running};

/// A clock that panics once, at the call it is told.
#[derive(Debug, Default)]
struct FailingClock(AtomicI64);

impl Clock for FailingClock {
    fn now(&self) -> SystemTime {
        assert_ne!(self.0.fetch_sub(1, Ordering::SeqCst), 1, "injected");
        UNIX_EPOCH
    }
}

#[tokio::test]
async fn an_operation_that_ends_half_way_concerns_its_node_alone_and_not_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(FailingClock::default());
    let options = ServiceOptions::default().with_clock(Arc::clone(&clock) as _);
    let service = Service::open(dir.path(), options).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let (id, other) = (server.session("n").await, server.session("other").await);
    let observe = async |id: &str| {
        let target = format!("/sessions/{id}/observe");
        server.post(&target, json!({"strings": ["a"]})).await
    };
    let mut n_observed = 0;
    // Maintenance may take the step that was meant for a request: then the next one meets it.
    loop {
        clock.0.store(3, Ordering::SeqCst);
        let answer = observe(&id).await;
        clock.0.store(0, Ordering::SeqCst);
        match answer.status {
            200 => n_observed += 1,
            status => {
                assert_eq!(status, 500);
                break;
            }
        }
    }
    assert_eq!(observe(&other).await.status, 200);
    let stm = server.get(&format!("/sessions/{id}/stm")).await;
    assert_eq!(stm.status, 200, "{}", stm.text());
    let remembered = stm.json()["stm"].as_array().map(Vec::len);
    assert_eq!(remembered, Some(n_observed));
    assert_eq!(observe(&id).await.status, 200);
    assert_ne!(server.get("/health").await.json()["status"], "unhealthy");
    server.stop().await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_whose_storage_failed_refuses_writes_answers_reads_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder.with_token("secret")).await;
    let send = |request: Request| server.send(request.header("authorization", "Bearer secret"));
    let post = |target: &str, body| send(Request::new("POST", target).json(&body));
    let created = post("/sessions", json!({"node_id": "n"})).await.json();
    let id = created["session_id"].as_str().unwrap().to_owned();
    let target = format!("/sessions/{id}/observe");
    assert_eq!(post(&target, json!({"strings": ["a"]})).await.status, 200);

    // The journal finds it out when it writes one of its tables to a file.
    std::fs::remove_dir_all(dir.path().join("journal/keyspaces")).unwrap();
    let large = "b".repeat(1 << 20);
    let mut statuses = Vec::new();
    while server.get("/health").await.json()["status"] != "unhealthy" {
        assert!(statuses.len() < 100, "{statuses:?}");
        let more = format!("{large}{}", statuses.len());
        statuses.push(post(&target, json!({"strings": [more]})).await.status);
        post(&format!("/sessions/{id}/clear-stm"), json!({})).await;
    }
    assert!(
        statuses.iter().all(|status| [200, 503].contains(status)),
        "{statuses:?}"
    );
    let writes = [
        post(&target, json!({"strings": ["c"]})).await,
        post(&format!("/sessions/{id}/learn"), json!({})).await,
        post(
            &format!("/sessions/{id}/learn-batch"),
            json!({"sequences": []}),
        )
        .await,
        post("/sessions", json!({"node_id": "n"})).await,
        send(Request::new("DELETE", &format!("/sessions/{id}"))).await,
    ];
    for refused in writes {
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (503, Some("5"))
        );
        assert!(
            refused.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains("storage has failed")
        );
    }
    assert_eq!(
        send(Request::new("GET", &format!("/sessions/{id}/stm")))
            .await
            .status,
        200
    );
    assert_eq!(
        send(Request::new("GET", &format!("/sessions/{id}/predictions")))
            .await
            .status,
        200
    );
    let health = server.get("/health").await.json();
    assert_eq!(health["processor_status"], "unhealthy");
    let issues = health["issues"].to_string();
    assert!(issues.contains("Storage failed"));
    assert!(!issues.contains(dir.path().to_str().unwrap()));
    let prometheus = send(Request::new("GET", "/metrics/prometheus"))
        .await
        .text();
    assert!(prometheus.contains("\nkato_storage_failed 1\n"));
    assert!(
        server.stop().await.unwrap().is_err(),
        "closing says that not everything could be stored"
    );
}

#[tokio::test]
async fn a_knowledge_base_that_cannot_be_opened_is_an_error_that_names_the_node_and_no_path() {
    let dir = tempfile::tempdir().unwrap();
    let node = dir.path().join("nodes").join("broken_kato");
    std::fs::create_dir_all(&node).unwrap();
    std::fs::write(node.join("MANIFEST"), "{").unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let id = server.session("broken").await;
    let answers = [
        server
            .post(
                &format!("/sessions/{id}/observe"),
                json!({"strings": ["a"]}),
            )
            .await,
        server.get("/symbols/stats?node_id=broken").await,
    ];
    for answer in answers {
        assert_eq!(answer.status, 500);
        let detail = answer.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            detail.contains("\"broken\"") && detail.contains("damaged"),
            "{detail}"
        );
        assert!(
            detail.contains("X-Trace-ID") && !detail.contains("broken_kato"),
            "{detail}"
        );
    }
    // What each node serves is told, without its path.
    let processors = server.get("/status").await.json()["processors"].clone();
    let listed = processors["processors"].as_array().unwrap().clone();
    let broken = listed.iter().find(|it| it["node_id"] == "broken").unwrap();
    assert_eq!(broken["storage"]["state"], "damaged", "{broken}");
    let reason = broken["storage"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("Lost") && !reason.contains("nodes/"),
        "{reason}"
    );
    // And so is that something is wrong, to whoever watches.
    let health = server.get("/health").await.json();
    assert_eq!(health["status"], "degraded", "{health}");
    let issues = health["issues"].to_string();
    assert!(
        issues.contains("knowledge base of a node cannot be read") && !issues.contains("broken"),
        "{issues}"
    );
    assert_eq!(server.get("/status").await.json()["status"], "degraded");
    let pools = server.get("/connection-pools").await.json();
    assert_eq!(pools["status"], "degraded", "{pools}");
    let losses = async || {
        let text = server.get("/metrics/prometheus").await.text();
        let line = text.lines().find(|line| line.starts_with("kato_losses "));
        line.unwrap().to_owned()
    };
    assert_eq!(losses().await, "kato_losses 1");
    // The others are as if nothing was wrong.
    let other = server.session("whole").await;
    let observed = server
        .post(
            &format!("/sessions/{other}/observe"),
            json!({"strings": ["a"]}),
        )
        .await;
    assert_eq!(observed.status, 200);
    // Mended as soon as it is read again.
    std::fs::remove_dir_all(node).unwrap();
    assert_eq!(
        server.get("/symbols/stats?node_id=broken").await.status,
        200
    );
    assert_eq!(losses().await, "kato_losses 0");
    assert_eq!(server.get("/status").await.json()["status"], "healthy");
}

#[tokio::test]
async fn a_knowledge_base_of_several_nodes_is_an_error_that_names_the_node_and_no_path() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("nodes").join("two_kato");
    drop(EmbeddedStore::create(store, &["a", "b"], json!({})).unwrap());
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let answer = server.get("/symbols/stats?node_id=two").await;
    assert_eq!(answer.status, 500);
    let body = answer.json();
    let said = body["error"]["message"].as_str().unwrap();
    assert!(
        said.contains("\"two\"") && said.contains("2 nodes"),
        "{said}"
    );
    assert!(
        said.contains("X-Trace-ID") && !said.contains("two_kato"),
        "{said}"
    );
}

/// A clock that keeps whoever asks waiting while it is held.
#[derive(Debug, Default)]
struct HeldClock {
    is_held: Mutex<bool>,
    released: Condvar,
}

impl HeldClock {
    fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.released.notify_all();
    }
}

impl Clock for HeldClock {
    fn now(&self) -> SystemTime {
        let held = self.is_held.lock().unwrap();
        drop(self.released.wait_while(held, |is_held| *is_held).unwrap());
        UNIX_EPOCH
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_has_begun_ends_before_the_service_closes() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(HeldClock::default());
    let options = ServiceOptions::default().with_clock(Arc::clone(&clock) as _);
    let service = Service::open(dir.path(), options.clone()).unwrap();
    let short = Duration::from_millis(20);
    let server = Running::of(service, |builder| builder.with_shutdown_timeout(short)).await;
    let id = server.session("n").await;
    let mut cut_off = server.connect().await;
    clock.hold(true);
    let request = Request::new("POST", &format!("/sessions/{id}/observe"))
        .json(&json!({"strings": ["a", "b"]}));
    let sent = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        cut_off.stream.write_all(&request.bytes()).await.unwrap();
        cut_off.answer(false).await.is_none()
    });
    // It has begun once the server counts it; asking does not need the time.
    while server.get("/concurrency").await.json()["current"]["concurrent_requests"] != 2 {
        tokio::task::yield_now().await;
    }
    // `/health` needs no thread, no disk and no time.
    assert_eq!(server.get("/health").await.status, 200);
    let stopped = server.stop();
    assert!(sent.await.unwrap(), "the client is cut off");
    assert!(!stopped.is_finished(), "the work is waited for");
    clock.hold(false);
    assert_eq!(stopped.await.unwrap().unwrap().n_cut_off, 1);
    // At once: nothing holds the directory any more.
    let service = Service::open(dir.path(), options).unwrap();
    assert_eq!(service.stm(&id).unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_lost_is_told_on_health_and_the_node_is_not_served_as_empty() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let id = server.session("n").await;
    for word in ["a", "b"] {
        let target = format!("/sessions/{id}/observe");
        server.post(&target, json!({"strings": [word]})).await;
    }
    let learned = server
        .post(&format!("/sessions/{id}/learn"), json!({}))
        .await;
    assert_eq!(learned.status, 200);
    server.stop().await.unwrap().unwrap();
    std::fs::remove_dir_all(dir.path().join("nodes/n_kato")).unwrap();

    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let health = server.get("/health").await.json();
    assert_eq!(health["status"], "degraded");
    let issues = health["issues"].to_string();
    assert!(
        issues.contains("knowledge base of a node is gone"),
        "{issues}"
    );
    assert!(!issues.contains("n_kato"), "{issues}");
    let symbols = server.get("/symbols/stats?node_id=n").await;
    assert_eq!(symbols.status, 500);
    let told = symbols.text();
    assert!(
        told.contains(r#"node \"n\""#) && told.contains("is gone") && !told.contains("n_kato"),
        "{told}"
    );
    let prometheus = server.get("/metrics/prometheus").await.text();
    assert!(prometheus.contains("\nkato_losses 1\n"));
    let other = server.session("other").await;
    let target = format!("/sessions/{other}/observe");
    assert_eq!(
        server.post(&target, json!({"strings": ["a"]})).await.status,
        200
    );
}

#[tokio::test]
async fn a_running_server_is_copied_on_request_and_the_copy_is_whole() {
    let dirs = tempfile::tempdir().unwrap();
    let (data, backups) = (dirs.path().join("data"), dirs.path().join("backups"));
    let service = Service::open(&data, ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder.with_backups(&backups)).await;
    let id = server.session("n").await;
    let batch = json!({"sequences": [{"events": [["a"], ["b"]]}]});
    let learned = server
        .post(&format!("/sessions/{id}/learn-batch"), batch)
        .await;
    let name = learned.json()["results"][0]["pattern_name"].clone();
    let copied = server.post("/admin/backups", json!({})).await;
    assert_eq!(copied.status, 201, "{}", copied.text());
    // A page elsewhere has no say in it.
    let elsewhere = Request::new("POST", "/admin/backups").header("origin", "http://elsewhere");
    assert_eq!(server.send(elsewhere).await.status, 403);

    let copy = backups.join(copied.json()["backup"].as_str().unwrap());
    let service = Service::open(&copy, ServiceOptions::default()).unwrap();
    assert!(service.losses().is_empty(), "{:?}", service.losses());
    let of_copy = Running::of(service, |builder| builder).await;
    let target = format!(
        "/pattern/{}?node_id=n",
        name.as_str().unwrap().replace('|', "%7C")
    );
    let pattern = of_copy.get(&target).await.json();
    assert_eq!(pattern["pattern"]["pattern"]["frequency"], 1, "{pattern}");
    assert_eq!(of_copy.get(&format!("/sessions/{id}")).await.status, 200);
    // It has no directory for copies of its own.
    let refused = of_copy.post("/admin/backups", json!({})).await;
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("--backups"), "{}", refused.text());
    assert_eq!(std::fs::read_dir(&backups).unwrap().count(), 1);
}

#[tokio::test]
async fn a_copy_that_cannot_be_made_leaves_nothing_behind() {
    let dirs = tempfile::tempdir().unwrap();
    let in_memory = Service::in_memory(ServiceOptions::default());
    let server = Running::of(in_memory, |builder| builder.with_backups(dirs.path())).await;
    let refused = server.post("/admin/backups", json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(std::fs::read_dir(dirs.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_copy_never_takes_the_place_of_another_one() {
    let dirs = tempfile::tempdir().unwrap();
    let (data, backups) = (dirs.path().join("data"), dirs.path().join("backups"));
    // Time stands still, so both copies would have one name.
    let clock = kato_service::clock::ManualClock::at(UNIX_EPOCH);
    let options = ServiceOptions::default().with_clock(Arc::new(clock));
    let service = Service::open(&data, options).unwrap();
    let server = Running::of(service, |builder| builder.with_backups(&backups)).await;
    let copied = server.post("/admin/backups", json!({})).await;
    assert_eq!(copied.status, 201, "{}", copied.text());
    assert_eq!(server.post("/admin/backups", json!({})).await.status, 409);
    let copy = backups.join(copied.json()["backup"].as_str().unwrap());
    let service = Service::open(&copy, ServiceOptions::default()).unwrap();
    assert!(service.losses().is_empty(), "{:?}", service.losses());
}

#[tokio::test]
async fn backups_are_counted_and_the_oldest_are_removed_where_that_was_asked_for() {
    let dirs = tempfile::tempdir().unwrap();
    let (data, backups) = (dirs.path().join("data"), dirs.path().join("backups"));
    let clock = Arc::new(kato_service::clock::ManualClock::at(UNIX_EPOCH));
    let options = ServiceOptions::default().with_clock(Arc::clone(&clock) as _);
    let names = || {
        let entries = std::fs::read_dir(&backups).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let service = Service::open(&data, options.clone()).unwrap();
    let server = Running::of(service, |builder| {
        builder.with_backups(&backups).with_max_backups(2)
    })
    .await;
    for count in 1..=2 {
        clock.advance(Duration::from_secs(1));
        let copied = server.post("/admin/backups", json!({})).await;
        assert_eq!(copied.status, 201, "{}", copied.text());
        let answer = copied.json();
        assert_eq!(
            (&answer["backups"], &answer["max_backups"]),
            (&json!(count), &json!(2))
        );
        assert_eq!(
            (&answer["losses"], &answer["passed_over"]),
            (&json!([]), &json!([]))
        );
        assert!(answer["bytes"].is_u64());
    }
    let before = names();
    clock.advance(Duration::from_secs(1));
    let refused = server.post("/admin/backups", json!({})).await;
    assert_eq!(refused.status, 507);
    let told = refused.text();
    assert!(told.contains("holds 2 backups, and 2 may"), "{told}");
    assert!(told.contains(&before[0]), "{told}");
    assert_eq!(names(), before);
    // One that was broken off is the first to go.
    let broken_off = backups.join(&before[1]).join("UNFINISHED");
    std::fs::write(&broken_off, "").unwrap();
    let refused = server.post("/admin/backups", json!({})).await;
    assert!(refused.text().contains(&before[1]), "{}", refused.text());
    std::fs::remove_file(broken_off).unwrap();
    server.stop().await.unwrap().unwrap();

    // One that a server was started on is none any more, and stays.
    drop(Service::open(backups.join(&before[0]), options.clone()).unwrap());
    let service = Service::open(&data, options).unwrap();
    let server = Running::of(service, |builder| {
        builder
            .with_backups(&backups)
            .with_max_backups(2)
            .with_pruned_backups(true)
    })
    .await;
    for _ in 0..3 {
        clock.advance(Duration::from_secs(1));
        let copied = server.post("/admin/backups", json!({})).await;
        assert_eq!(copied.status, 201, "{}", copied.text());
    }
    let after = names();
    assert_eq!(after.len(), 3);
    assert!(
        after[0] == before[0] && !after.contains(&before[1]),
        "{before:?} {after:?}"
    );
}

#[tokio::test]
async fn the_backup_that_was_just_made_is_not_removed() {
    let dirs = tempfile::tempdir().unwrap();
    let backups = dirs.path().join("backups");
    // The second time the clock has been set back.
    for now in [UNIX_EPOCH + Duration::from_secs(60), UNIX_EPOCH] {
        let clock = kato_service::clock::ManualClock::at(now);
        let options = ServiceOptions::default().with_clock(Arc::new(clock));
        let service = Service::open(dirs.path().join("data"), options).unwrap();
        let server = Running::of(service, |builder| {
            let builder = builder.with_backups(&backups).with_max_backups(0);
            builder.with_pruned_backups(true)
        })
        .await;
        let copied = server.post("/admin/backups", json!({})).await.json();
        assert_eq!(copied["backups"], 1);
        assert!(backups.join(copied["backup"].as_str().unwrap()).exists());
        server.stop().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn backups_go_by_their_time_whatever_they_are_called() {
    let dirs = tempfile::tempdir().unwrap();
    let (data, backups) = (dirs.path().join("data"), dirs.path().join("backups"));
    let clock = Arc::new(kato_service::clock::ManualClock::at(UNIX_EPOCH));
    let options = ServiceOptions::default().with_clock(Arc::clone(&clock) as _);
    let service = Service::open(&data, options).unwrap();
    let [first, second] = ["z-first", "a-second"].map(|name| {
        clock.advance(Duration::from_secs(1));
        service.backup(backups.join(name)).unwrap();
        backups.join(name)
    });
    let server = Running::of(service, |builder| {
        let builder = builder.with_backups(&backups).with_max_backups(2);
        builder.with_pruned_backups(true)
    })
    .await;
    clock.advance(Duration::from_secs(1));
    let copied = server.post("/admin/backups", json!({})).await;
    assert_eq!(copied.status, 201, "{}", copied.text());
    assert!(!first.exists() && second.exists());
}

#[tokio::test]
async fn a_server_that_may_make_no_backup_does_not_ask_for_one_to_be_removed() {
    let dirs = tempfile::tempdir().unwrap();
    let backups = dirs.path().join("backups");
    let service = Service::open(dirs.path().join("data"), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| {
        builder.with_backups(&backups).with_max_backups(0)
    })
    .await;
    let refused = server.post("/admin/backups", json!({})).await;
    assert_eq!(refused.status, 507);
    let told = refused.text();
    assert!(told.contains("`serve --max-backups` is 0"), "{told}");
    assert!(!told.contains("remove"), "{told}");
}

#[tokio::test]
async fn a_damaged_node_is_told_by_the_answer_to_a_backup() {
    let dirs = tempfile::tempdir().unwrap();
    let (data, backups) = (dirs.path().join("data"), dirs.path().join("backups"));
    let node = data.join("nodes/broken_kato");
    std::fs::create_dir_all(&node).unwrap();
    std::fs::write(node.join("MANIFEST"), "{").unwrap();
    std::fs::write(data.join("nodes/letter"), "dear").unwrap();
    let service = Service::open(&data, ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder.with_backups(&backups)).await;
    let copied = server.post("/admin/backups", json!({})).await;
    assert_eq!(copied.status, 201, "{}", copied.text());
    let answer = copied.json();
    assert_eq!(answer["passed_over"], json!(["letter"]));
    let losses = answer["losses"].to_string();
    assert!(losses.contains("broken_kato/MANIFEST"), "{losses}");
    assert!(!losses.contains(data.to_str().unwrap()), "{losses}");
}

#[tokio::test]
async fn a_knowledge_base_that_another_program_writes_is_no_damage_and_is_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let node = dir.path().join("nodes").join("held_kato");
    let held = EmbeddedStore::create(&node, &["held"], json!(null)).unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let id = server.session("held").await;
    let observe = async || {
        let target = format!("/sessions/{id}/observe");
        server.post(&target, json!({"strings": ["a"]})).await
    };
    let stats = async || server.get("/symbols/stats?node_id=held").await;
    for refused in [observe().await, stats().await] {
        let text = refused.text();
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (503, Some("5")),
            "{text}"
        );
        assert!(text.contains("held") && text.contains("in use"), "{text}");
        assert!(
            !text.contains("damaged") && !text.contains("held_kato"),
            "{text}"
        );
    }
    let health = server.get("/health").await.json();
    assert_eq!(health["status"], "healthy", "{health}");
    let metrics = server.get("/metrics/prometheus").await.text();
    assert!(metrics.contains("\nkato_losses 0\n"), "{metrics}");
    drop(held);
    assert_eq!(observe().await.status, 200);
    assert_eq!(stats().await.status, 200);
}
