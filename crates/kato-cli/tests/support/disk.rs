//! A disk that is full.

use std::process::Command;

/// Runs a command under a limit on the size of files, in blocks of 512 or of 1,024 bytes, as the
/// shell likes. The system reports it like a full disk.
pub(crate) fn limited(command: &Command, blocks: u32) -> Command {
    let mut shell = Command::new("sh");
    let script = format!(r#"trap "" XFSZ; ulimit -f {blocks}; exec "$0" "$@""#);
    shell
        .args(["-c", &script])
        .arg(command.get_program())
        .args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}
