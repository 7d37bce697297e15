//! Reads pressure stall information: of the system, and of a control group.

use std::path::PathBuf;

use super::parse::{Files, pressure};
use crate::snapshot::PressureSnapshot;

/// Reads the three pressure files; `None` if none of them exists.
pub(crate) fn pressure_of(
    files: &mut Files,
    path: impl Fn(&str) -> PathBuf,
) -> Option<PressureSnapshot> {
    let mut read = |kind| files.read(&path(kind)).map_or((None, None), pressure);
    // For processors, `full` is not defined at the level of the system.
    let (cpu_some, _) = read("cpu");
    let (io_some, io_full) = read("io");
    let (memory_some, memory_full) = read("memory");
    let found = PressureSnapshot {
        cpu_some,
        io_some,
        io_full,
        memory_some,
        memory_full,
    };
    (found != PressureSnapshot::default()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = |kind: &str| dir.path().join(format!("{kind}.pressure"));
        let files = &mut Files::default();
        assert_eq!(pressure_of(files, path), None);
        std::fs::write(path("memory"), "some avg10=0 total=1000000\n").unwrap();
        let pressure = pressure_of(files, path).unwrap();
        assert_eq!((pressure.memory_some, pressure.io_some), (Some(1.0), None));
    }
}
