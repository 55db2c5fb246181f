use backprop::{count, fits::Moves};
use multi_gpu::Error;
use multi_gpu::plan::model::{Workload, residual};

#[test]
fn vgg16_keeps_its_counts() {
    let counts = count::Model::vgg16().count().unwrap();
    let work = Workload::named("vgg16", Moves::Adam).unwrap();
    assert_eq!(work.blocks.len(), 16);
    assert_eq!(work.operations(), counts.forward + counts.backward);
    assert_eq!(work.splits, 64);
}

#[test]
fn transformers_have_their_published_numbers_of_parameters() {
    // Brown et al. 2020, table 2.1; Narayanan et al. 2021, table 1.
    for (name, wanted) in [
        ("gpt-125m", 125e6),
        ("gpt-1.3b", 1.3e9),
        ("gpt-7b", 6.7e9),
        ("gpt-13b", 13e9),
        ("gpt-175b", 175e9),
        ("gpt-1t", 1008e9),
    ] {
        let work = Workload::named(name, Moves::Adam).unwrap();
        let share = work.parameters() / wanted;
        assert!((share - 1.0).abs() < 0.02, "{name}: {}", work.parameters());
    }
    // Six operations for a parameter and a token, and more for attention.
    let work = Workload::named("gpt-175b", Moves::Adam).unwrap();
    let share = work.operations() / (6.0 * work.parameters() * 2048.0);
    assert!((1.0..1.1).contains(&share), "{share}");
}

#[test]
fn residual_networks_have_their_published_numbers() {
    // Parameters and multiplications with an addition as torchvision counts them.
    for (blocks, parameters, products) in
        [([3, 4, 6, 3], 25_557_032.0, 4.09e9), ([3, 4, 23, 3], 44_549_160.0, 7.80e9)]
    {
        let layers = residual(blocks);
        assert_eq!(layers.iter().map(|l| l.0).sum::<f64>(), parameters);
        let found: f64 = layers.iter().map(|l| l.1 / 2.0).sum();
        assert!((found / products - 1.0).abs() < 0.01, "{found}");
    }
}

#[test]
fn descriptions_are_read_and_errors_are_sentences() {
    let text = "gpt:layers=2,width=8,heads=2,sequence=4,vocabulary=10";
    let work = Workload::named(text, Moves::Sgd).unwrap();
    assert_eq!((work.blocks.len(), work.splits), (4, 2));
    let odd = "gpt:layers=1,width=7,heads=2,sequence=4,vocabulary=9";
    for bad in ["gpt-9x", "gpt:layers=2", "gpt:layers=x", "gpt:depth=3", "vgg99", odd] {
        let found = Workload::named(bad, Moves::Sgd);
        assert!(matches!(found, Err(Error::Config(_) | Error::Backprop(_))), "{bad}");
    }
    let none = count::Model { name: "n".into(), input: vec![3], layers: vec![count::Layer::Relu] };
    assert!(Workload::of_counts(&none.count().unwrap(), Moves::Sgd).is_err());
}
