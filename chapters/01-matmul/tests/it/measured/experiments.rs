use lab::{Experiment, Key, Recorder, Result, record::Value, testing};
use matmul::measured::experiments::{
    BF16, BF16_ERROR, LADDER, MISSES, NEARBY, PAIRS, PER_STEP, ROOFLINE, SCALING, SHAPES, SIZES,
    VECTORISE, half_precision, misses, nearby, pairs, roofs, rungs, scaling, shapes, sizes, stored,
    vectorise,
};

/// What an experiment leaves when its work is done by `run`, on small sizes.
fn values(key: Key, run: fn(&mut Recorder) -> Result<()>) -> Vec<Value> {
    let experiment = testing::experiment(matmul::chapter(), key.name);
    let values = testing::run(&Experiment { run, ..experiment }).values;
    for value in &values {
        assert!(value.median.is_finite() && value.median > 0.0, "{value:?}");
        if let Some(limit) = &value.limit {
            assert!(limit.value > 0.0, "{value:?}");
        }
    }
    values
}

#[test]
fn experiments_leave_what_they_declare() {
    values(VECTORISE, vectorise);
    values(MISSES, |r| misses(r, 16));
    values(LADDER, |r| rungs(r, 64));
    values(NEARBY, |r| nearby(r, &[8, 16]));
    values(ROOFLINE, |r| roofs(r, 64));
    values(SIZES, |r| sizes(r, &[16]));
    values(SHAPES, |r| shapes(r, &[4], &[(6, 5)]));
    values(SCALING, |r| scaling(r, &[16]));
    values(BF16, |r| half_precision(r, &[16]));
    values(PAIRS, |r| pairs(r, &[16]));
}

#[test]
fn naive_counts_two_loads_for_each_step() {
    let values = values(MISSES, |r| misses(r, 16));
    let loads = values.iter().find(|value| {
        value.key == PER_STEP.name
            && value.params["rung"] == "naive"
            && value.params["event"] == "loads"
    });
    assert_eq!(loads.map(|value| value.median), Some(2.0));
}

#[test]
fn bf16_inputs_cost_digits() {
    let values = values(BF16, |r| half_precision(r, &[16]));
    let error = |inputs: &str| {
        values
            .iter()
            .find(|v| v.key == BF16_ERROR.name && v.params["inputs"] == inputs)
            .map_or(f64::NAN, |v| v.median)
    };
    // Rounding is off by at most 2⁻⁸ in bf16 and 2⁻²⁴ in f32.
    assert!((1e-4..1e-2).contains(&error("bf16")), "{}", error("bf16"));
    assert!(error("f32") < 1e-5, "{}", error("f32"));
}

#[test]
fn a_turned_matrix_lies_column_after_column() -> matmul::Result<()> {
    let (values, rows, cols) = ([0.0; 6], 2, 3);
    for (turned, strides) in [(false, (3, 1)), (true, (1, 2))] {
        let matrix = stored(&values, rows, cols, turned)?;
        assert_eq!((matrix.rows(), matrix.cols()), (rows, cols));
        assert_eq!((matrix.row_stride(), matrix.col_stride()), strides);
    }
    Ok(())
}
