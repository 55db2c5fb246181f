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
    env, fs,
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

/// What a rank tells of its device: ranks that tell the same have one together.
fn place(device: Device) -> Vec<u8> {
    // A machine without this file has no ranks on another one.
    let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let visible = env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    format!("{device} of {visible} {machine}").into_bytes()
}

/// A rank's way to the others.
pub struct Joined {
    /// Who carries the numbers.
    pub comm: Shared,
    /// Why NCCL does not, where it could.
    pub told: Option<String>,
    /// How many ranks have this rank's device, and so its memory.
    pub here: usize,
}

/// The engine with NCCL for its sums, if all ranks compute on GPUs. Where one has no NCCL, the engine as it is, and the reason.
///
/// # Errors
/// Those of the engine.
// ANCHOR: join
pub fn over_nccl<C>(mut others: C, device: Device) -> Result<Joined>
where
    C: Communicator + 'static,
{
    let mine = place(device);
    let all = others.all_gather_bytes(&mine)?;
    let here = all.iter().filter(|place| **place == mine).count();
    let joined = |comm: Shared, told| Ok(Joined { comm, told, here });
    let alone = all.len() == 1 || all.iter().any(|of| !of.starts_with(b"cuda"));
    let (Device::Cuda(gpu), false) = (device, alone) else {
        return joined(Arc::new(Mutex::new(others)), None);
    };
    match Nccl::join(&mut others, &id(gpu)) {
        Ok(nccl) => joined(Arc::new(Mutex::new(Gpus::new(others, nccl))), None),
        Err(Error::Config(why)) => {
            let told = format!("gradients are summed without NCCL: {why}");
            joined(Arc::new(Mutex::new(others)), Some(told))
        }
        Err(lost) => Err(lost),
    }
}
// ANCHOR_END: join

impl<C: Communicator> Gpus<C> {
    fn new(others: C, mut nccl: Nccl) -> Self {
        nccl.patience = WAIT; // a rank may save a checkpoint first
        nccl.watch = others.watch(); // one that is lost is named at once
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
