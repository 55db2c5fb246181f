//! The engine for processes, on one host or many: MPI, the Message Passing Interface.
//!
//! MPI's own waiting has no limit, so every operation is started without waiting and polled until it is done or
//! the rank's patience has ended. Then this engine calls MPI no more: a process that ends without MPI's
//! farewell makes `mpirun` end the others.
//!
//! Source: MPI: A Message-Passing Interface Standard, version 3.1, sections 3.7 (nonblocking communication), 5.12
//! (nonblocking collectives) and 8.3 (errors).

use crate::{
    Communicator, Error, PointToPoint, Rank, Result, part_of,
    point_to_point::{PATIENCE, other_length},
};
use mpi::{
    Threading,
    environment::{Universe, initialize_with_threading},
    ffi,
};
use std::{
    ffi::{c_char, c_int},
    thread,
    time::{Duration, Instant},
};

/// Every message has it; messages between two ranks keep their order.
const TAG: c_int = 0;

/// A rank that is a process. There is one in a process, once.
pub struct Mpi {
    /// Ends MPI when it is dropped; `None` only while this is dropped.
    universe: Option<Universe>,
    rank: Rank,
    size: usize,
    /// How long this rank waits for another before it fails with [`Error::Silent`].
    pub patience: Duration,
    /// MPI still uses a buffer of an operation that has not ended, so it must not be called again.
    broken: bool,
    /// Where MPI's collectives read while they write into the caller's numbers.
    copy: Vec<f32>,
}

/// A started operation, and the rank it waits for if that is known.
struct Started {
    request: ffi::MPI_Request,
    rank: Option<Rank>,
}

/// One of MPI's codes as a sentence.
fn check(code: c_int) -> Result<()> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut words = [0 as c_char; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut len = 0;
    // SAFETY: MPI writes at most MPI_MAX_ERROR_STRING bytes.
    unsafe { ffi::MPI_Error_string(code, words.as_mut_ptr(), &raw mut len) };
    let words: Vec<u8> = words.iter().take(len as usize).map(|c| *c as u8).collect();
    Err(Error::Config(format!(
        "MPI refuses: {}; all ranks must run the same program with the same settings",
        String::from_utf8_lossy(&words)
    )))
}

/// A length as MPI counts.
fn count(len: usize) -> Result<c_int> {
    c_int::try_from(len).map_err(|_| {
        Error::Config(format!("MPI sends no {len} numbers at once; send them in parts"))
    })
}

fn world() -> ffi::MPI_Comm {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

fn float() -> ffi::MPI_Datatype {
    // SAFETY: as above.
    unsafe { ffi::RSMPI_FLOAT }
}

fn sum() -> ffi::MPI_Op {
    // SAFETY: as above.
    unsafe { ffi::RSMPI_SUM }
}

impl Mpi {
    /// Joins the processes that `mpirun` has started; without it, a world of one.
    ///
    /// # Errors
    /// [`Error::Config`] if MPI was started in this process before, or can't be used from more than one thread.
    pub fn start() -> Result<Self> {
        let (universe, threading) =
            initialize_with_threading(Threading::Serialized).ok_or_else(|| {
                Error::Config("MPI has been started in this process; start it once".into())
            })?;
        if threading < Threading::Serialized {
            return Err(Error::Config(
                "this MPI library works in one thread alone; install Open MPI or MPICH with threads"
                    .into(),
            ));
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI runs; it writes two numbers. Errors are returned afterwards, and do not end the program.
        unsafe {
            check(ffi::MPI_Comm_set_errhandler(world(), ffi::RSMPI_ERRORS_RETURN))?;
            check(ffi::MPI_Comm_rank(world(), &raw mut rank))?;
            check(ffi::MPI_Comm_size(world(), &raw mut size))?;
        }
        Ok(Self {
            universe: Some(universe),
            rank: Rank(rank as usize),
            size: size as usize,
            patience: PATIENCE,
            broken: false,
            copy: Vec::new(),
        })
    }

    /// Starts an operation by a function of MPI.
    fn begin(
        &self,
        rank: Option<Rank>,
        start: impl FnOnce(*mut ffi::MPI_Request) -> c_int,
    ) -> Result<Started> {
        if self.broken {
            return Err(Error::Config(
                "an operation of MPI has not ended, so no other can begin; start the program again with --resume"
                    .into(),
            ));
        }
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        check(start(&raw mut request))?;
        Ok(Started { request, rank })
    }

    fn begin_send(&self, to: Rank, data: &[f32]) -> Result<Started> {
        let len = count(data.len())?;
        let data = data.as_ptr().cast();
        // SAFETY: the caller waits for the operation, or calls MPI no more; so the numbers live as long.
        self.begin(Some(to), |request| unsafe {
            ffi::MPI_Isend(data, len, float(), to.0 as c_int, TAG, world(), request)
        })
    }

    fn begin_receive(&self, from: Rank, data: &mut [f32]) -> Result<Started> {
        let len = count(data.len())?;
        let data = data.as_mut_ptr().cast();
        // SAFETY: as above.
        self.begin(Some(from), |request| unsafe {
            ffi::MPI_Irecv(data, len, float(), from.0 as c_int, TAG, world(), request)
        })
    }

    /// Polls operations until all have ended, or reports which rank is late.
    /// Returns how many numbers the last one has received.
    // ANCHOR: wait
    fn wait(&mut self, all: &mut [Started]) -> Result<usize> {
        let start = Instant::now();
        let mut last = None;
        while let Some(late) = test(all, &mut last).inspect_err(|_| {
            self.broken = all.len() > 1; // another one goes on
        })? {
            let waited = start.elapsed();
            if waited > self.patience {
                self.broken = true; // it uses our buffer: call MPI no more
                let seconds = waited.as_secs_f64();
                return Err(match late {
                    Some(rank) => Error::Silent { rank, seconds },
                    None => Error::Stuck { seconds },
                });
            }
            // Other ranks may need this core to reply.
            if waited < Duration::from_millis(2) {
                thread::yield_now();
            } else {
                thread::sleep(Duration::from_micros(100));
            }
        }
        received(last)
    }
    // ANCHOR_END: wait

    /// Waits, where the numbers that came must be as many as these.
    fn wait_for(&mut self, all: &mut [Started], from: Rank, wanted: usize) -> Result<()> {
        let got = self.wait(all)?;
        if got == wanted {
            return Ok(());
        }
        Err(other_length((from, got), (self.rank, wanted)))
    }
}

/// The first operation that has not ended: the rank it waits for, if that is known. `None` if all have.
#[allow(
    clippy::option_option,
    reason = "an operation of all ranks waits for no rank in particular"
)]
fn test(all: &mut [Started], last: &mut Option<ffi::MPI_Status>) -> Result<Option<Option<Rank>>> {
    let (mut late, end) = (None, all.len() - 1);
    for (at, started) in all.iter_mut().enumerate() {
        // SAFETY: a constant of the library.
        if started.request == unsafe { ffi::RSMPI_REQUEST_NULL } {
            continue;
        }
        let mut done = 0;
        let mut status = std::mem::MaybeUninit::zeroed();
        // SAFETY: a request that has been started; MPI writes a flag and a status, and ends the request if it is done.
        check(unsafe {
            ffi::MPI_Test(&raw mut started.request, &raw mut done, status.as_mut_ptr())
        })?;
        if done == 0 {
            late = late.or(Some(started.rank));
        } else if at == end {
            // SAFETY: all zeros are a status, and MPI has filled it in.
            *last = Some(unsafe { status.assume_init() });
        }
    }
    Ok(late)
}

/// How many numbers have come, by a status.
fn received(status: Option<ffi::MPI_Status>) -> Result<usize> {
    let Some(status) = status else { return Ok(0) };
    let mut got = 0;
    // SAFETY: a status of MPI's; it writes one number.
    check(unsafe { ffi::MPI_Get_count(&raw const status, float(), &raw mut got) })?;
    Ok(usize::try_from(got).unwrap_or(0))
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // MPI's farewell waits for all ranks, which a rank that failed must not.
        if self.broken || thread::panicking() {
            std::mem::forget(self.universe.take());
        }
    }
}

impl PointToPoint for Mpi {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        let sent = self.begin_send(to, data)?;
        self.wait(&mut [sent]).map(|_| ())
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        let coming = self.begin_receive(from, data)?;
        self.wait_for(&mut [coming], from, data.len())
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        let coming = self.begin_receive(from, receive)?;
        match self.begin_send(to, send) {
            Ok(sent) => self.wait_for(&mut [sent, coming], from, receive.len()),
            Err(error) => {
                self.broken = true; // the receive goes on
                Err(error)
            }
        }
    }
}

impl Communicator for Mpi {
    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        let (at, len) = (data.as_mut_ptr().cast(), count(data.len())?);
        // SAFETY: `wait` follows, or no call of MPI; so the numbers live as long as they are used.
        let started = self.begin(None, |request| unsafe {
            ffi::MPI_Ibcast(at, len, float(), root.0 as c_int, world(), request)
        })?;
        self.wait(&mut [started]).map(|_| ())
    }

    /// MPI's own. The standard advises that all ranks get the same bits, and Open MPI does so.
    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        let len = count(data.len())?;
        data.clone_into(&mut self.copy);
        let (from, to) = (self.copy.as_ptr().cast(), data.as_mut_ptr().cast());
        // SAFETY: as above; the copy lives as long as the engine.
        let started = self.begin(None, |request| unsafe {
            ffi::MPI_Iallreduce(from, to, len, float(), sum(), world(), request)
        })?;
        self.wait(&mut [started]).map(|_| ())
    }

    fn reduce_scatter(&mut self, data: &mut [f32]) -> Result<()> {
        let (counts, _) = parts(data.len(), self.size)?;
        data.clone_into(&mut self.copy);
        let from = self.copy.as_ptr().cast();
        let own = part_of(data.len(), self.rank, self.size);
        let to = data[own].as_mut_ptr().cast();
        // SAFETY: as above; the counts live until the end of this function.
        let started = self.begin(None, |request| unsafe {
            ffi::MPI_Ireduce_scatter(from, to, counts.as_ptr(), float(), sum(), world(), request)
        })?;
        self.wait(&mut [started]).map(|_| ())
    }

    fn all_gather(&mut self, data: &mut [f32]) -> Result<()> {
        let (counts, places) = parts(data.len(), self.size)?;
        let own = part_of(data.len(), self.rank, self.size);
        data[own.clone()].clone_into(&mut self.copy);
        let (from, len) = (self.copy.as_ptr().cast(), count(own.len())?);
        let to = data.as_mut_ptr().cast();
        // SAFETY: as above.
        let started = self.begin(None, |request| unsafe {
            let (each, comm) = (float(), world());
            let (counts, places) = (counts.as_ptr(), places.as_ptr());
            ffi::MPI_Iallgatherv(from, len, each, to, counts, places, each, comm, request)
        })?;
        self.wait(&mut [started]).map(|_| ())
    }

    fn barrier(&mut self) -> Result<()> {
        // SAFETY: it takes no buffer.
        let started = self.begin(None, |request| unsafe { ffi::MPI_Ibarrier(world(), request) })?;
        self.wait(&mut [started]).map(|_| ())
    }
}

/// The lengths of all parts, and where they begin.
fn parts(len: usize, size: usize) -> Result<(Vec<c_int>, Vec<c_int>)> {
    let parts = (0..size).map(|rank| part_of(len, Rank(rank), size));
    let parts: Vec<_> =
        parts.map(|part| Ok((count(part.len())?, count(part.start)?))).collect::<Result<_>>()?;
    Ok(parts.into_iter().unzip())
}
