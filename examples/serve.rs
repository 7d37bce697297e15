//! Serves a directory of knowledge over KATO's HTTP API, until Ctrl-C.
//!
//! Run: `cargo run --release -p kato-examples --example serve --features server -- ./knowledge 127.0.0.1:8000`

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use kato::server::Server;
use kato::service::{Service, ServiceOptions};
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let folder = ("[FOLDER]", "where the knowledge is and stays; knowledge");
    run(
        &[
            folder,
            ("[ADDRESS]", "an address and a port; 127.0.0.1:8000"),
        ],
        serve,
    )
}

fn serve(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let addr: SocketAddr = arguments.parse(1, "127.0.0.1:8000")?;
    let service = Service::open(arguments.or(0, "knowledge"), ServiceOptions::default())?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let server = Server::builder(service).with_addr(addr).bind().await?;
            writeln!(out, "listening on http://{}", server.local_addr())?;
            let stop = async {
                // Without signals nobody can ask it to stop, and it serves on.
                if tokio::signal::ctrl_c().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            // Answers what it has begun, then writes everything down.
            server.serve(stop).await?;
            Ok(())
        })
}
