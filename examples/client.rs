//! Uses a node of a KATO server, one of ours or a stock one: observes, learns, predicts, and says what
//! became of a call that failed.
//!
//! Run, beside `cargo run --release -p kato-examples --example serve --features server`:
//! `cargo run --release -p kato-examples --example client --features client -- http://127.0.0.1:8000 my_node`

use std::io::Write;
use std::process::ExitCode;

use kato::client::protocol::Observation;
use kato::client::{ClientError, KatoClient, SessionOptions};
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let server = ("SERVER", "the address of a KATO server, http://…");
    run(
        &[
            server,
            ("[NODE]", "the node that is taught and asked; example"),
        ],
        |arguments, out| {
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?
                .block_on(use_node(arguments, out))
        },
    )
}

async fn use_node(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    // A client is one session, made with the first call, and made again where the server has lost it.
    let options = SessionOptions::new(arguments.or(1, "example"));
    let client = KatoClient::builder(arguments.or(0, ""), options).build()?;
    for word in ["it", "was", "the", "best", "of", "times"] {
        let observation = Observation::strings([word])
            .with_emotive("joy", 0.8)
            .with_metadata("book", "A Tale of Two Cities");
        client.observe(observation).await?;
    }
    let learned = client.learn().await?.pattern_name;
    writeln!(out, "learned {learned}")?;

    for word in ["was", "the"] {
        client.observe(Observation::strings([word])).await?;
    }
    for prediction in client.predictions().await?.predictions.iter().take(3) {
        let (name, future) = (&prediction.name, &prediction.future);
        writeln!(
            out,
            "predicts {name}, next {future:?}, feeling {:?}",
            prediction.emotives
        )?;
    }

    // Nothing to learn: the server refuses, and says why.
    client.clear_stm().await?;
    match client.learn().await {
        // Of a server that cannot tell whether it acted; nothing is done twice without a word.
        Err(ClientError::OutcomeUnknown { .. }) => {
            writeln!(out, "nobody knows whether it learned")?
        }
        Err(error) => writeln!(out, "refused, status {:?}", error.status())?,
        Ok(_) => anyhow::bail!("an empty memory was learned"),
    }
    client.close().await?;
    Ok(())
}
