//! A few cards, and the links between them: what the planner has to know of a card. Chapter 8 keeps the long, dated table
//! of what can be bought and rented.

use super::network::Network;
use crate::{
    comm::cost::AlphaBeta,
    error::{Error, Result},
};
use serde::Serialize;

/// What a planner has to know of a card and of its links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// Bytes of its memory.
    pub memory: f64,
    /// Peak in 16 bits, in operations per second, without sparsity.
    pub flops: f64,
    /// Peak in f32.
    pub flops_f32: f64,
    /// Bytes per second of its memory.
    pub bandwidth: f64,
    /// The fraction of the peak that training's products reach.
    pub attained: f64,
    /// Seconds to start a kernel.
    pub launch: f64,
    /// How it reaches others.
    pub network: Network,
}

/// The fraction of the peak that large transformers reach where nothing is split: 137 of 312 TFLOP/s (Narayanan et al.
/// 2021, table 1, first row).
pub const ATTAINED: f64 = 137.0 / 312.0;

/// Seconds to start a kernel while the one before still runs (Gray 2019, "Getting Started with CUDA Graphs").
pub const LAUNCH: f64 = 3.8e-6;

/// Seconds of a step of a ring as NCCL itself plans with them (source file `src/graph/tuning.cc` of version 2.18,
/// protocol "Simple"): over `NVLink`, over PCI Express, over a network.
pub const NCCL: [f64; 3] = [3.4e-6, 5.7e-6, 14.0e-6];

/// An α of NCCL and a bandwidth.
fn link(alpha: f64, bytes_per_second: f64) -> AlphaBeta {
    AlphaBeta { alpha, beta: 1.0 / bytes_per_second }
}

/// Links by name: how the cards of a machine reach each other, and how machines do.
///
/// # Errors
/// [`Error::Config`] for another name.
pub fn network(name: &str) -> Result<Network> {
    let [nvlink, pci, net] = NCCL;
    // Bytes per second in each direction; InfiniBand and Ethernet from their bits per second.
    Ok(match name {
        // Fourth generation, 900 GB/s both ways (NVIDIA 2022, H100 datasheet), and NDR, 400 Gbit/s for each card.
        "nvlink4" | "nvlink" => Network {
            island: 8,
            inside: link(nvlink, 450e9),
            between: link(net, 400e9 / 8.0),
            sharing: 1.0,
        },
        // Third generation, 600 GB/s both ways (NVIDIA 2020, A100 datasheet), and HDR, 200 Gbit/s for each card.
        "nvlink3" => Network {
            island: 8,
            inside: link(nvlink, 300e9),
            between: link(net, 200e9 / 8.0),
            sharing: 1.0,
        },
        // No islands: each card has NDR InfiniBand, 400 Gbit/s.
        "ib" => Network::flat(link(net, 400e9 / 8.0)),
        // PCI Express with 16 lanes among four cards, 4.0 or 3.0, and 100 Gbit/s for the four. For GeForce cards since
        // the RTX 40 an upper bound: they copy to each other through the host's memory.
        "pcie" | "pcie3" => Network {
            island: 4,
            inside: link(pci, if name == "pcie3" { 16e9 } else { 32e9 }),
            between: link(net, 100e9 / 8.0),
            sharing: 4.0,
        },
        // PCI Express 4.0, and 10 Gbit/s.
        "ethernet" => Network {
            island: 4,
            inside: link(pci, 32e9),
            between: link(net, 10e9 / 8.0),
            sharing: 4.0,
        },
        _ => {
            return Err(Error::Config(format!(
                "there are no links `{name}`; give nvlink (nvlink4), nvlink3, ib, pcie, pcie3 or ethernet"
            )));
        }
    })
}

impl Card {
    /// The cards of this list.
    pub const NAMES: [&'static str; 5] = ["h100", "h200", "a100", "rtx4090", "t4"];

    /// A card of this list, with the links that machines with it mostly have.
    ///
    /// # Errors
    /// [`Error::Config`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        let card = |memory, flops, flops_f32, bandwidth, links| {
            Ok(Self {
                name: name.to_owned(),
                memory,
                flops,
                flops_f32,
                bandwidth,
                attained: ATTAINED,
                launch: LAUNCH,
                network: network(links)?,
            })
        };
        // Dense rates, from NVIDIA's datasheets: H100 SXM (2022), H200 SXM (2023), A100 80GB SXM (2020), the Ada
        // architecture's white paper (2022, table 2, sums in f32), T4 (2018).
        match name {
            "h100" => card(80e9, 989e12, 67e12, 3.35e12, "nvlink4"),
            "h200" => card(141e9, 989e12, 67e12, 4.8e12, "nvlink4"),
            "a100" => card(80e9, 312e12, 19.5e12, 2.039e12, "nvlink3"),
            "rtx4090" => card(24e9, 165.2e12, 82.6e12, 1.008e12, "pcie"),
            "t4" => card(16e9, 65e12, 8.1e12, 320e9, "pcie3"),
            _ => Err(Error::Config(format!(
                "there is no card `{name}` in the list; give {}, or an amount of memory",
                Self::NAMES.join(", ")
            ))),
        }
    }

    /// Seconds of so many operations with numbers of so many bytes: no fewer than it takes to start the kernels, one after
    /// the other, however little there is to do for each.
    pub fn seconds(&self, operations: f64, kernels: f64, bytes: f64) -> f64 {
        (operations / self.rate(bytes)).max(kernels * self.launch)
    }

    /// Operations per second that training reaches with numbers of so many bytes.
    pub fn rate(&self, bytes: f64) -> f64 {
        self.attained * if bytes < 4.0 { self.flops } else { self.flops_f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_card_and_others_are_refused() {
        for name in Card::NAMES {
            let card = Card::named(name).unwrap();
            assert!(
                card.flops > card.flops_f32 && card.memory > 1e9 && card.rate(2.0) < card.flops
            );
            assert!(card.rate(4.0) < card.rate(2.0));
        }
        for name in ["nvlink", "nvlink3", "ib", "pcie", "pcie3", "ethernet"] {
            assert!(network(name).is_ok());
        }
        let words = Card::named("abacus").unwrap_err().to_string();
        assert!(words.contains("h100") && network("rope").is_err(), "{words}");
    }
}
