//! Ranks with a GPU each: NCCL sums their numbers, and the engine that started them carries all else, from the handshake to
//! a checkpoint.

use crate::{
    comm::nccl::Nccl, communicator::Communicator, error::Result, point_to_point::PointToPoint,
    rank::Rank,
};
use lab::Device;
use std::time::Duration;

/// How long a rank waits in a step for the slowest of the others.
const WAIT: Duration = Duration::from_mins(1);

/// An engine whose sums go by NCCL.
pub struct Gpus {
    others: Box<dyn Communicator>,
    nccl: Nccl,
}

// ANCHOR: join
/// The engine with NCCL for its sums, if its ranks compute on GPUs; else,
/// and where a rank has no NCCL, as it is, with the reason.
pub fn over_nccl(
    mut others: Box<dyn Communicator>,
    device: Device,
) -> (Box<dyn Communicator>, Option<String>) {
    let gpu = match device {
        Device::Cuda(0) if others.size() > 1 => "cuda".to_owned(),
        Device::Cuda(_) if others.size() > 1 => device.to_string(),
        _ => return (others, None),
    };
    // All ranks meet here, or all hear why not.
    match Nccl::join(&mut *others, &gpu) {
        Ok(mut nccl) => {
            nccl.set_patience(WAIT); // a rank may save a checkpoint first
            (Box::new(Gpus { others, nccl }), None)
        }
        Err(why) => {
            let slower = format!("gradients are summed without NCCL: {why}");
            (others, Some(slower))
        }
    }
}
// ANCHOR_END: join

impl PointToPoint for Gpus {
    fn rank(&self) -> Rank {
        self.others.rank()
    }

    fn size(&self) -> usize {
        self.others.size()
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.others.send(to, data)
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.others.receive(from, data)
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.others.exchange(to, send, from, receive)
    }
}

impl Communicator for Gpus {
    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        self.nccl.all_reduce(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn without_gpus_the_engine_stays_and_the_reason_is_told() {
        // A GPU that no machine has, so that machines with NCCL do the same.
        for (device, told) in [(Device::Cpu, false), (Device::Cuda(1000), true)] {
            let said = threads::run(2, |comm| {
                let (mut comm, why) = over_nccl(Box::new(comm), device);
                let mut data = [1.0];
                comm.all_reduce(&mut data)?;
                assert!((data[0] - 2.0).abs() < 1e-6);
                Ok(why)
            });
            for why in said.unwrap() {
                assert_eq!(why.is_some(), told);
                assert!(why.is_none_or(|why| why.contains("without NCCL: ")));
            }
        }
    }
}
