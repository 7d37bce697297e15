//! Mounted file systems: their kind, size and free room, and which one holds the directory
//! measured.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use serde::{Deserialize, Serialize};
use sysinfo::{DiskKind, DiskRefreshKind, Disks};

use super::mounts::{self, Mount};
use crate::figure::Finding;

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskFacts {
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The device or source.
    pub device: String,
    /// `ext4`, `xfs`, …
    pub file_system: String,
    /// Kind of the storage behind it.
    pub kind: Finding<StorageKind>,
    /// Size, in bytes.
    pub total_bytes: u64,
    /// Free room that this user can fill, in bytes.
    pub free_bytes: u64,
    /// Whether it was mounted for reading only.
    pub is_read_only: bool,
    /// Whether the directory measured is on it.
    pub is_measured: bool,
}

/// The kind of storage behind a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StorageKind {
    /// Solid state.
    Ssd,
    /// Solid state, attached by NVMe.
    Nvme,
    /// Rotating.
    Hdd,
    /// Another machine.
    Network,
    /// Other file systems, one over the other, as in containers.
    Overlay,
    /// Memory, which is lost with the machine.
    Memory,
}

impl StorageKind {
    /// Returns the kind in a word or two.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ssd => "SSD",
            Self::Nvme => "NVMe",
            Self::Hdd => "rotating",
            Self::Network => "network",
            Self::Overlay => "overlay",
            Self::Memory => "memory",
        }
    }
}

/// Prefixes of devices that a hypervisor makes. What they report of themselves is not what is
/// behind them.
const VIRTUAL: [&str; 2] = ["/dev/vd", "/dev/xvd"];

/// Returns the mounted file systems by path, with the one that holds the directory marked.
pub(crate) fn disks(directory: &Path) -> Finding<Vec<DiskFacts>> {
    let disks = match Disks::new_with_refreshed_list_specifics(DiskRefreshKind::everything()) {
        Ok(disks) => disks,
        Err(error) => {
            return Finding::unknown(format!("the system does not list its disks: {error}"));
        }
    };
    let mut facts: Vec<DiskFacts> = disks
        .iter()
        .map(|disk| {
            let device = disk.name().to_string_lossy().into_owned();
            DiskFacts {
                mount: disk.mount_point().to_owned(),
                file_system: disk.file_system().to_string_lossy().into_owned(),
                kind: kind(&device, &disk.file_system().to_string_lossy(), disk.kind()),
                device,
                total_bytes: disk.total_space(),
                free_bytes: disk.available_space(),
                is_read_only: disk.is_read_only(),
                is_measured: false,
            }
        })
        .collect();
    keep_visible(&mut facts);
    // Mounts have absolute paths without links. A directory that is not there marks none.
    let Ok(directory) = directory.canonicalize() else {
        return Finding::Known(facts);
    };
    // The list leaves out file systems in memory and on other machines, and the directory may be on
    // one of them.
    if let Ok(mountinfo) = fs::read_to_string("/proc/self/mountinfo")
        && let Some(mount) = mounts::mount_of(&mountinfo, &directory)
    {
        match facts.iter_mut().find(|disk| disk.mount == mount.point) {
            Some(disk) => disk.is_measured = true,
            None => facts.extend(stat_mount(mount)),
        }
    } else {
        mark(&mut facts, &directory);
    }
    Finding::Known(facts)
}

/// Sorts the file systems by path and leaves out those that are hidden by a later mount on the same
/// path.
fn keep_visible(facts: &mut Vec<DiskFacts>) {
    // They are listed in the order of mounting. Of equals the first stays, and sorting keeps their
    // order, so the last one mounted has to come first.
    facts.reverse();
    facts.sort_by(|a, b| a.mount.cmp(&b.mount));
    facts.dedup_by(|a, b| a.mount == b.mount);
}

/// Returns the facts of the mount that holds the directory; `None` where they cannot be read.
fn stat_mount(mount: Mount) -> Option<DiskFacts> {
    let stat = statvfs(&mount.point).ok()?;
    Some(DiskFacts {
        kind: kind(&mount.source, &mount.file_system, DiskKind::Unknown(-1)),
        mount: mount.point,
        device: mount.source,
        file_system: mount.file_system,
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        // Without the blocks that are kept for the superuser.
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        is_read_only: mount.is_read_only || stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        is_measured: true,
    })
}

/// Returns the kind of storage by file system, device and what the system reports, in this order.
fn kind(device: &str, file_system: &str, kind: DiskKind) -> Finding<StorageKind> {
    // These have no device of their own to ask.
    match file_system {
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "ceph" | "fuse.sshfs" | "lustre" => {
            return Finding::Known(StorageKind::Network);
        }
        "overlay" | "aufs" | "fuse-overlayfs" => return Finding::Known(StorageKind::Overlay),
        "tmpfs" | "ramfs" => return Finding::Known(StorageKind::Memory),
        _ => {}
    }
    if device.starts_with("/dev/nvme") {
        return Finding::Known(StorageKind::Nvme);
    }
    if VIRTUAL.iter().any(|prefix| device.starts_with(prefix)) {
        return Finding::unknown("a virtual disk: what is behind it only its host knows");
    }
    match kind {
        DiskKind::SSD => Finding::Known(StorageKind::Ssd),
        DiskKind::HDD => Finding::Known(StorageKind::Hdd),
        DiskKind::Unknown(_) => Finding::unknown("the operating system does not tell"),
    }
}

/// Marks the file system with the longest mount point above the directory.
fn mark(disks: &mut [DiskFacts], directory: &Path) {
    let holding = disks
        .iter_mut()
        .filter(|disk| directory.starts_with(&disk.mount))
        .max_by_key(|disk| disk.mount.components().count());
    if let Some(disk) = holding {
        disk.is_measured = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(mount: &Path) -> DiskFacts {
        DiskFacts {
            mount: mount.to_owned(),
            device: "/dev/sda1".to_owned(),
            file_system: "ext4".to_owned(),
            kind: Finding::Known(StorageKind::Ssd),
            total_bytes: 2,
            free_bytes: 1,
            is_read_only: false,
            is_measured: false,
        }
    }

    #[test]
    fn the_nearest_mount_above_holds_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let inner = base.join("data/kb");
        std::fs::create_dir_all(&inner).unwrap();
        let mut disks = [
            disk(Path::new("/")),
            disk(&base.join("data")),
            disk(&base.join("dat")),
        ];
        mark(&mut disks, &inner);
        assert_eq!(disks.map(|disk| disk.is_measured), [false, true, false]);
    }

    #[test]
    fn a_later_mount_hides_an_earlier_one_on_its_path() {
        let mounted = |mount: &str, device: &str| DiskFacts {
            device: device.to_owned(),
            ..disk(Path::new(mount))
        };
        let mut facts = vec![
            mounted("/data", "below"),
            mounted("/", "root"),
            mounted("/data", "above"),
        ];
        keep_visible(&mut facts);
        let devices: Vec<&str> = facts.iter().map(|disk| disk.device.as_str()).collect();
        assert_eq!(devices, ["root", "above"]);
    }

    #[test]
    fn the_file_system_and_the_device_tell_the_kind() {
        let cases = [
            ("/dev/sda1", "ext4", DiskKind::HDD, StorageKind::Hdd),
            ("/dev/sda1", "ext4", DiskKind::SSD, StorageKind::Ssd),
            ("/dev/nvme0n1p2", "xfs", DiskKind::SSD, StorageKind::Nvme),
            (
                "server:/export",
                "nfs4",
                DiskKind::Unknown(-1),
                StorageKind::Network,
            ),
            (
                "overlay",
                "overlay",
                DiskKind::Unknown(-1),
                StorageKind::Overlay,
            ),
            ("tmpfs", "tmpfs", DiskKind::Unknown(-1), StorageKind::Memory),
        ];
        for (device, file_system, told, expected) in cases {
            assert_eq!(kind(device, file_system, told), Finding::Known(expected));
        }
    }

    #[test]
    fn a_virtual_disk_does_not_pass_for_a_rotating_one() {
        assert!(kind("/dev/vda1", "ext4", DiskKind::HDD).reason().is_some());
        assert!(
            kind("/dev/x", "fuse", DiskKind::Unknown(-1))
                .reason()
                .is_some()
        );
    }

    #[test]
    fn exactly_one_file_system_holds_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let found = disks(dir.path());
        let disks = found.known().unwrap();
        assert_eq!(disks.iter().filter(|disk| disk.is_measured).count(), 1);
    }
}
