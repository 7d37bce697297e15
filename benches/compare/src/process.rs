//! What Linux says of this process and of files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Peak resident set of this process.
pub fn peak_rss_bytes() -> Result<u64> {
    Ok(1024 * field("/proc/self/status", "VmHWM:")?)
}

/// Bytes that this process caused to be sent to the disk.
pub fn written_bytes() -> Result<u64> {
    field("/proc/self/io", "write_bytes:")
}

/// Processor seconds of all threads of this process so far, in user and kernel mode: hardly touched by what else runs.
pub fn cpu_seconds() -> Result<f64> {
    // The kernel's unit towards programs, whatever it uses inside.
    const TICKS_PER_S: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name and may hold anything, blanks too.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("/proc/self/stat has no program name")?;
    let ticks = |field: usize| -> Result<f64> {
        let ticks = fields
            .split_whitespace()
            .nth(field)
            .context("/proc/self/stat is short")?;
        Ok(ticks.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_S)
}

/// Blocks that the files below a directory take: files may be sparse.
pub fn allocated_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() {
            allocated_bytes(&entry.path())?
        } else {
            512 * metadata.blocks()
        };
    }
    Ok(bytes)
}

/// The load of the machine over the last minute.
pub fn load_average() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let first = text
        .split_whitespace()
        .next()
        .context("/proc/loadavg is empty")?;
    Ok(first.parse()?)
}

fn field(path: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(path)?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next());
    Ok(value
        .with_context(|| format!("{path} has no {name}"))?
        .parse()?)
}
