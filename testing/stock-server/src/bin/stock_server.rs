//! A stand-in for a real KATO server; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    kato_stock_server::run_main()
}
