//! What standard error says beside results: lines for people, or objects with the key `event` for machines.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

use kato_advice::ErrorClass;
use serde_json::{Value, json};

use crate::advice::told;
use crate::output::marked;

/// Whether machines read standard error.
static FOR_MACHINES: AtomicBool = AtomicBool::new(false);

/// Makes every line an object from now on, if a command line asks for it.
///
/// Its text is looked at, as what is wrong with it is to be such an object, too.
pub(crate) fn heed(arguments: &[OsString]) {
    let is_json = |pair: &[OsString]| pair[0] == "--progress" && pair[1] == "json";
    if arguments.windows(2).any(is_json) || arguments.iter().any(|one| one == "--progress=json") {
        // Relaxed, as no other memory is published by the flag.
        FOR_MACHINES.store(true, Ordering::Relaxed);
        // Also what a thread says that panics, such as a worker that dies over a document.
        std::panic::set_hook(Box::new(|panic| {
            say(format_args!("a thread {panic}"));
        }));
    }
}

/// Returns whether every line is an object.
pub(crate) fn is_for_machines() -> bool {
    FOR_MACHINES.load(Ordering::Relaxed)
}

/// Says something.
pub(crate) fn say(text: impl Display) {
    tell("notice", "", &text);
}

/// Says a word of a kind: people read it behind `before`, and machines as the text of an event.
pub(crate) fn tell(event: &str, before: &str, text: &dyn Display) {
    match is_for_machines() {
        true => write(&json!({"event": event, "text": text.to_string()})),
        false => write(&format_args!("{before}{text}")),
    }
}

/// Tells machines of an event.
pub(crate) fn emit(event: &Value) {
    write(event);
}

/// Writes a line. A closed standard error must not end the program.
fn write(line: &dyn Display) {
    drop(writeln!(stderr(), "{line}"));
}

/// Ends the program with what is wrong with its command line, or with the help that was asked for.
#[expect(
    clippy::exit,
    reason = "as the parser itself does, before there is anything to put in order"
)]
pub(crate) fn exit(error: &clap::Error) -> ! {
    if is_for_machines() && error.use_stderr() {
        let text = error.to_string();
        tell("error", "", &text.trim().trim_start_matches("error: "));
        std::process::exit(error.exit_code());
    }
    let code = match error.print() {
        // A closed standard error takes nothing; whoever closes standard output has what it wants.
        Err(failure) if !error.use_stderr() && failure.kind() != ErrorKind::BrokenPipe => {
            let class = ErrorClass::of_io(failure.kind());
            tell("error", "error: ", &told(&marked(failure).into()));
            class.exit_code().into()
        }
        _ => error.exit_code(),
    };
    std::process::exit(code);
}
