//! Detection of virtual machines and containers, whose figures depend on their neighbours.

use std::fs;
use std::path::Path;

use kato_probe::process::Cgroups;
use serde::{Deserialize, Serialize};

use crate::figure::Finding;

/// Signs that the machine is virtual or a container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Virtualization {
    /// Whether the processor reports a hypervisor.
    pub has_hypervisor: Finding<bool>,
    /// Maker and name of the machine, by which virtual ones can be recognised.
    pub product: Finding<String>,
    /// Container that the process runs in, with the sign by which it was recognised; `None`
    /// without any sign.
    pub container: Finding<Option<String>>,
}

/// Words that container engines leave in the paths of control groups.
const ENGINES: [&str; 5] = ["docker", "kubepods", "containerd", "lxc", "libpod"];

impl Virtualization {
    /// Reads the signs; `root` is the directory in which the system's files begin.
    pub(crate) fn read(root: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        let product = {
            let names = ["sys_vendor", "product_name"];
            let names = names.map(|name| read(&format!("sys/class/dmi/id/{name}")));
            let names: Vec<String> = names
                .into_iter()
                .flatten()
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect();
            (!names.is_empty()).then(|| names.join(" "))
        };
        let is_linux = root.join("proc/self").exists();
        Self {
            has_hypervisor: match read("proc/cpuinfo") {
                Some(info) => hypervisor(&info),
                None => Finding::unknown("read from /proc/cpuinfo, which only Linux has"),
            },
            product: Finding::from_option(
                product,
                "the machine has no DMI table, or it cannot be read",
            ),
            container: if is_linux {
                Finding::Known(container(root))
            } else {
                Finding::unknown("containers are told by files that only Linux has")
            },
        }
    }

    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            has_hypervisor: Finding::unknown(reason),
            product: Finding::unknown(reason),
            container: Finding::unknown(reason),
        }
    }
}

/// Parses the flag of a hypervisor, which only x86 has.
fn hypervisor(info: &str) -> Finding<bool> {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags"));
    let is_there = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    Finding::from_option(is_there, "this kind of processor does not tell")
}

/// Returns the container engine with its sign; `None` without any.
fn container(root: &Path) -> Option<String> {
    let signs = [
        (".dockerenv", "Docker"),
        ("run/.containerenv", "Podman"),
        ("run/systemd/container", "systemd-nspawn or LXC"),
    ];
    for (file, engine) in signs {
        if root.join(file).exists() {
            return Some(format!("{engine} (/{file})"));
        }
    }
    // Engines that leave no such file show in the path of the control group.
    let memberships = fs::read(root.join("proc/self/cgroup")).unwrap_or_default();
    let memberships = String::from_utf8_lossy(&memberships);
    let engine = Cgroups::paths(&memberships)
        .find_map(|path| ENGINES.iter().find(|engine| path.contains(**engine)));
    if let Some(engine) = engine {
        return Some(format!("{engine} (control group)"));
    }
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    release
        .to_lowercase()
        .contains("microsoft")
        .then(|| "Windows Subsystem for Linux (kernel release)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Virtualization {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Virtualization::read(root.path())
    }

    #[test]
    fn a_virtual_machine_gives_itself_away() {
        let found = read(&[
            (
                "proc/cpuinfo",
                "processor : 0\nflags\t\t: fpu sse2 hypervisor\n",
            ),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("sys/class/dmi/id/product_name", "Standard PC\n"),
        ]);
        assert_eq!(found.has_hypervisor, Finding::Known(true));
        assert_eq!(found.product, Finding::Known("QEMU Standard PC".to_owned()));
        assert_eq!(found.container, Finding::Known(None));
    }

    #[test]
    fn containers_are_told_by_their_traces() {
        let cases: [(&str, &str, &str); 4] = [
            (".dockerenv", "", "Docker"),
            ("run/.containerenv", "", "Podman"),
            (
                "proc/self/cgroup",
                "0::/kubepods/burstable/pod1\n",
                "kubepods",
            ),
            (
                "proc/sys/kernel/osrelease",
                "5.15.0-microsoft-standard-WSL2\n",
                "Windows",
            ),
        ];
        for (path, text, engine) in cases {
            let found = read(&[(path, text)]).container;
            assert!(
                matches!(&found, Finding::Known(Some(name)) if name.contains(engine)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn other_processors_do_not_tell() {
        let found = read(&[("proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n")]);
        assert!(found.has_hypervisor.reason().is_some());
    }
}
