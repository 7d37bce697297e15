//! Moves a client of KATO 3.10 to 6.3: each step is written so that servers of both are understood.
//!
//! Run, beside `cargo run --release -p kato-examples --example serve --features server`:
//! `cargo run --release -p kato-examples --example migrate_client --features client -- http://127.0.0.1:8000 my_node`

use std::io::Write;
use std::process::ExitCode;

use kato::client::protocol::Observation;
use kato::client::{ClientError, KatoClient, SessionOptions};
use kato::model::PatternName;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let server = ("SERVER", "the address of a KATO server, http://…");
    let node = ("[NODE]", "the node that is taught and asked; migrated");
    run(&[server, node], |arguments, out| {
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(migrate(arguments, out))
    })
}

async fn migrate(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    // 1. Ids: 6.3 keeps letters, digits and `_` alone, so that `me@et` and `me_et` meet there.
    let node = SessionOptions::new(arguments.or(1, "migrated"));
    // 2. Settings: a threshold of 0 is refused when a session is made; the smallest one is above it.
    let lowest = node.clone().with_recall_threshold(0.0);
    let client = KatoClient::builder(arguments.or(0, ""), lowest).build()?;
    let client = match client.predictions().await {
        Err(error @ (ClientError::Validation { .. } | ClientError::Config { .. })) => {
            writeln!(out, "a setting of 3.10: {error}")?;
            client.fork_with(node.with_recall_threshold(0.01))
        }
        answer => answer.map(|_| client)?,
    };
    let generation = client.generation().await?;
    writeln!(out, "the server is KATO {generation}")?;

    // 3. Predictions: what 3.10 told as records in `anomalies` is in `fuzzy_matches`.
    observe(&client, "it was the best of times").await?;
    let learned: PatternName = client.learn().await?.pattern_name.parse()?;
    observe(&client, "was the worst of").await?;
    for prediction in client.predictions().await?.predictions {
        let records = match generation.anomalies_are_flat() {
            true => &prediction.fuzzy_matches,
            false => &prediction.anomalies,
        };
        let (name, missing) = (&prediction.name, prediction.missing.concat());
        writeln!(
            out,
            "{name}: missing {missing:?}, {} symbols differ",
            records.len()
        )?;
    }

    // 4. What 3.10 could not do: a pattern is taken back, and learning it again is an error by name.
    if generation.can_retire() {
        client.retire(&[learned]).await?;
        client.clear_stm().await?;
        observe(&client, "it was the best of times").await?;
        match client.learn().await {
            Err(ClientError::Retired { .. }) => writeln!(out, "{learned} is retired")?,
            answer => writeln!(out, "learned {}", answer?.pattern_name)?,
        }
        client.unretire(&[learned]).await?;
    }
    client.close().await?;
    Ok(())
}

async fn observe(client: &KatoClient, text: &str) -> Result<(), ClientError> {
    for word in text.split(' ') {
        client.observe(Observation::strings([word])).await?;
    }
    Ok(())
}
