//! What a process has used so far, as Linux tells it.

/// Processor seconds of all threads.
pub(crate) fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    // The name of the program, which comes before, may hold anything but its last bracket.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    fields[11..13]
        .iter()
        .map(|ticks| ticks.parse::<f64>().expect("ticks") / 100.0)
        .sum()
}

/// The largest resident memory.
pub(crate) fn peak() -> String {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap_or("unknown").trim().to_owned()
}
