//! The target `session` as a program: under cargo-fuzz its fuzzer, else a run of the inputs in the
//! files given.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kato_fuzz::session(bytes));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    kato_fuzz::run_files(kato_fuzz::session, std::env::args_os().skip(1))
}
