//! A few cards, and the links between them: what the planner has to know of a card. Chapter 8 keeps the long, dated table
//! of what can be bought and rented.

use super::network::Network;
use crate::{Error, Result, comm::cost::AlphaBeta};
use performance::gpu::cost::{Cost, Work};
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
    /// What a kernel's start and a term of a chain take, as an H100 has them.
    pub kernel: Cost,
    /// How it reaches others.
    pub network: Network,
}

/// The fraction of the peak that large transformers reach where nothing is split: 137 of 312 TFLOP/s (Narayanan et al.
/// 2021, table 1, first row).
pub const ATTAINED: f64 = 137.0 / 312.0;

/// Seconds of a step of a ring as NCCL itself plans with them (source file `src/graph/tuning.cc` of version 2.18,
/// protocol "Simple"): over `NVLink`, over PCI Express, over a network.
pub const NCCL: [f64; 3] = [3.4e-6, 5.7e-6, 14.0e-6];

/// An α of NCCL and a bandwidth.
pub(super) fn link(alpha: f64, bytes_per_second: f64) -> AlphaBeta {
    AlphaBeta { alpha, beta: 1.0 / bytes_per_second }
}

/// Links: their name, the cards of an island, NCCL's α and bytes per second in each direction inside it, bits per second from
/// island to island, and the cards that share an adapter for that.
pub const LINKS: [(&str, usize, f64, f64, f64, f64); 7] = [
    // Fourth generation, 900 GB/s both ways (NVIDIA 2022, H100 datasheet), and NDR, 400 Gbit/s for each card.
    ("nvlink4", 8, NCCL[0], 450e9, 400e9, 1.0),
    ("nvlink", 8, NCCL[0], 450e9, 400e9, 1.0),
    // Third generation, 600 GB/s both ways (NVIDIA 2020, A100 datasheet), and HDR, 200 Gbit/s for each card.
    ("nvlink3", 8, NCCL[0], 300e9, 200e9, 1.0),
    // No islands: each card has NDR InfiniBand, 400 Gbit/s.
    ("ib", 1, NCCL[2], 50e9, 400e9, 1.0),
    // PCI Express with 16 lanes among four cards, 4.0 or 3.0, and 100 Gbit/s for the four. For GeForce cards since the
    // RTX 40 an upper bound: they copy to each other through the host's memory.
    ("pcie", 4, NCCL[1], 32e9, 100e9, 4.0),
    ("pcie3", 4, NCCL[1], 16e9, 100e9, 4.0),
    // PCI Express 4.0, and 10 Gbit/s.
    ("ethernet", 4, NCCL[1], 32e9, 10e9, 4.0),
];

/// Links by name: how the cards of a machine reach each other, and how machines do.
///
/// # Errors
/// [`Error::Config`] for another name.
pub fn network(name: &str) -> Result<Network> {
    let Some((_, island, alpha, inside, bits, sharing)) = LINKS.into_iter().find(|l| l.0 == name)
    else {
        return Err(Error::Config(format!(
            "there are no links `{name}`; give nvlink (nvlink4), nvlink3, ib, pcie, pcie3 or ethernet"
        )));
    };
    let (inside, between) = (link(alpha, inside), link(NCCL[2], bits / 8.0));
    Ok(Network { island, inside, between, sharing })
}

/// Cards: their name, bytes of memory, peaks in 16 bits and in f32, bytes per second, and the links that machines with them
/// mostly have. Dense rates, from NVIDIA's datasheets: H100 SXM (2022), H200 SXM (2023), A100 80GB SXM (2020), the Ada
/// architecture's white paper (2022, table 2, sums in f32), T4 (2018).
const CARDS: [(&str, f64, f64, f64, f64, &str); 5] = [
    ("h100", 80e9, 989e12, 67e12, 3.35e12, "nvlink4"),
    ("h200", 141e9, 989e12, 67e12, 4.8e12, "nvlink4"),
    ("a100", 80e9, 312e12, 19.5e12, 2.039e12, "nvlink3"),
    ("rtx4090", 24e9, 165.2e12, 82.6e12, 1.008e12, "pcie"),
    ("t4", 16e9, 65e12, 8.1e12, 320e9, "pcie3"),
];

impl Card {
    /// The cards of this list.
    pub const NAMES: [&'static str; 5] =
        [CARDS[0].0, CARDS[1].0, CARDS[2].0, CARDS[3].0, CARDS[4].0];

    /// A card of this list, with the links that machines with it mostly have.
    ///
    /// # Errors
    /// [`Error::Config`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        let found = CARDS.into_iter().find(|card| card.0 == name);
        let (_, memory, flops, flops_f32, bandwidth, links) = found.ok_or_else(|| {
            Error::Config(format!(
                "there is no card `{name}` in the list; give {}, or an amount of memory",
                Self::NAMES.join(", ")
            ))
        })?;
        let (name, attained, kernel) = (name.to_owned(), ATTAINED, Cost::h100());
        let network = network(links)?;
        Ok(Self { name, memory, flops, flops_f32, bandwidth, attained, kernel, network })
    }

    /// Seconds of kernels with numbers of so many bytes, at the rate that this card attains.
    pub fn seconds(&self, work: Work, bytes: f64) -> f64 {
        Cost { operation: 1.0 / self.rate(bytes), ..self.kernel }.seconds(work)
    }

    /// Operations per second that training reaches with numbers of so many bytes.
    pub fn rate(&self, bytes: f64) -> f64 {
        self.attained * if bytes < 4.0 { self.flops } else { self.flops_f32 }
    }
}
