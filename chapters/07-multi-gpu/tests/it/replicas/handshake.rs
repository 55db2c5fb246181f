use lab::data;
use multi_gpu::replicas::handshake::{Setup, shake};
use multi_gpu::{Rank, threads};
use training::{Config, Settings};

/// What three ranks report when one of them has another setup.
fn said(odd: usize, change: impl Fn(&mut Setup) + Sync) -> Option<String> {
    let data = data::drawn(20, 10, 1);
    let setup = Setup::of(&Config::default(), &data);
    let result = threads::run(3, |mut comm| {
        let mut mine = setup.clone();
        if comm.rank() == Rank(odd) {
            change(&mut mine);
        }
        Ok(shake(&mut comm, &mine).err().map(|error| error.to_string()))
    });
    let said = result.unwrap();
    assert!(said.iter().all(|words| *words == said[0]), "all ranks report the same: {said:?}");
    said[0].clone()
}

#[test]
fn a_rank_that_differs_is_named_with_its_difference() {
    let data = data::drawn(20, 10, 1);
    let settings = Settings { lr: 0.01, ..Settings::default() };
    let other = Setup::of(&Config { settings, ..Config::default() }, &data);
    let lr = said(2, |setup| *setup = other.clone()).unwrap();
    assert_eq!(
        lr,
        "rank 2 has --lr 0.01, and rank 0 has 0.001; start all ranks with the same options"
    );
    let files = Setup::of(&Config::default(), &data::drawn(20, 10, 2));
    let data = said(1, |setup| *setup = files.clone()).unwrap();
    assert!(data.starts_with("rank 1 has another training data ("), "{data}");
    let code = said(1, |setup| setup.program = "f00dfacecafe".into()).unwrap();
    assert!(code.starts_with("rank 1 has another program file (f00dface"), "{code}");
    // The others are compared with rank 0: if it is the odd one, the first other one is named.
    let version = said(0, |setup| setup.version = "9.9.9".into()).unwrap();
    assert!(version.starts_with("rank 1 has another version"), "{version}");
}
