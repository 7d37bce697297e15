//! The clock of the measurements.

/// Returns the processor time of this process so far, in seconds.
pub(crate) fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split(' ')
        .collect();
    (fields[12].parse::<f64>().expect("ticks") + fields[13].parse::<f64>().expect("ticks")) / 100.0
}
