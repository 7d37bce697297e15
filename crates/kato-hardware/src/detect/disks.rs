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
    let mountinfo = fs::read("/proc/self/mountinfo");
    let listed = match &mountinfo {
        Ok(mountinfo) => Ok(of_mounts(mountinfo)),
        Err(_) => of_system(),
    };
    let mut facts = match listed {
        Ok(facts) => facts,
        Err(reason) => return Finding::unknown(reason),
    };
    keep_visible(&mut facts);
    // Mounts have absolute paths without links. A directory that is not there marks none.
    let Ok(directory) = directory.canonicalize() else {
        return Finding::Known(facts);
    };
    // The list leaves out file systems in memory and on other machines, and the directory may be on
    // one of them.
    if let Ok(mountinfo) = mountinfo
        && let Some(mount) = mounts::mount_of(&mountinfo, &directory)
    {
        match facts.iter_mut().find(|disk| disk.mount == mount.point) {
            Some(disk) => disk.is_measured = true,
            None => facts.extend(stat_mount(mount).map(|disk| DiskFacts {
                is_measured: true,
                ..disk
            })),
        }
    } else {
        mark(&mut facts, &directory);
    }
    Finding::Known(facts)
}

/// File systems of the kernel, and images in files: no storage that one could write to.
const PSEUDO: [&str; 25] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "squashfs",
    "sysfs",
    "tmpfs",
    "tracefs",
];

/// Returns the disks in Linux's list of mounts, which may hold names of any bytes.
fn of_mounts(mountinfo: &[u8]) -> Vec<DiskFacts> {
    mounts::mounts(mountinfo)
        .filter(|mount| {
            let is_of_the_system = ["/sys", "/proc"]
                .iter()
                .any(|dir| mount.point.starts_with(dir));
            let is_of_a_run =
                mount.point.starts_with("/run") && !mount.point.starts_with("/run/media");
            // Asking a server that is away how large its disk is may take minutes. Sandboxes have
            // their own disks by the protocol 9p.
            let may_be_away = is_network(&mount.file_system) && mount.file_system != "9p";
            let is_storage = !PSEUDO.contains(&&*mount.file_system);
            is_storage && !may_be_away && !is_of_the_system && !is_of_a_run
        })
        .filter_map(stat_mount)
        .filter(|disk| disk.total_bytes > 0)
        .collect()
}

/// Returns the disks that the system lists where there is no list of mounts.
fn of_system() -> Result<Vec<DiskFacts>, String> {
    let disks = Disks::new_with_refreshed_list_specifics(DiskRefreshKind::everything())
        .map_err(|error| format!("the system does not list its disks: {error}"))?;
    let facts = disks.iter().map(|disk| {
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
    });
    Ok(facts.collect())
}

/// Returns whether the kernel calls a device, or the disk that it is a part of, rotating.
fn rotation(device: &Path) -> DiskKind {
    // Names like those of a device mapper are links to the device.
    let rotational = device.canonicalize().ok().and_then(|device| {
        let block = Path::new("/sys/class/block").join(device.file_name()?);
        let block = block.canonicalize().ok()?;
        // A partition lies in the directory of its disk.
        let disk = match block.join("partition").exists() {
            true => block.parent()?,
            false => &block,
        };
        fs::read_to_string(disk.join("queue/rotational")).ok()
    });
    match rotational.as_deref().map(str::trim) {
        Some("0") => DiskKind::SSD,
        Some("1") => DiskKind::HDD,
        _ => DiskKind::Unknown(-1),
    }
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

/// Returns the facts of a mount; `None` where they cannot be read.
fn stat_mount(mount: Mount) -> Option<DiskFacts> {
    let stat = statvfs(&mount.point).ok()?;
    let device = mount.source.to_string_lossy().into_owned();
    Some(DiskFacts {
        kind: kind(&device, &mount.file_system, rotation(&mount.source)),
        mount: mount.point,
        device,
        file_system: mount.file_system,
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        // Without the blocks that are kept for the superuser.
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        is_read_only: mount.is_read_only || stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        is_measured: false,
    })
}

/// Returns the kind of storage by file system, device and what the system reports, in this order.
fn kind(device: &str, file_system: &str, kind: DiskKind) -> Finding<StorageKind> {
    // These have no device of their own to ask.
    match file_system {
        name if is_network(name) => return Finding::Known(StorageKind::Network),
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

/// Returns whether a file system lies on another machine.
fn is_network(file_system: &str) -> bool {
    matches!(
        file_system,
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "ceph" | "fuse.sshfs" | "lustre"
    )
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
    fn a_name_of_any_bytes_hides_no_disk() {
        let mountinfo = b"22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
            33 22 0:29 / /media/Donn\xe9es rw - ext4 /dev/sd\xff rw\n\
            34 22 0:30 / /tmp rw - tmpfs tmpfs rw\n\
            35 22 0:31 / /run/x rw - ext4 /dev/vdb rw\n";
        let mounts: Vec<_> = of_mounts(mountinfo)
            .into_iter()
            .map(|disk| disk.mount)
            .collect();
        assert_eq!(mounts, [Path::new("/")]);
    }

    #[test]
    fn exactly_one_file_system_holds_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let found = disks(dir.path());
        let disks = found.known().unwrap();
        assert_eq!(disks.iter().filter(|disk| disk.is_measured).count(), 1);
    }
}
