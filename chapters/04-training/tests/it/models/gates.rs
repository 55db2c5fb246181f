use dfdx::prelude::*;
use training::models::gates::deal_rows;
use training::models::norm::Rows;

#[test]
fn rows_are_dealt_out_in_turn() {
    let dev = Cpu::seed_from_u64(4);
    let rows: Rows<2, Cpu> = dev.sample_normal_like(&(6, Const));
    let all = rows.as_vec();
    let (parts, tape) = deal_rows(rows.leaky_trace(), 3).unwrap();
    assert_eq!(parts[1].as_vec(), [&all[2..4], &all[8..10]].concat());
    let grads = parts[1].clone().put_tape(tape).square().sum().backward();
    let of_part = [0.0, 0.0, 2.0 * all[2], 2.0 * all[3], 0.0, 0.0];
    let of_next = [0.0, 0.0, 2.0 * all[8], 2.0 * all[9], 0.0, 0.0];
    assert_eq!(grads.get(&rows).as_vec(), [of_part, of_next].concat());
}
