//! What no whole model shows of a layer; `transformer` holds its loss and its gradients.

mod rotary;

use engine::{
    backend::Form, model::Model, ops::Op, params::Params, program::Numbers, record::Pass,
};
use engine::{ops::linear::Linear, step::program};
use language_model::layers::{
    attention::{CausalAttention, Shape},
    rms_norm::{self, EPS, RmsNorm},
    swiglu::{self, SwiGlu},
};
use std::panic::catch_unwind;

/// Rows of 32 numbers, for an operation that takes others.
#[test]
fn rows_that_do_not_fit_are_refused_by_the_name_of_the_operation() {
    let shape = |heads| Shape { tokens: 2, heads, size: 4 };
    let said = |op: fn(&mut Params, Shape) -> Box<dyn Op>, heads| {
        let ops = |p: &mut Params| -> Vec<Box<dyn Op>> {
            vec![Box::new(Linear::new(p, "first", [8, 32])), op(p, shape(heads))]
        };
        let pass = Pass { rows: 4, training: false, numbers: Numbers::F32, adds: false };
        let tried = catch_unwind(|| drop(program(&Model::new(1, 8, ops), pass, Form::CPU)));
        *tried.expect_err("it is wrong").downcast::<String>().unwrap()
    };
    for (said, takes) in [
        (said(|p, _| Box::new(RmsNorm::new(p, "x", 16)), 1), 16),
        (said(|p, _| Box::new(SwiGlu::new(p, "x", [8, 8])), 1), 16),
        (said(|_, shape| Box::new(CausalAttention::new("x", shape)), 3), 36),
    ] {
        let wanted = format!("x: it takes 1×{takes} numbers of each image and is given 1×32");
        assert!(said.starts_with(&wanted) && said.contains("; make it for these, or"), "{said}");
    }
}

#[test]
fn a_row_of_zeros_stays_zeros_and_derivatives_are_added() {
    let (mut y, mut dx, mut dscale) = ([1.0; 3], [0.25; 3], [0.5; 3]);
    rms_norm::forward(&mut y, &[0.0; 3], &[2.0; 3]);
    rms_norm::backward(&mut dx, &mut dscale, &[1.0; 3], &[0.0; 3], &[2.0; 3]);
    assert_eq!((y, dscale), ([0.0; 3], [0.5; 3]));
    assert!(dx.iter().all(|d| (d - 0.25 - 2.0 / EPS.sqrt()).abs() < 1e-2), "{dx:?}");
}

#[test]
fn large_gates_are_open_or_shut() {
    let (mut h, mut rows) = ([0.0; 2], [200.0, -200.0, 3.0, 3.0]);
    swiglu::forward(&mut h, &rows, 2);
    assert!(h[0] == 600.0 && h[1].abs() < 1e-30, "{h:?}");
    swiglu::backward(&mut rows, &mut h, &[1.0, 1.0], 2);
    let wanted = [3.0, 0.0, 200.0, 0.0];
    assert!(rows.iter().zip(wanted).all(|(d, w)| (d - w).abs() < 1e-30), "{rows:?}");
}
