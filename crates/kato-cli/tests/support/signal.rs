//! Sending signals to programs.

use std::process::{Child, Command};

pub(crate) fn signal(child: &Child, name: &str) {
    // It may have ended meanwhile, so whether the signal arrived is for the exit code to say.
    let kill = format!("kill -{name} {} 2>/dev/null", child.id());
    Command::new("sh").args(["-c", &kill]).status().unwrap();
}
