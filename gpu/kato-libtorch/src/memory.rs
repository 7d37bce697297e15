//! How much memory a computation took.

use tch::Device;

use crate::Error;
#[cfg(cuda_headers)]
use crate::native;

/// Begins to count a device's peak anew. A processor's cannot be reset: it is that of the process.
///
/// # Errors
///
/// What LibTorch refuses.
pub fn reset_peak(device: Device) -> Result<(), Error> {
    #[cfg(cuda_headers)]
    if let Device::Cuda(index) = device {
        return native::reset_peak_memory(index);
    }
    let _ = device;
    Ok(())
}

/// Returns the most bytes: of tensors on a CUDA device since the last reset, or resident in this process
/// so far; `None` where nobody counts.
///
/// # Errors
///
/// What LibTorch refuses.
pub fn peak(device: Device) -> Result<Option<u64>, Error> {
    match device {
        #[cfg(cuda_headers)]
        Device::Cuda(index) => native::peak_memory(index).map(Some),
        Device::Cpu => Ok(resident()),
        _ => Ok(None),
    }
}

/// Reads what Linux says of this process.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
