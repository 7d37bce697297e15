//! Network interfaces, without their addresses.

use serde::{Deserialize, Serialize};
use sysinfo::{InterfaceOperationalState, Networks};

use crate::figure::Finding;

/// A network interface. Its hardware address is private and not read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkInterface {
    /// `eth0`, `lo`, …
    pub name: String,
    /// Whether it can pass packets.
    pub is_up: Finding<bool>,
    /// Negotiated speed of the link, in millions of bits a second.
    pub speed_mbit_per_s: Finding<u64>,
}

/// Returns the network interfaces by name.
pub(crate) fn interfaces() -> Finding<Vec<NetworkInterface>> {
    let networks = match Networks::new_with_refreshed_list() {
        Ok(networks) => networks,
        Err(error) => {
            return Finding::unknown(format!("the system does not list its interfaces: {error}"));
        }
    };
    let mut interfaces: Vec<NetworkInterface> = networks
        .iter()
        .map(|(name, data)| NetworkInterface {
            name: name.to_string_lossy().into_owned(),
            is_up: match data.operational_state() {
                InterfaceOperationalState::Up => Finding::Known(true),
                InterfaceOperationalState::Down
                | InterfaceOperationalState::LowerLayerDown
                | InterfaceOperationalState::NotPresent => Finding::Known(false),
                _ => Finding::unknown("the driver does not tell, as for loopback"),
            },
            speed_mbit_per_s: Finding::from_option(
                data.transmit_link_speed()
                    .map(|bits| bits / 1_000_000)
                    .filter(|speed| *speed > 0),
                "the driver does not tell, as in virtual machines",
            ),
        })
        .collect();
    // The library keeps them in a hash table.
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    Finding::Known(interfaces)
}
