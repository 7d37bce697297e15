//! Ctrl-C and SIGTERM: the first asks the training to save and stop, the second ends the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit code after Ctrl-C and SIGTERM: 128 + SIGINT, as shells report it.
pub const INTERRUPTED: u8 = 130;

/// Listens for signals from now on. The flag is set by the first where a training is to save; else the
/// first ends the process, which leaves nothing half written: files are renamed into their places.
///
/// # Errors
///
/// When the system refuses to listen.
pub fn listen(is_training: bool) -> io::Result<Arc<AtomicBool>> {
    // Where nobody looks at the flag, it stands as if the first signal had come.
    let has_come = Arc::new(AtomicBool::new(!is_training));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&has_come))?;
        flag::register(signal, Arc::clone(&has_come))?;
    }
    Ok(has_come)
}
