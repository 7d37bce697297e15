//! The answers of `amd-smi` and `rocm-smi`, and the kernel's list of AMD's cards.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::Gpu;
use crate::figure::Finding;

pub(super) const AMD_SMI_ARGUMENTS: [&str; 5] =
    ["static", "--asic", "--driver", "--vram", "--json"];
pub(super) const ROCM_SMI_ARGUMENTS: [&str; 5] = [
    "--showproductname",
    "--showmeminfo",
    "vram",
    "--showdriverversion",
    "--json",
];

/// Parses the answer of `amd-smi`: a list of devices, in newer versions below `gpu_data`.
pub(super) fn parse_amd_smi(text: &str) -> Option<Vec<Gpu>> {
    let answer: Value = serde_json::from_str(text.trim()).ok()?;
    let devices = answer.get("gpu_data").unwrap_or(&answer).as_array()?;
    devices
        .iter()
        .map(|device| {
            let name = device.pointer("/asic/market_name")?.as_str()?;
            let driver = ["/driver/version", "/driver/driver_version"];
            let driver = driver
                .iter()
                .find_map(|path| device.pointer(path)?.as_str());
            Some(Gpu {
                name: name.to_owned(),
                memory_bytes: Finding::from_option(
                    device.pointer("/vram/size").and_then(size),
                    "amd-smi does not tell it of this device",
                ),
                driver: Finding::from_option(
                    driver.filter(|text| *text != "N/A").map(str::to_owned),
                    "amd-smi does not tell it",
                ),
            })
        })
        .collect()
}

/// Parses a size such as `{"value": 196592, "unit": "MB"}`, whose megabytes are 2^20 bytes.
fn size(size: &Value) -> Option<u64> {
    let scale = match size.get("unit")?.as_str()? {
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    size.get("value")?.as_u64()?.checked_mul(scale)
}

/// Parses the answer of `rocm-smi`: an object with an entry for each card, `card0` and so on, and
/// one for the system.
pub(super) fn parse_rocm_smi(text: &str) -> Option<Vec<Gpu>> {
    // Warnings may stand before the object; without any card there is nothing but such lines, or an
    // empty object.
    let start = text.find('{')?;
    let answer: Map<String, Value> = serde_json::from_str(text[start..].trim()).ok()?;
    let driver = answer
        .get("system")
        .and_then(|system| system.get("Driver version")?.as_str());
    let cards = answer.iter().filter(|(key, _)| key.starts_with("card"));
    let gpus: Option<Vec<Gpu>> = cards
        .map(|(_, card)| {
            // Versions of the tool differ in the names of the keys.
            let names = ["Card Series", "Card series", "Card Model", "Card model"];
            let name = names.iter().find_map(|key| card.get(key)?.as_str())?;
            let bytes = card.get("VRAM Total Memory (B)").and_then(Value::as_str);
            Some(Gpu {
                name: name.to_owned(),
                memory_bytes: Finding::from_option(
                    bytes.and_then(|bytes| bytes.parse().ok()),
                    "rocm-smi does not tell it of this device",
                ),
                driver: Finding::from_option(
                    driver.map(str::to_owned),
                    "rocm-smi does not tell it",
                ),
            })
        })
        .collect();
    gpus
}

/// Reads the cards that Linux lists below `sys/class/drm`, without any tool; `None` without any
/// card of AMD's.
pub(super) fn read_sysfs(root: &Path) -> Option<Vec<Gpu>> {
    // The vendor's number in the PCI register.
    const AMD: &str = "0x1002";
    let entries = fs::read_dir(root.join("sys/class/drm")).ok()?;
    let mut devices: Vec<_> = entries
        .flatten()
        // Cards, and not their connectors, such as `card0-DP-1`.
        .filter(|entry| {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("card"));
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        })
        .map(|entry| entry.path().join("device"))
        .collect();
    devices.sort();
    let gpus: Vec<Gpu> = devices
        .iter()
        .filter_map(|device| {
            let read = |name: &str| {
                let text = fs::read_to_string(device.join(name)).ok()?;
                Some(text.trim().to_owned()).filter(|text| !text.is_empty())
            };
            let id = read("device").filter(|_| read("vendor").as_deref() == Some(AMD))?;
            Some(Gpu {
                name: read("product_name").unwrap_or_else(|| format!("AMD device {id}")),
                memory_bytes: Finding::from_option(
                    read("mem_info_vram_total").and_then(|bytes| bytes.parse().ok()),
                    "the driver does not tell it of this device",
                ),
                driver: Finding::unknown(
                    "a part of the kernel: install amd-smi to see its version",
                ),
            })
        })
        .collect();
    (!gpus.is_empty()).then_some(gpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_cards_but_not_of_connectors_or_other_makers() {
        let root = tempfile::tempdir().unwrap();
        for (card, vendor, memory) in [
            ("card0", "0x1002", Some("17163091968")),
            ("card0-DP-1", "0x1002", None),
            ("card1", "0x10de", None),
            ("card2", "0x1002", None),
        ] {
            let device = root.path().join("sys/class/drm").join(card).join("device");
            fs::create_dir_all(&device).unwrap();
            let files = [
                ("vendor", Some(vendor)),
                ("device", Some("0x73bf")),
                ("mem_info_vram_total", memory),
            ];
            for (name, text) in files {
                if let Some(text) = text {
                    fs::write(device.join(name), format!("{text}\n")).unwrap();
                }
            }
        }
        let gpus = read_sysfs(root.path()).unwrap();
        assert_eq!(gpus.len(), 2);
        assert_eq!(gpus[0].name, "AMD device 0x73bf");
        assert_eq!(gpus[0].memory_bytes, Finding::Known(17_163_091_968));
        assert!(gpus[1].memory_bytes.reason().is_some());
        assert_eq!(read_sysfs(&root.path().join("nowhere")), None);
    }

    const DEVICE: &str = r#"{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002"},
        "driver": {"name": "amdgpu", "version": "6.10.5"}, "vram": {"type": "HBM", "size": {"value": 196592, "unit": "MB"}}}"#;

    #[test]
    fn amd_smi_of_both_shapes() {
        for text in [
            format!("[{DEVICE}]"),
            format!(r#"{{"gpu_data": [{DEVICE}]}}"#),
        ] {
            let gpus = parse_amd_smi(&text).unwrap();
            assert_eq!(gpus[0].name, "AMD Instinct MI300X");
            assert_eq!(gpus[0].memory_bytes, Finding::Known(196_592 << 20));
            assert_eq!(gpus[0].driver, Finding::Known("6.10.5".to_owned()));
        }
        assert_eq!(parse_amd_smi("[]"), Some(Vec::new()));
        assert_eq!(parse_amd_smi("ERROR"), None);
    }

    #[test]
    fn rocm_smi_names_cards_and_system() {
        let text = r#"WARNING: AMD GPU device(s) is/are in a low-power state.
            {"card0": {"Card Series": "AMD Radeon RX 7900 XTX", "VRAM Total Memory (B)": "25753026560",
             "VRAM Total Used Memory (B)": "27787264"}, "system": {"Driver version": "6.8.5"}}"#;
        let gpus = parse_rocm_smi(text).unwrap();
        assert_eq!(gpus[0].name, "AMD Radeon RX 7900 XTX");
        assert_eq!(gpus[0].memory_bytes, Finding::Known(25_753_026_560));
        assert_eq!(gpus[0].driver, Finding::Known("6.8.5".to_owned()));
        assert_eq!(parse_rocm_smi("{}"), Some(Vec::new()));
        assert_eq!(parse_rocm_smi("ROCm driver is not loaded"), None);
    }
}
