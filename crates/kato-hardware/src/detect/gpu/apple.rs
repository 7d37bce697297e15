//! The answer of `system_profiler` on a Mac.

use serde_json::Value;

use super::Gpu;
use crate::figure::Finding;

pub(super) const ARGUMENTS: [&str; 2] = ["SPDisplaysDataType", "-json"];

/// Parses the answer; `None` for other text.
pub(super) fn parse(text: &str) -> Option<Vec<Gpu>> {
    let answer: Value = serde_json::from_str(text.trim()).ok()?;
    let devices = answer.get("SPDisplaysDataType")?.as_array()?;
    devices
        .iter()
        .map(|device| {
            let text = |key: &str| device.get(key).and_then(Value::as_str);
            let name = text("sppci_model").or_else(|| text("_name"))?;
            let memory = ["spdisplays_vram", "_spdisplays_vram"];
            Some(Gpu {
                name: name.to_owned(),
                memory_bytes: Finding::from_option(
                    memory.iter().find_map(|key| bytes(text(key)?)),
                    "it has no memory of its own: it shares the machine's",
                ),
                driver: Finding::unknown(
                    "drivers are a part of macOS, without versions of their own",
                ),
            })
        })
        .collect()
}

/// Parses a size such as `1536 MB` or `8 GB`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_with_memory_shared_and_one_with_its_own() {
        let text = r#"{"SPDisplaysDataType": [
            {"_name": "Apple M3 Max", "sppci_model": "Apple M3 Max", "sppci_cores": "40",
             "spdisplays_vendor": "sppci_vendor_Apple", "spdisplays_mtlgpufamilysupport": "spdisplays_metal3"},
            {"_name": "AMD Radeon Pro 5500M", "sppci_model": "AMD Radeon Pro 5500M", "spdisplays_vram": "8 GB"}]}"#;
        let gpus = parse(text).unwrap();
        assert_eq!(gpus[0].name, "Apple M3 Max");
        assert!(gpus[0].memory_bytes.reason().unwrap().contains("shares"));
        assert_eq!(gpus[1].memory_bytes, Finding::Known(8 << 30));
        assert_eq!(parse(r#"{"SPDisplaysDataType": []}"#), Some(Vec::new()));
        assert_eq!(parse("system_profiler: unknown"), None);
    }
}
