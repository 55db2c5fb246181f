use cpu_gpu::in_rust::{InRust, Turns};

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
