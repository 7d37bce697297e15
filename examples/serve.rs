//! Serves a directory of knowledge over KATO's HTTP API, until Ctrl-C.
//!
//! Run: `cargo run --release --example serve --features server -- ./knowledge 127.0.0.1:8000`

use std::io::{self, Write};
use std::path::Path;

use kato::server::Server;
use kato::service::{Service, ServiceOptions};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| "knowledge".to_owned());
    let addr = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let service = Service::open(Path::new(&dir), ServiceOptions::default())?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let server = Server::builder(service)
                .with_addr(addr.parse()?)
                .bind()
                .await?;
            writeln!(io::stdout(), "listening on http://{}", server.local_addr())?;
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
