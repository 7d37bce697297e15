//! The words of a program for what takes its time, which on a busy machine is anything.

/// What a program said on standard error beside what it waited for: a line, and `done in …` in the end.
pub(crate) fn beside_waits(said: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in said.lines() {
        match line.starts_with("done in ") {
            true => drop(lines.pop()),
            false => lines.push(line),
        }
    }
    lines.join("\n")
}
