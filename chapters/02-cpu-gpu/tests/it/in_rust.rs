use cpu_gpu::{
    gpu::testing,
    in_rust::{InRust, Turns},
};

/// Whether the crates are built or not: a sentence, and no wait.
#[test]
fn a_program_that_is_not_built_or_not_asked_well_says_how() {
    for of in InRust::ALL {
        let built = of.command(&[]).is_ok();
        let turns = Turns::start(of, &["walk"], 2).err().expect("there is no such product");
        for said in [of.says(&["walk"]), turns.to_string()] {
            let way_out = if built { "Usage" } else { "README.md says how" };
            assert!(said.contains(way_out), "{of:?}: {said}");
        }
    }
}

/// Those of the crates that are built hold all their kernels to `f64`.
#[test]
fn kernels_in_rust_are_right_where_there_is_a_gpu() {
    let Some(_) = testing::cuda() else { return };
    for mut run in InRust::ALL.into_iter().filter_map(|of| of.command(&["run"]).ok()) {
        assert!(run.status().unwrap().success(), "{run:?}");
    }
}
