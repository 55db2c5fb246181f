//! The test of the exercise `which-code`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Code::{self, Machine, Only, Ptx};
use exercise::Refused::{NewPtx, NoCode, OldDriver};
use exercise::Start::{AtOnce, Compiled};
use exercise::{Program, Version, start};
use lab::check::pairs;

const MACHINE: &str = "machine code fits its major version from its minor one on";
const PTX: &str = "PTX fits all later cards if the driver can read it";
const DRIVER: &str = "machine code runs on any driver of the same major version";
const ONLY: &str = "code for one capability fits no other";

fn program(toolkit: Version, code: &[Code]) -> Program {
    Program { toolkit, code: code.to_vec() }
}

#[test]
fn by_hand() {
    let [code_8_0, code_8_6] = [(8, 0), (8, 6)].map(|of| program((12, 0), &[Machine(of)]));
    let [ptx_8_0, ptx_8_6] = [(8, 0), (8, 6)].map(|of| program((12, 4), &[Ptx(of)]));
    let both = program((12, 8), &[Ptx((8, 0)), Machine((8, 0))]);
    let hopper = program((12, 0), &[Only((9, 0))]);
    let more = program((12, 0), &[Only((9, 0)), Ptx((8, 0))]);
    for (law, what, program, card, driver, wanted) in [
        (MACHINE, "code for 8.0 on 8.0", &code_8_0, (8, 0), (12, 0), Ok(AtOnce)),
        (MACHINE, "code for 8.0 on 8.6", &code_8_0, (8, 6), (12, 0), Ok(AtOnce)),
        (MACHINE, "code for 8.0 on 8.9", &code_8_0, (8, 9), (12, 0), Ok(AtOnce)),
        (MACHINE, "code for 8.0 on 9.0", &code_8_0, (9, 0), (12, 0), Err(NoCode)),
        (MACHINE, "code for 8.0 on 7.5", &code_8_0, (7, 5), (12, 0), Err(NoCode)),
        (MACHINE, "code for 8.6 on 8.0", &code_8_6, (8, 0), (12, 0), Err(NoCode)),
        (PTX, "PTX for 8.0 on 8.0", &ptx_8_0, (8, 0), (12, 4), Ok(Compiled)),
        (PTX, "PTX for 8.0 on 9.0", &ptx_8_0, (9, 0), (12, 4), Ok(Compiled)),
        (PTX, "PTX for 8.0 on 12.0", &ptx_8_0, (12, 0), (13, 0), Ok(Compiled)),
        (PTX, "PTX for 8.0 on 7.5", &ptx_8_0, (7, 5), (12, 4), Err(NoCode)),
        (PTX, "PTX for 8.0, an older driver", &ptx_8_0, (9, 0), (12, 3), Err(NewPtx)),
        (PTX, "PTX for 8.0, an older driver", &ptx_8_0, (7, 5), (12, 3), Err(NoCode)),
        (PTX, "PTX for 8.6 on 8.0", &ptx_8_6, (8, 0), (12, 4), Err(NoCode)),
        (PTX, "PTX for 8.6 on 8.6", &ptx_8_6, (8, 6), (12, 4), Ok(Compiled)),
        (PTX, "PTX for 8.6 on 8.9", &ptx_8_6, (8, 9), (12, 4), Ok(Compiled)),
        (PTX, "PTX for 8.6 on 9.0", &ptx_8_6, (9, 0), (12, 4), Ok(Compiled)),
        (DRIVER, "an A100", &both, (8, 0), (12, 2), Ok(AtOnce)),
        (DRIVER, "an H100: error 222", &both, (9, 0), (12, 2), Err(NewPtx)),
        (DRIVER, "an H100, a newer driver", &both, (9, 0), (12, 8), Ok(Compiled)),
        (DRIVER, "a driver for CUDA 11", &both, (8, 0), (11, 8), Err(OldDriver)),
        (DRIVER, "a driver for CUDA 13", &both, (8, 0), (13, 0), Ok(AtOnce)),
        (ONLY, "this capability", &hopper, (9, 0), (12, 0), Ok(AtOnce)),
        (ONLY, "a minor version later", &hopper, (9, 1), (12, 0), Err(NoCode)),
        (ONLY, "a generation later", &hopper, (10, 0), (12, 8), Err(NoCode)),
        (ONLY, "with PTX beside it", &more, (10, 0), (12, 8), Ok(Compiled)),
    ] {
        let found = start(program, card, driver);
        assert_eq!(found, wanted, "{law}: {what}, driver for CUDA {driver:?}");
    }
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
        for (code, card) in pairs(codes, [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)]) {
            let program = program(toolkit, &[code]);
            let starts = drivers.map(|driver| start(&program, card, driver).is_ok());
            assert!(starts.is_sorted(), "{program:?} on {card:?}: {starts:?} on {drivers:?}");
        }
    }
}
