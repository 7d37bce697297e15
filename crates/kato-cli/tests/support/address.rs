//! Addresses for servers that are killed and started again.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// An address that stays free while its server is down: the system takes ports of outgoing
/// connections from higher ones, and no other test of this process gets it.
pub(crate) fn free_address() -> SocketAddr {
    static N_TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 5_000) as u16;
    loop {
        let port = first + N_TRIED.fetch_add(1, Ordering::Relaxed);
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(addr).is_ok() {
            return addr;
        }
    }
}
