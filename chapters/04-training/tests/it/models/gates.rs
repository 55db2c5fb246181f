use crate::models::fused::both_equal;
use dfdx::prelude::*;
use training::models::gates::{GatedStep, deal_rows_by_slices, step_by_operations};
use training::models::norm::Rows;

#[test]
fn rows_are_dealt_out_in_turn() {
    let dev = Cpu::seed_from_u64(4);
    let rows: Rows<2, Cpu> = dev.sample_normal_like(&(6, Const));
    let all = rows.as_vec();
    let (parts, _) = Cpu::deal_rows(rows.clone(), 3).unwrap();
    assert_eq!(parts[1].as_vec(), [&all[2..4], &all[8..10]].concat());
    let product = |(parts, tape): (Vec<Rows<2, Cpu>>, OwnedTape<f32, Cpu>)| {
        let [a, b, c] = [0, 1, 2].map(|part: usize| parts[part].clone());
        a.put_tape(tape) * b - c
    };
    both_equal(
        1e-5,
        [
            product(Cpu::deal_rows(rows.leaky_trace(), 3).unwrap()),
            product(deal_rows_by_slices(rows.leaky_trace(), 3).unwrap()),
        ],
        |grads| vec![grads.get(&rows).as_vec()],
    );
}

#[test]
fn a_gated_step_is_the_one_of_the_page_backward_too() {
    let dev = Cpu::seed_from_u64(5);
    let (input, sums): (Rows<9, Cpu>, Rows<9, Cpu>) =
        (dev.sample_normal_like(&(4, Const)), dev.sample_normal_like(&(4, Const)));
    let state: Rows<3, Cpu> = dev.sample_normal_like(&(4, Const));
    both_equal(
        1e-5,
        [
            Cpu::gated_step(&input, sums.leaky_trace(), &state).unwrap(),
            step_by_operations(&input, sums.leaky_trace(), &state).unwrap(),
        ],
        |grads| {
            let sums = grads.get(&sums).as_vec();
            vec![sums, grads.get(&input).as_vec(), grads.get(&state).as_vec()]
        },
    );
}
