//! The server as a program: this process serves until it is killed.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;

use crate::connection;
use crate::options::StockOptions;
use crate::world::World;

/// Text on standard output before the address.
pub(crate) const LISTENING: &str = "listening on ";

/// Reads the command line and serves until the process ends: all of the `main` of a program that
/// hosts the server.
#[must_use]
pub fn run_main() -> ExitCode {
    let Err(error) = serve_blocking(StockOptions::parse());
    eprintln!("stock_server: {error}");
    ExitCode::FAILURE
}

/// Serves until the process ends: by SIGTERM or SIGINT (exit code 0), by a kill, or as the options
/// say.
///
/// It writes where it listens to standard output, in one line.
///
/// # Errors
///
/// When the directory cannot be read or written, or the address is not free.
pub fn serve_blocking(options: StockOptions) -> io::Result<Infallible> {
    // The condition is always true, so that a signal ends the process at once, whatever it is
    // doing.
    let at_once = Arc::new(AtomicBool::new(true));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::clone(&at_once))?;
    }
    let listener = TcpListener::bind(options.addr)?;
    let world = Arc::new(World::open(options)?);
    let mut out = io::stdout();
    writeln!(out, "{LISTENING}http://{}", listener.local_addr()?)?;
    // The test that has started the server waits for this line.
    out.flush()?;
    loop {
        connection::serve(&world, &listener);
    }
}
