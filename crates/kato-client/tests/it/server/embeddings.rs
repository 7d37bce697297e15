//! Vectors of a text as observations.

use kato_client::protocol::Observation;
use kato_embeddings::Embeddings;
use kato_model::VectorName;

use super::{Running, session};

#[tokio::test]
async fn a_word_is_observed_by_its_vector() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.txt");
    std::fs::write(&path, "the 0.418 0.24968\nsea 0.1 0.2\n").unwrap();
    // Doubles: what a client sends that reads the text with Python's `float()`, so that names are
    // the same.
    let embeddings = Embeddings::builder(&path).with_doubles().open().unwrap();
    let server = Running::in_memory(|server| server).await;
    let client = server.builder(session()).build().unwrap();

    let observation = Observation::vector(embeddings.get("the").unwrap());
    client.observe(observation).await.unwrap();

    let name = VectorName::of_vector(&[0.418, 0.24968]).to_string();
    assert_eq!(client.stm().await.unwrap().stm, [[name]]);
}
