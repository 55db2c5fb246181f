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

/// The most parts of a task.
const MOST: usize = 1024;

/// What the caller of [`run`] hands out: `work(0)`, `work(1)`, … up to `parts`.
type Work = dyn Fn(usize) + Sync;

/// What lies in a cache line of its own: a line that two cores write to goes to and fro between them.
#[repr(align(64))]
struct Line<T>(T);

struct Team {
    /// The task's number, and its parts (16 bits).
    ticket: AtomicU64,
    /// The last task whose part with this number was taken.
    taken: [Line<AtomicU64>; MOST],
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
// threads that have taken a part of that ticket, whose caller waits for it.
unsafe impl Sync for Team {}

static TEAM: Team = Team {
    ticket: AtomicU64::new(0),
    taken: [const { Line(AtomicU64::new(0)) }; MOST],
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
    run(parts.len(), &|index| work(&parts[index]));
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
    // Who works alone has no need of the team, and leaves it to others.
    let turn = (2..=MOST).contains(&parts).then(|| TURN.try_lock().ok()).flatten();
    let Some(mut started) = turn else { return (0..parts).for_each(work) };
    while *started < parts - 1 {
        let thread = std::thread::Builder::new().name("matmul".to_owned());
        let own = *started + 1;
        if thread.spawn(move || TEAM.wait_and_work(own)).is_err() {
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
        let number = (self.ticket.load(SeqCst) >> 16) + 1;
        let ticket = number << 16 | parts as u64;
        self.ticket.store(ticket, SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
        self.take_parts(ticket, 0);
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

    /// Takes a thread's own part of a task, and then each that nobody else has taken. So a thread computes the same part of
    /// like tasks, which is still in its cache.
    fn take_parts(&self, ticket: u64, own: usize) {
        let (number, parts) = (ticket >> 16, ticket as usize & 0xffff);
        for part in (own..parts).chain(0..own.min(parts)) {
            let taken = &self.taken[part].0;
            let before = taken.load(SeqCst);
            // A number never falls: who writes this one is the only one, and the task waits for it.
            if before >= number || taken.compare_exchange(before, number, SeqCst, SeqCst).is_err() {
                continue;
            }
            // SAFETY: this part is not done, so the task that announced it is still waiting.
            let work = unsafe { (*self.work.get()).map(|work| &*work) };
            if let Some(work) = work
                && let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(part)))
            {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            self.done.fetch_add(1, SeqCst);
        }
    }

    /// What a thread of the team does all its life.
    fn wait_and_work(&self, own: usize) {
        let mut seen = 0;
        loop {
            let since = Instant::now();
            let mut rounds = 0_u32;
            while self.ticket.load(SeqCst) == seen {
                rounds += 1;
                if rounds.is_multiple_of(256) && since.elapsed() > AWAKE {
                    self.sleep(seen);
                    break;
                }
                std::hint::spin_loop();
            }
            seen = self.ticket.load(SeqCst);
            self.take_parts(seen, own);
        }
    }

    /// Sleeps until there is another task than that of this ticket.
    fn sleep(&self, seen: u64) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, SeqCst);
        // The ticket is looked at after `asleep` is raised and the caller looks at `asleep` after it has
        // written the ticket, so one of the two sees the other.
        while self.ticket.load(SeqCst) == seen {
            bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, SeqCst);
    }
}
