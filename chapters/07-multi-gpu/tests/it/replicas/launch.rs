use multi_gpu::replicas::launch::train;
use multi_gpu::replicas::member::{Launcher, Member};
use std::{net::TcpListener, time::Duration};
use training::{Config, Watcher};

/// A user who has pressed Ctrl-C.
struct Asked;

impl Watcher for Asked {
    fn stop(&mut self) -> bool {
        true
    }
}

#[test]
fn ranks_that_wait_for_each_other_obey_ctrl_c() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let data = lab::data::drawn(20, 10, 1);
    for rank in [0, 1] {
        let member = Member { parent: None, ..Member::here(rank, 2, &free) };
        let begun = std::time::Instant::now();
        let error = train(&Launcher::Member(member), &Config::default(), &data, &mut Asked);
        let words = error.unwrap_err().to_string();
        assert!(words.starts_with("stopped before all ranks had come"), "{words}");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
