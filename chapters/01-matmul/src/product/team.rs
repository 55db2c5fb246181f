//! Threads that wait for work. A product of an MLP's step takes tens of microseconds, about as long as it takes
//! to wake a sleeping thread; so these stay awake for a moment after each task, and only then go to sleep.

use std::{
    any::Any,
    cell::UnsafeCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

/// How long a thread stays awake after its last task.
pub const AWAKE: Duration = Duration::from_micros(100);

/// The most threads that are ever started.
const MOST: usize = 1024;

/// What the caller of [`run`] hands out: `work(0)`, `work(1)`, … up to `parts`.
type Work = dyn Fn(usize) + Sync;

struct Team {
    /// The task's number (upper half), its parts and the next one to take (16 bits each).
    ticket: AtomicU64,
    /// The task of the ticket.
    work: UnsafeCell<Option<*const Work>>,
    /// Parts of the task that are finished.
    done: AtomicUsize,
    /// What the first part that panicked left.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Threads that sleep, or are about to.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    wake: Condvar,
}

// SAFETY: `work` is written only by the holder of `TURN`, before the ticket that announces it, and read only by
// threads that have taken a part of that ticket.
unsafe impl Sync for Team {}

static TEAM: Team = Team {
    ticket: AtomicU64::new(0),
    work: UnsafeCell::new(None),
    done: AtomicUsize::new(0),
    panic: Mutex::new(None),
    asleep: AtomicUsize::new(0),
    bed: Mutex::new(()),
    wake: Condvar::new(),
};

/// Held by the caller whose task the team works on; it counts the threads that were started.
static TURN: Mutex<usize> = Mutex::new(0);

/// Calls `work` with each part, on as many threads as there are parts, the calling one among them. The threads are
/// those of the products.
///
/// # Panics
/// When a call panics, after all have ended.
pub fn each<T: Sync>(parts: &[T], work: impl Fn(&T) + Sync) {
    match parts {
        [part] => work(part),
        _ => run(parts.len(), &|index| work(&parts[index])),
    }
}

/// Calls `work` with each part, which it may change, as [`each`].
pub fn share<T: Send>(parts: impl IntoIterator<Item = T>, work: impl Fn(&mut T) + Sync) {
    let parts: Vec<Mutex<T>> = parts.into_iter().map(Mutex::new).collect();
    each(&parts, |part| work(&mut part.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// Calls `work` once with each number below `parts`, on up to `parts` threads, the calling one among them, and
/// returns when all calls have returned. If another task has the team, the calling thread does it all.
///
/// # Panics
/// When a call panics, after all have ended.
pub fn run(parts: usize, work: &(dyn Fn(usize) + Sync)) {
    let mut started = match TURN.try_lock() {
        Ok(started) if parts > 1 && parts < usize::from(u16::MAX) => started,
        _ => return (0..parts).for_each(work),
    };
    while *started < (parts - 1).min(MOST) {
        let thread = std::thread::Builder::new().name("matmul".to_owned());
        if thread.spawn(|| TEAM.wait_and_work()).is_err() {
            break; // The system has no more threads: those that there are do the work.
        }
        *started += 1;
    }
    TEAM.task(parts, work);
    let panic = TEAM.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(started);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

const fn parts_of(ticket: u64) -> u64 {
    ticket >> 16 & 0xffff
}

const fn next_of(ticket: u64) -> u64 {
    ticket & 0xffff
}

impl Team {
    /// Announces a task, works on it and waits for its end.
    fn task(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        self.done.store(0, SeqCst);
        // SAFETY: the caller holds `TURN` and all parts of the task before are done, so that no one reads this.
        // The lifetime is forgotten here; no one uses the reference after `done` has reached `parts`, and this
        // function returns only then.
        unsafe {
            *self.work.get() =
                Some(std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static Work>(work));
        }
        let number = (self.ticket.load(SeqCst) >> 32) + 1;
        self.ticket.store(number << 32 | (parts as u64) << 16, SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
        self.take_parts();
        let mut rounds = 0_u32;
        while self.done.load(SeqCst) < parts {
            rounds += 1;
            // Should the system have put the other thread aside, give it this processor.
            if rounds.is_multiple_of(4096) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    /// Takes parts of the current task until none is left.
    fn take_parts(&self) {
        let mut ticket = self.ticket.load(SeqCst);
        while next_of(ticket) < parts_of(ticket) {
            match self.ticket.compare_exchange(ticket, ticket + 1, SeqCst, SeqCst) {
                Ok(_) => {
                    // SAFETY: this part is not done, so the task that announced it is still waiting.
                    let work = unsafe { (*self.work.get()).map(|work| &*work) };
                    let part = next_of(ticket) as usize;
                    if let Some(work) = work
                        && let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(part)))
                    {
                        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
                    }
                    self.done.fetch_add(1, SeqCst);
                    ticket = self.ticket.load(SeqCst);
                }
                Err(now) => ticket = now,
            }
        }
    }

    /// What a thread of the team does all its life.
    fn wait_and_work(&self) {
        loop {
            self.take_parts();
            let since = Instant::now();
            let mut rounds = 0_u32;
            loop {
                let ticket = self.ticket.load(SeqCst);
                if next_of(ticket) < parts_of(ticket) {
                    break;
                }
                rounds += 1;
                if rounds.is_multiple_of(256) && since.elapsed() > AWAKE {
                    self.sleep();
                    break;
                }
                std::hint::spin_loop();
            }
        }
    }

    /// Sleeps until there is work.
    fn sleep(&self) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, SeqCst);
        // The ticket is looked at after `asleep` is raised and the caller looks at `asleep` after it has
        // written the ticket, so one of the two sees the other.
        loop {
            let ticket = self.ticket.load(SeqCst);
            if next_of(ticket) < parts_of(ticket) {
                break;
            }
            bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, SeqCst);
    }
}
