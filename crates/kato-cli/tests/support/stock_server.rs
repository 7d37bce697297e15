//! The stand-in for a real KATO as a program beside the tests, because `cargo test` of one package
//! does not build another's programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    kato_stock_server::run_main()
}
