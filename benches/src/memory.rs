//! Memory that this process has used.

/// Returns the most bytes that this process has had resident at once, as Linux counts them
/// (`VmHWM`); mapped files are part of it. `None` on other systems.
#[must_use]
pub fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}
