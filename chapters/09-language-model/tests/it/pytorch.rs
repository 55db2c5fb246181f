//! The same run in PyTorch, where a Python that has it is named: `THROUGHPUT_TORCH=PYTHON`.

use lab::testing::{Tool, need};
use language_model::{
    Config,
    measured::experiments::step::{Case, PROGRAM, Twins, start},
};

#[test]
fn losses_and_gradients_are_those_of_pytorch() {
    let python = std::env::var("THROUGHPUT_TORCH");
    let python = python.map_err(|_| "THROUGHPUT_TORCH names no Python that has it");
    let Some(python) = need(Tool::Torch, python) else { return };
    let mut peer = start(&python, PROGRAM, &[]).unwrap();
    let odd = Config { vocabulary: 301, context: 37, width: 48, heads: 3, layers: 3, hidden: 70 };
    for (config, batch) in [(odd, 5), (Config::tiny(), 4)] {
        let folder = tempfile::tempdir().unwrap();
        let case = Case::new(config, batch, 100);
        let twins = Twins::run(&case, &mut peer, folder.path(), 100).unwrap();
        assert!(twins.gradient < 1e-4, "{config:?}: gradients are {:.1e} apart", twins.gradient);
        assert!(twins.apart() < 1e-3, "{config:?}: losses are {:.1e} apart", twins.apart());
        assert!(twins.ours[99] < twins.ours[0] - 0.5, "{config:?}: nothing was learned");
    }
}
