mod embedding;
mod rms_norm;
mod rotary;
mod swiglu;

use engine::{
    backend::Form, model::Model, ops::Op, params::Params, program::Numbers, record::Pass,
};
use engine::{ops::linear::Linear, step::program};
use language_model::layers::{
    attention::{CausalAttention, Shape},
    rms_norm::RmsNorm,
    swiglu::SwiGlu,
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
