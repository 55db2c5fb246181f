//! Ranks with a GPU each: NCCL sums their numbers, and the engine that started them carries all else, from the handshake to
//! a checkpoint.

use crate::{
    Communicator, Error, PointToPoint, Rank, Result,
    comm::nccl::Nccl,
    communicator::{InPlace, Shared},
    point_to_point::Watch,
};
use cpu_gpu::gpu::cuda::id;
use lab::Device;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// How long a rank waits in a step for the slowest of the others.
const WAIT: Duration = Duration::from_mins(1);

/// An engine whose sums go by NCCL.
pub struct Gpus<C> {
    others: C,
    nccl: Nccl,
}

// ANCHOR: join
/// The engine with NCCL for its sums, if all ranks compute on GPUs. Where
/// one has no NCCL, the engine as it is, and the reason.
///
/// # Errors
/// Those of the engine.
pub fn over_nccl(
    mut others: impl Communicator + 'static,
    device: Device,
) -> Result<(Shared, Option<String>)> {
    let mine: &[u8] = if device == Device::Cpu { b"cpu" } else { b"gpu" };
    let all = others.all_gather_bytes(mine)?;
    let alone = all.len() == 1 || all.iter().any(|kind| kind == b"cpu");
    let (Device::Cuda(gpu), false) = (device, alone) else {
        return Ok((Arc::new(Mutex::new(others)), None));
    };
    match Nccl::join(&mut others, &id(gpu)) {
        Ok(nccl) => Ok((Arc::new(Mutex::new(Gpus::new(others, nccl))), None)),
        Err(Error::Config(why)) => {
            let told = format!("gradients are summed without NCCL: {why}");
            Ok((Arc::new(Mutex::new(others)), Some(told)))
        }
        Err(lost) => Err(lost),
    }
}
// ANCHOR_END: join

impl<C: Communicator> Gpus<C> {
    fn new(others: C, mut nccl: Nccl) -> Self {
        nccl.set_patience(WAIT); // a rank may save a checkpoint first
        nccl.set_watch(others.watch()); // one that is lost is named at once
        Self { others, nccl }
    }
}

impl<C: Communicator> PointToPoint for Gpus<C> {
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

    fn watch(&self) -> Option<Watch> {
        self.others.watch()
    }
}

impl<C: Communicator> Communicator for Gpus<C> {
    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        self.nccl.all_reduce(data)
    }

    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        self.others.broadcast(root, data)
    }

    fn all_gather(&mut self, data: &mut [f32]) -> Result<()> {
        self.others.all_gather(data)
    }

    fn barrier(&mut self) -> Result<()> {
        self.others.barrier()
    }

    fn in_place(&mut self) -> Option<&mut dyn InPlace> {
        self.nccl.in_place()
    }
}
