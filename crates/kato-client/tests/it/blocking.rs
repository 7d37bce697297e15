//! The client that waits.

use kato_client::protocol::Observation;
use kato_client::protocol::extension::BatchItem;
use kato_client::{ClientError, SessionOptions, blocking};

use crate::mini::{Kind, Mini};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn it_works_without_a_runtime_and_refuses_inside_one() {
    let runtime = runtime();
    let mini = runtime.block_on(Mini::start(Kind::Stock));
    let client = blocking::KatoClient::new(mini.builder(SessionOptions::new("n"))).unwrap();
    client.observe(Observation::strings(["a", "b"])).unwrap();
    let learned = client.learn().unwrap();
    assert_eq!(
        learned.pattern_name,
        "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4"
    );
    let fork = client.fork();
    assert_eq!(fork.stm().unwrap().length, 0);
    let inside = runtime.block_on(async { client.learn() });
    assert!(matches!(inside, Err(ClientError::BlockingInAsync)));
    client.close().unwrap();
    assert_eq!(mini.n_sessions(), 1);
    drop(fork);
    assert_eq!(mini.n_sessions(), 0);
}

#[test]
fn it_learns_batches_once_for_a_key() {
    let runtime = runtime();
    let mini = runtime.block_on(Mini::start(Kind::KatoRs));
    let client = blocking::KatoClient::new(mini.builder(SessionOptions::new("n"))).unwrap();
    let item = BatchItem {
        events: vec![vec!["a".to_owned(), "b".to_owned()]],
        ..BatchItem::default()
    };
    for _ in 0..2 {
        let items = vec![item.clone(); 12];
        client.learn_all_once("k".to_owned(), items, None).unwrap();
    }
    client.learn_all(vec![item], None).unwrap();
    let node = mini.knowledge("n");
    assert_eq!(node.values().next().unwrap().frequency, 13);
}
