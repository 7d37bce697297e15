//! Where the example programs are.

use std::path::{Path, PathBuf};

/// The path of an example program, which `cargo test` builds beside the tests.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "build the examples first: cargo build -p kato-examples --examples"
    );
    program
}
