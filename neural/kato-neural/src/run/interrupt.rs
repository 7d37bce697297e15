//! Ctrl-C and SIGTERM: the first ends the process, or asks a training to save and stop; the second ends the
//! process in any case.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit code after Ctrl-C and SIGTERM: 128 + SIGINT, as shells report it.
pub const INTERRUPTED: u8 = 130;

/// What listens for Ctrl-C and SIGTERM.
#[derive(Debug)]
pub struct Signals {
    has_come: Arc<AtomicBool>,
}

impl Signals {
    /// Listens for signals from now on. The first ends the process, which leaves nothing half written: files
    /// are renamed into their places.
    ///
    /// # Errors
    ///
    /// When the system refuses to listen.
    pub fn listen() -> io::Result<Self> {
        // As long as nobody looks at the flag, it stands as if the first signal had come.
        let has_come = Arc::new(AtomicBool::new(true));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the second signal finds the flag that the first one set.
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&has_come))?;
            flag::register(signal, Arc::clone(&has_come))?;
        }
        Ok(Self { has_come })
    }

    /// Returns the flag that the first signal sets from now on, instead of ending the process: for a training,
    /// which looks at it after each step and saves, and for what other processes do for this one, which it
    /// ends first.
    #[must_use]
    pub fn begin_training(&self) -> &AtomicBool {
        // Relaxed, as no other memory is published by the flag.
        self.has_come.store(false, Ordering::Relaxed);
        &self.has_come
    }
}
