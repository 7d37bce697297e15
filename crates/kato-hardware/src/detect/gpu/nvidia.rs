//! The answer of `nvidia-smi`.

use super::Gpu;
use crate::figure::Finding;

pub(super) const ARGUMENTS: [&str; 2] = [
    "--query-gpu=name,memory.total,driver_version",
    "--format=csv,noheader,nounits",
];

/// Parses the answer, one line a device: name, MiB of memory, version of the driver; `None` for
/// other text.
pub(super) fn parse(text: &str) -> Option<Vec<Gpu>> {
    if text.trim_start().starts_with("No devices were found") {
        return Some(Vec::new());
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let gpus: Option<Vec<Gpu>> = lines
        .map(|line| {
            // From the right, because names may hold commas.
            let mut columns = line.rsplitn(3, ',').map(str::trim);
            let (driver, memory, name) = (columns.next()?, columns.next()?, columns.next()?);
            let is_number =
                |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            // Such as `[N/A]`, for devices that share the machine's memory.
            let is_bracket = |text: &str| text.starts_with('[') && text.ends_with(']');
            if name.is_empty() || !(is_number(memory) || is_bracket(memory)) {
                return None;
            }
            let bytes = memory.parse::<u64>().ok();
            let bytes = bytes.and_then(|mib| mib.checked_mul(1 << 20));
            let driver = Some(driver).filter(|text| !text.is_empty() && !is_bracket(text));
            Some(Gpu {
                name: name.to_owned(),
                memory_bytes: Finding::from_option(
                    bytes,
                    "nvidia-smi does not tell it of this device",
                ),
                driver: Finding::from_option(
                    driver.map(str::to_owned),
                    "nvidia-smi does not tell it",
                ),
            })
        })
        .collect();
    // The tool says so when there is no device; an empty text is no answer.
    gpus.filter(|gpus| !gpus.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_device() {
        let text = "NVIDIA H200, 143771, 570.133.20\nNVIDIA GeForce RTX 4090, 24564, 570.133.20\n";
        let gpus = parse(text).unwrap();
        assert_eq!(gpus.len(), 2);
        assert_eq!(gpus[0].name, "NVIDIA H200");
        assert_eq!(gpus[0].memory_bytes, Finding::Known(143_771 << 20));
        assert_eq!(gpus[1].driver, Finding::Known("570.133.20".to_owned()));
    }

    #[test]
    fn what_is_not_told_is_unknown() {
        let gpus = parse("NVIDIA GB10, [N/A], 580.95.05\n").unwrap();
        assert!(gpus[0].memory_bytes.reason().is_some());
    }

    #[test]
    fn other_text_is_not_understood() {
        for text in [
            "",
            "\n",
            "Failed to initialize NVML: Unknown Error\n",
            "a,b\n",
            "a, b, c\n",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("No devices were found\n"), Some(Vec::new()));
    }
}
