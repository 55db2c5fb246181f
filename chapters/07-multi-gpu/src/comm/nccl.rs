//! The engine for GPUs: NCCL, NVIDIA's collective communication library, loaded by hand when the program runs.
//!
//! Numbers that lie on the GPU are summed where they are ([`InPlace`]). As a [`Communicator`] it takes also numbers of the
//! host, by way of the GPU's memory.
//!
//! Source: NCCL documentation, version 2.28: "NCCL API" (communicators, collectives, point to point, types) and "Using
//! NCCL" (thread safety, aborting a communicator). It has not run on a GPU yet: its tests take stand-ins for both
//! libraries.

use crate::{
    communicator::{Communicator, InPlace, Place},
    error::{Error, Result},
    point_to_point::{LOOK, PATIENCE, PointToPoint, Watch},
    rank::Rank,
};
use cpu_gpu::gpu::{self, Buffer, Gpu, cuda::Cuda};
use cudarc::driver::sys::{self, CUresult};
use lab::toolkit::{candidates, roots};
use libloading::Library;
use std::{
    env,
    ffi::{OsString, c_char, c_int, c_void},
    path::PathBuf,
    ptr, thread,
    time::{Duration, Instant},
};

/// A name that all ranks of one communicator share; rank 0 makes it.
pub const ID_BYTES: usize = 128;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([c_char; ID_BYTES]);

type Handle = *mut c_void;
type Status = c_int;
type Stream = sys::CUstream;
// The manual's enumerations: ncclFloat32 and ncclSum.
const F32: c_int = 7;
const SUM: c_int = 0;
/// `ncclUnhandledCudaError`.
const CALL_OF_CUDA: Status = 1;

const INSTALL: &str = "install it with `sudo apt install libnccl2` from NVIDIA's repository, or with \
                       `pip install nvidia-nccl-cu13` for the python3 on your PATH, or name its file in THROUGHPUT_NCCL";

/// Where it may be: the file that the reader names, what the system finds by name, the folders of toolkits and of Python's
/// packages.
pub fn places(named: Option<OsString>, roots: &[PathBuf]) -> Vec<PathBuf> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    candidates("nccl", roots).into_iter().map(|(file, _)| file).collect()
}

cpu_gpu::library! {
    /// The functions that the course calls.
    pub struct Functions of "NCCL", "version 2.11 or newer" {
        unique_id = "ncclGetUniqueId"(*mut UniqueId) -> Status;
        init_rank = "ncclCommInitRank"(*mut Handle, c_int, UniqueId, c_int) -> Status;
        abort = "ncclCommAbort"(Handle) -> Status;
        async_error = "ncclCommGetAsyncError"(Handle, *mut Status) -> Status;
        /// From, to, count, type, operation.
        all_reduce = "ncclAllReduce"(u64, u64, usize, c_int, c_int, Handle, Stream) -> Status;
        /// From, to, count, type, root.
        broadcast = "ncclBroadcast"(u64, u64, usize, c_int, c_int, Handle, Stream) -> Status;
        /// Address, count, type, the other rank.
        send = "ncclSend"(u64, usize, c_int, c_int, Handle, Stream) -> Status;
        receive = "ncclRecv"(u64, usize, c_int, c_int, Handle, Stream) -> Status;
        group_start = "ncclGroupStart"() -> Status;
        group_end = "ncclGroupEnd"() -> Status;
    }
}

impl Functions {
    /// Of the library that the reader names, or else of the first one that is found.
    ///
    /// # Errors
    /// [`Error::Config`] if there is none.
    pub fn load() -> Result<Self> {
        // SAFETY: NVIDIA's library does nothing harmful when it is loaded.
        let open = |path: PathBuf| unsafe { Library::new(path) }.ok();
        let library = places(env::var_os("THROUGHPUT_NCCL"), &roots()).into_iter().find_map(open);
        let library = library.ok_or_else(|| {
            Error::Config(format!(
                "there is no NCCL (libnccl.so.2) for data between GPUs; {INSTALL}"
            ))
        })?;
        Self::of(library).map_err(Error::Config)
    }
}

/// The first of NCCL's results that is no success.
fn first_failed<const N: usize>(results: [Status; N]) -> Status {
    results.into_iter().find(|status| *status != 0).unwrap_or(0)
}

/// One of NCCL's results as a sentence.
fn check(status: Status, what: &str) -> Result<()> {
    let why = match status {
        0 | 7 => return Ok(()), // done, or under way
        CALL_OF_CUDA => {
            "a call to CUDA failed; look with `nvidia-smi` whether the GPU still responds"
        }
        2 => {
            "the system refused it; set NCCL_DEBUG=INFO to see what, and give a container more shared memory (--shm-size)"
        }
        3 => "it failed within; set NCCL_DEBUG=INFO, and see whether all ranks have the same NCCL",
        4 => "it does not take these numbers; all ranks must run the same program",
        5 => {
            "it was used wrongly; see whether two ranks use one GPU (`nvidia-smi -L`, CUDA_VISIBLE_DEVICES)"
        }
        6 => {
            "another rank or the network between is gone; go on from the last checkpoint with --resume"
        }
        _ => "see ncclResult_t in its manual",
    };
    Err(Error::Config(format!("NCCL can't {what} (result {status}): {why}")))
}

/// A new unique id, for rank 0 to make and to hand to all others.
///
/// # Errors
/// [`Error::Config`] if there is no NCCL, or if it can't make one.
pub fn unique_id() -> Result<[u8; ID_BYTES]> {
    let functions = Functions::load()?;
    let mut id = UniqueId([0; ID_BYTES]);
    // SAFETY: NCCL writes the id.
    check(unsafe { (functions.unique_id)(&raw mut id) }, "make a name for all ranks")?;
    Ok(id.0.map(|c| c as u8))
}

/// The first message of a rank that is ready.
const READY: &[u8] = b"ready";

/// The unique id that rank 0 gives, if all ranks are ready; or the reason of the first that is not.
fn all_ready(said: &[Vec<u8>]) -> Result<[u8; ID_BYTES]> {
    for (rank, said) in said.iter().enumerate() {
        if !said.starts_with(READY) {
            let why = String::from_utf8_lossy(said);
            return Err(Error::Config(format!("rank {rank}: {why}")));
        }
    }
    let id = said.first().and_then(|said| said.strip_prefix(READY)?.try_into().ok());
    id.ok_or_else(|| {
        Error::Config("rank 0 gave no unique id; all ranks must run the same program".into())
    })
}

/// A rank that is a GPU.
pub struct Nccl {
    functions: Functions,
    /// `None` once NCCL has given it up.
    comm: Option<Handle>,
    /// Where numbers of the host are on their way: those that leave, and those that come.
    out: Buffer,
    into: Buffer,
    gpu: Box<dyn Gpu>,
    rank: Rank,
    size: usize,
    /// How long this rank waits for the others before it gives up.
    pub patience: Duration,
    /// What this rank asks while it waits; when that fails, it gives up.
    pub watch: Option<Watch>,
}

// SAFETY: nothing of the GPU leaves this value, so that its counted references move together; each call makes the GPU's
// context the calling thread's own, and NCCL allows one thread after the other.
unsafe impl Send for Nccl {}

impl Nccl {
    /// Joins `other`'s ranks, each with a GPU of its own (`cuda`, `cuda:1`, …). `other` may be threads or MPI: it hands
    /// round the unique id.
    ///
    /// # Errors
    /// [`Error::Config`] with what is missing; those of `other`.
    // ANCHOR: join
    pub fn join<C>(other: &mut C, device: &str) -> Result<Self>
    where
        C: Communicator + ?Sized,
    {
        let (rank, size) = (other.rank(), other.size());
        let ready = Self::prepare(rank, size, device).and_then(|nccl| {
            let id = if rank == Rank(0) { unique_id()?.to_vec() } else { vec![] };
            Ok((nccl, [READY, id.as_slice()].concat()))
        });
        // A rank that is not ready reports why: NCCL lets the others wait forever.
        let said = match &ready {
            Ok((_, said)) => said.clone(),
            Err(why) => why.to_string().into_bytes(),
        };
        let all = other.all_gather_bytes(&said)?;
        let (mut nccl, _) = ready?;
        let id = all_ready(&all)?;
        nccl.meet_with(other, &id)?;
        Ok(nccl)
    }
    // ANCHOR_END: join

    /// Meets the other ranks, or fails on all of them if one could not.
    fn meet_with<C>(&mut self, other: &mut C, id: &[u8; ID_BYTES]) -> Result<()>
    where
        C: Communicator + ?Sized,
    {
        let met = self.meet(id);
        let said = match &met {
            Ok(()) => [READY, id.as_slice()].concat(),
            Err(why) => why.to_string().into_bytes(),
        };
        let all = other.all_gather_bytes(&said)?;
        met?;
        all_ready(&all).map(drop)
    }

    /// Rank `rank` of the `size` that share a [`unique_id`], on a GPU of its own. It waits for the others, as long as
    /// NCCL does: all should be known to come.
    ///
    /// # Errors
    /// [`Error::Config`] with what is missing or does not work.
    pub fn with_id(rank: Rank, size: usize, id: &[u8; ID_BYTES], device: &str) -> Result<Self> {
        let mut nccl = Self::prepare(rank, size, device)?;
        nccl.meet(id)?;
        Ok(nccl)
    }

    /// All that a rank can do alone.
    fn prepare(rank: Rank, size: usize, device: &str) -> Result<Self> {
        let functions = Functions::load()?;
        let gpu = gpu::open(device)?;
        let (out, into) = (gpu.alloc(4)?, gpu.alloc(4)?);
        let patience = PATIENCE;
        let nccl =
            Self { functions, comm: None, out, into, gpu, rank, size, patience, watch: None };
        nccl.cuda()?;
        Ok(nccl)
    }

    /// Meets the other ranks.
    fn meet(&mut self, id: &[u8; ID_BYTES]) -> Result<()> {
        self.cuda()?.bind()?;
        let (mut comm, id) = (ptr::null_mut(), UniqueId(id.map(|b| b as c_char)));
        let (size, rank) = (self.size as c_int, self.rank.0 as c_int);
        // SAFETY: the GPU's context is current; NCCL writes one pointer.
        let status = unsafe { (self.functions.init_rank)(&raw mut comm, size, id, rank) };
        check(status, "meet the other ranks")?;
        self.comm = Some(comm);
        Ok(())
    }

    fn cuda(&self) -> Result<&Cuda> {
        self.gpu.as_cuda().ok_or_else(|| {
            Error::Config("NCCL works between NVIDIA GPUs; choose a device `cuda`".into())
        })
    }

    /// Puts an operation into the GPU's stream, and does not wait.
    fn begin(
        &self,
        what: &str,
        call: impl FnOnce(&Functions, Handle, Stream) -> Status,
    ) -> Result<(Handle, Stream)> {
        let comm = self.comm.ok_or_else(|| {
            Error::Config("NCCL has given up before; start the program again with --resume".into())
        })?;
        let cuda = self.cuda()?;
        cuda.bind()?;
        let stream = cuda.stream();
        check(call(&self.functions, comm, stream), what)?;
        Ok((comm, stream))
    }

    /// Puts an operation into the GPU's stream, waits until it has run, and reports which rank was late if that is
    /// known.
    fn run(
        &mut self,
        what: &str,
        with: Option<Rank>,
        call: impl FnOnce(&Functions, Handle, Stream) -> Status,
    ) -> Result<()> {
        let (comm, stream) = self.begin(what, call)?;
        let (start, mut looked) = (Instant::now(), Instant::now());
        // SAFETY: the stream lives as long as the GPU; its context is current.
        while unsafe { sys::cuStreamQuery(stream) } == CUresult::CUDA_ERROR_NOT_READY {
            let mut failed = 0;
            // SAFETY: a living communicator; NCCL writes a number.
            check(unsafe { (self.functions.async_error)(comm, &raw mut failed) }, what)?;
            let seconds = start.elapsed().as_secs_f64();
            let mut over = check(failed, what);
            if over.is_ok() && looked.elapsed() > LOOK {
                looked = Instant::now();
                over = self.watch.as_ref().map_or(Ok(()), |watch| watch());
            }
            if over.is_ok() && start.elapsed() > self.patience {
                over = Err(match with {
                    Some(rank) => Error::Silent { rank, seconds },
                    None => Error::Stuck { seconds },
                });
            }
            if over.is_err() {
                self.give_up();
                return over;
            }
            thread::yield_now();
        }
        Ok(self.gpu.finish()?)
    }

    /// What comes later in NCCL's stream waits on the GPU for an event of another one.
    fn wait_for(&self, event: Option<u64>) -> Result<()> {
        let (Some(event), cuda) = (event, self.cuda()?) else { return Ok(()) };
        cuda.bind()?;
        // SAFETY: both live.
        let told = unsafe { sys::cuStreamWaitEvent(cuda.stream(), event as _, 0) };
        match told {
            CUresult::CUDA_SUCCESS => Ok(()),
            _ => check(CALL_OF_CUDA, "wait for a gradient"),
        }
    }

    /// Copies numbers to the GPU and returns where they are.
    fn load(&mut self, data: &[f32]) -> Result<u64> {
        room(&*self.gpu, &mut self.out, data.len())?;
        gpu::write_all(&*self.gpu, &self.out, data)?;
        Ok(self.cuda()?.address(&self.out)?)
    }

    /// Room on the GPU for numbers that come.
    fn expect(&mut self, count: usize) -> Result<u64> {
        room(&*self.gpu, &mut self.into, count)?;
        Ok(self.cuda()?.address(&self.into)?)
    }

    /// Copies numbers back from the GPU.
    fn unload(&self, from: &Buffer, data: &mut [f32]) -> Result<()> {
        data.copy_from_slice(&gpu::read_all(&*self.gpu, from, data.len())?);
        Ok(())
    }
}

/// Makes a buffer large enough for so many numbers.
fn room(gpu: &dyn Gpu, buffer: &mut Buffer, count: usize) -> Result<()> {
    if buffer.bytes < 4 * count {
        *buffer = gpu.alloc(4 * count)?;
    }
    Ok(())
}

impl Drop for Nccl {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl PointToPoint for Nccl {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        let (at, count) = (self.load(data)?, data.len());
        self.run("send", Some(to), |nccl, comm, stream| {
            // SAFETY: so many numbers are there.
            unsafe { (nccl.send)(at, count, F32, to.0 as c_int, comm, stream) }
        })
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        let (at, count) = (self.expect(data.len())?, data.len());
        self.run("receive", Some(from), |nccl, comm, stream| {
            // SAFETY: there is room for so many.
            unsafe { (nccl.receive)(at, count, F32, from.0 as c_int, comm, stream) }
        })?;
        self.unload(&self.into, data)
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        let (out, into) = (self.load(send)?, self.expect(receive.len())?);
        let (sent, received) = (send.len(), receive.len());
        self.run("exchange", Some(from), |nccl, comm, stream| {
            let (to, from) = (to.0 as c_int, from.0 as c_int);
            // What is between the two begins together: else each rank would wait for the next one to receive.
            // SAFETY: as above.
            unsafe {
                first_failed([
                    (nccl.group_start)(),
                    (nccl.send)(out, sent, F32, to, comm, stream),
                    (nccl.receive)(into, received, F32, from, comm, stream),
                    (nccl.group_end)(),
                ])
            }
        })?;
        self.unload(&self.into, receive)
    }
}

impl Communicator for Nccl {
    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        let (at, count) = (self.load(data)?, data.len());
        self.run("broadcast", None, |nccl, comm, stream| {
            // SAFETY: as above, in place.
            unsafe { (nccl.broadcast)(at, at, count, F32, root.0 as c_int, comm, stream) }
        })?;
        self.unload(&self.out, data)
    }

    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        let (at, count) = (self.load(data)?, data.len());
        self.run("sum over all ranks", None, |nccl, comm, stream| {
            // SAFETY: as above, in place.
            unsafe { (nccl.all_reduce)(at, at, count, F32, SUM, comm, stream) }
        })?;
        self.unload(&self.out, data)
    }

    fn in_place(&mut self) -> Option<&mut dyn InPlace> {
        Some(self)
    }
}

impl InPlace for Nccl {
    // ANCHOR: in_place
    unsafe fn begin_sum(&mut self, place: Place, after: Option<u64>) -> Result<()> {
        self.wait_for(after)?;
        let (at, count) = place; // on this rank's GPU
        let begun = self.begin("sum over all ranks", |nccl, comm, stream| {
            // SAFETY: as the caller promises; it may write where it reads.
            unsafe { (nccl.all_reduce)(at, at, count, F32, SUM, comm, stream) }
        });
        begun.map(drop)
    }
    // ANCHOR_END: in_place

    fn wait(&mut self) -> Result<()> {
        self.run("sum over all ranks", None, |_, _, _| 0) // only looks at the stream
    }

    fn give_up(&mut self) {
        let bound = self.cuda().is_ok_and(|cuda| cuda.bind().is_ok());
        if let Some(comm) = self.comm.take().filter(|_| bound) {
            // Not `ncclCommDestroy`, which may wait for ranks that have gone.
            // SAFETY: made in `meet`, ended once; this ends what is in the stream.
            unsafe { (self.functions.abort)(comm) };
        }
    }
}
