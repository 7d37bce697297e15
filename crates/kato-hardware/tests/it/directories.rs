//! Directories that are missing, read-only, small, forbidden or in memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kato_hardware::HardwareProfile;
use kato_hardware::figure::MeasurementMethod;
use kato_hardware::prediction::Workload;
use kato_test_needs::pass_over;

use crate::support::{assert_empty, reason, short};

fn assert_unknown(profile: &HardwareProfile, expected: &str) {
    let benchmarks = &profile.benchmarks;
    let mut figures = vec![
        &benchmarks.disk.sequential_write,
        &benchmarks.disk.sequential_read,
        &benchmarks.disk.random_write_latency,
        &benchmarks.disk.random_read,
        &benchmarks.disk.flush_latency,
    ];
    if cfg!(feature = "store") {
        figures.push(&benchmarks.store.write);
        figures.push(&benchmarks.store.pattern_bytes);
    }
    for figure in figures {
        assert!(reason(figure).contains(expected), "{figure}");
    }
    assert!(
        benchmarks.naming.tokens_one_core.known().is_some(),
        "the rest is measured"
    );
    let prediction = profile.predict(&Workload::of_samples(1000)).unwrap();
    assert!(prediction.samples_per_second.reason().is_some());
}

#[test]
fn a_directory_that_is_missing_or_no_directory_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for place in [dir.path().join("nowhere"), file] {
        let profile = short(&place).build().unwrap().analyze_full();
        assert_unknown(&profile, "can be made in");
    }
}

#[test]
fn a_directory_that_takes_no_files_is_unknown() {
    // Not even the superuser may make files here.
    let profile = short(Path::new("/proc/self"))
        .build()
        .unwrap()
        .analyze_full();
    assert_unknown(&profile, "can be made in");
}

/// A file system in memory that is unmounted when dropped; `None` where mounting is not allowed.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new(options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            pass_over("file systems cannot be mounted here: run it as the superuser");
        }
        mounted.then(|| Self(dir))
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_mounted_read_only_is_told_and_unknown() {
    let Some(mount) = Mount::new("ro,size=256m") else {
        return;
    };
    let profile = short(&mount.path()).build().unwrap().analyze_full();
    assert_unknown(&profile, "Read-only");
    let disks = profile.disks.known().unwrap();
    let disk = disks.iter().find(|disk| disk.is_measured).unwrap();
    assert!(disk.is_read_only && disk.mount == mount.path());
}

#[test]
fn a_tiny_disk_is_not_filled_but_unknown() {
    let Some(mount) = Mount::new("size=8m") else {
        return;
    };
    let profile = short(&mount.path()).build().unwrap().analyze_full();
    assert_unknown(&profile, "are free");
    assert_empty(&mount.path());
}

#[test]
fn a_disk_in_memory_passes_for_no_disk() {
    let Some(mount) = Mount::new("size=512m") else {
        return;
    };
    let profile = short(&mount.path()).build().unwrap().analyze_full();
    let write = profile.benchmarks.disk.sequential_write.known().unwrap();
    assert_eq!(write.validity.method, MeasurementMethod::Cached);
    assert!(
        write
            .validity
            .note
            .as_ref()
            .unwrap()
            .contains("lies in memory")
    );
    let criterion = |name: &str| {
        let mut criteria = profile.rating.criteria.iter();
        criteria.find(|criterion| criterion.name == name).unwrap()
    };
    assert!(criterion("sequential write").reaches.reason().is_some());
    let disks = profile.disks.known().unwrap();
    let disk = disks.iter().find(|disk| disk.is_measured).unwrap();
    assert_eq!(
        disk.kind.known(),
        Some(&kato_hardware::facts::StorageKind::Memory)
    );
    assert_empty(&mount.path());
}

const PLACE: &str = "KATO_HARDWARE_TEST_PLACE";

/// The other half of the test below.
#[test]
fn analyzes_where_the_test_of_limits_says() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let limited = short(Path::new(&place)).with_time_limit(Duration::from_secs(2));
    let profile = limited.build().unwrap().analyze_full();
    println!(
        "REASON {}",
        reason(&profile.benchmarks.disk.sequential_write)
    );
}

#[test]
fn a_limit_on_the_size_of_files_ends_no_process() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        // Blocks of 512 bytes in some shells, of 1,024 in others: 4 or 8 MiB.
        .args(["-c", "ulimit -f 8192; exec \"$0\" --exact directories::analyzes_where_the_test_of_limits_says --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(PLACE, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("raise the limit (`ulimit -f`)"), "{text}");
    assert_empty(dir.path());
}
