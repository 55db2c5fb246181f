//! The test of the exercise `which-code`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{
    Code::{self, Machine, Only, Ptx},
    Program,
    Refused::{NewPtx, NoCode, OldDriver},
    Start::{AtOnce, Compiled},
    Version, start,
};

fn program(toolkit: Version, code: &[Code]) -> Program {
    Program { toolkit, code: code.to_vec() }
}

#[test]
fn machine_code_fits_its_major_version_from_its_minor_one_on() {
    let with_8_0 = program((12, 0), &[Machine((8, 0))]);
    for (card, wanted) in [
        ((8, 0), Ok(AtOnce)),
        ((8, 6), Ok(AtOnce)),
        ((8, 9), Ok(AtOnce)),
        ((9, 0), Err(NoCode)),
        ((7, 5), Err(NoCode)),
    ] {
        assert_eq!(start(&with_8_0, card, (12, 0)), wanted, "code for 8.0 on {card:?}");
    }
    let with_8_6 = program((12, 0), &[Machine((8, 6))]);
    assert_eq!(start(&with_8_6, (8, 0), (12, 0)), Err(NoCode), "code for 8.6 on 8.0");
}

#[test]
fn ptx_fits_all_later_cards_if_the_driver_can_read_it() {
    let with_8_0 = program((12, 4), &[Ptx((8, 0))]);
    for (card, driver, wanted) in [
        ((8, 0), (12, 4), Ok(Compiled)),
        ((9, 0), (12, 4), Ok(Compiled)),
        ((12, 0), (13, 0), Ok(Compiled)),
        ((7, 5), (12, 4), Err(NoCode)),
        ((9, 0), (12, 3), Err(NewPtx)),
        ((7, 5), (12, 3), Err(NoCode)),
    ] {
        let found = start(&with_8_0, card, driver);
        assert_eq!(found, wanted, "PTX for 8.0 on {card:?}, driver for CUDA {driver:?}");
    }
    let with_8_6 = program((12, 4), &[Ptx((8, 6))]);
    for (card, wanted) in [
        ((8, 0), Err(NoCode)),
        ((8, 6), Ok(Compiled)),
        ((8, 9), Ok(Compiled)),
        ((9, 0), Ok(Compiled)),
    ] {
        assert_eq!(start(&with_8_6, card, (12, 4)), wanted, "PTX for 8.6 on {card:?}");
    }
}

#[test]
fn machine_code_runs_on_any_driver_of_the_same_major_version() {
    let with_both = program((12, 8), &[Ptx((8, 0)), Machine((8, 0))]);
    assert_eq!(start(&with_both, (8, 0), (12, 2)), Ok(AtOnce), "an A100");
    assert_eq!(start(&with_both, (9, 0), (12, 2)), Err(NewPtx), "an H100: error 222");
    assert_eq!(start(&with_both, (9, 0), (12, 8)), Ok(Compiled), "an H100, a newer driver");
    assert_eq!(start(&with_both, (8, 0), (11, 8)), Err(OldDriver), "a driver for CUDA 11");
    assert_eq!(start(&with_both, (8, 0), (13, 0)), Ok(AtOnce), "a driver for CUDA 13");
}

#[test]
fn code_for_one_capability_fits_no_other() {
    let hopper = program((12, 0), &[Only((9, 0))]);
    assert_eq!(start(&hopper, (9, 0), (12, 0)), Ok(AtOnce));
    assert_eq!(start(&hopper, (9, 1), (12, 0)), Err(NoCode), "a minor version later");
    assert_eq!(start(&hopper, (10, 0), (12, 8)), Err(NoCode), "a generation later");
    let with_more = program((12, 0), &[Only((9, 0)), Ptx((8, 0))]);
    assert_eq!(start(&with_more, (10, 0), (12, 8)), Ok(Compiled), "with PTX beside it");
}

#[test]
fn the_first_reason_is_named() {
    for code in [Machine((8, 0)), Ptx((8, 0)), Only((8, 0))] {
        let program = program((12, 4), &[code]);
        assert_eq!(start(&program, (7, 5), (11, 8)), Err(OldDriver), "{code:?} on 7.5, CUDA 11.8");
        assert_eq!(start(&program, (7, 5), (12, 3)), Err(NoCode), "{code:?} on 7.5, CUDA 12.3");
    }
}

#[test]
fn a_newer_driver_never_stops_a_program() {
    let codes = [Machine((8, 0)), Machine((9, 0)), Ptx((8, 0)), Ptx((9, 0)), Only((9, 0))];
    let drivers = [(11, 8), (12, 0), (12, 3), (12, 8), (13, 0)];
    for toolkit in [(11, 8), (12, 3), (13, 0)] {
        for code in codes {
            for card in [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)] {
                let program = program(toolkit, &[code]);
                let starts = drivers.map(|driver| start(&program, card, driver).is_ok());
                assert!(starts.is_sorted(), "{program:?} on {card:?}: {starts:?} on {drivers:?}");
            }
        }
    }
}
