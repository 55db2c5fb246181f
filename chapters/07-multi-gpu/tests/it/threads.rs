use multi_gpu::threads::{Threads, run};
use multi_gpu::{Communicator, Error, PointToPoint, Rank, Result};
use std::{
    iter,
    sync::{Barrier, Mutex},
    thread,
    time::Duration,
};

/// What is told of a run that fails.
fn said(size: usize, work: impl Fn(Threads) -> Result<()> + Sync) -> String {
    run(size, work).unwrap_err().to_string()
}

#[test]
fn the_first_cause_is_told_and_not_what_the_others_see_of_it() {
    let failed = said(3, |mut rank| match rank.rank() {
        Rank(1) => Err(Error::Config("rank 1 does not like this".into())),
        _ => rank.barrier(),
    });
    assert_eq!(failed, "rank 1 does not like this");
    let panicked = said(3, |mut rank| {
        assert!(rank.rank() != Rank(2), "on purpose");
        rank.barrier()
    });
    assert!(panicked.starts_with("rank 2 is gone: it panicked"), "{panicked}");
    // Others that wait for a GPU's sum ask the watch, which tells a panic from an end in peace.
    let (seen, ended) = (Mutex::new(Vec::new()), Barrier::new(3));
    let waited = run(4, |rank| {
        let watch = rank.watch().unwrap();
        if rank.rank() == Rank(3) {
            return Ok(()); // it has done its part
        }
        ended.wait();
        assert!(rank.rank() != Rank(2), "on purpose");
        let lost = iter::repeat_with(watch).find_map(Result::err);
        seen.lock().unwrap().extend(lost.map(|error| error.to_string()));
        Ok(())
    });
    assert_eq!(waited.unwrap_err().to_string(), panicked);
    assert_eq!(seen.into_inner().unwrap(), [panicked.clone(), panicked]);
    // Rank 2 gives rank 0 up, and rank 1 sees rank 2 go.
    let silent = said(3, |mut rank| {
        let patience = if rank.rank() == Rank(2) { 20 } else { 5000 };
        rank.set_patience(Duration::from_millis(patience));
        match rank.rank() {
            Rank(0) => {
                thread::sleep(Duration::from_millis(100));
                Ok(())
            }
            Rank(1) => rank.receive(Rank(2), &mut [0.0]),
            _ => rank.receive(Rank(0), &mut [0.0]),
        }
    });
    assert!(silent.starts_with("rank 0 has not answered for 0 s"), "{silent}");
}

#[test]
fn messages_of_another_length_are_refused() {
    let words = said(2, |mut rank| match rank.rank() {
        Rank(0) => rank.send(Rank(1), &[1.0, 2.0]),
        _ => rank.receive(Rank(0), &mut [0.0]),
    });
    assert!(words.starts_with("rank 0 sent 2 numbers where rank 1 waits for 1"), "{words}");
}
