//! The target `journal` as a program: under cargo-fuzz its fuzzer, else a run of the inputs in the
//! files given.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(
    init: {
        // The journal's database asserts where it could return an error, and opening a service
        // catches that. libFuzzer's own hook ends the process at every panic; without it, those
        // that nobody catches still do.
        std::panic::set_hook(Box::new(|_| {}));
    },
    |bytes: &[u8]| kato_fuzz::journal(bytes)
);

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    kato_fuzz::run_files(kato_fuzz::journal, std::env::args_os().skip(1))
}
