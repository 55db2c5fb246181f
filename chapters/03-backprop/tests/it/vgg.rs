use backprop::count::{Layer, Model};
use backprop::vgg::{Gradients, Network, outer, times_vector, vector_times};
use backprop::{Error, check, init, random::SplitMix64, softmax::loss_and_gradient};

/// VGG's kinds of layers, in small.
fn small() -> Model {
    let conv = |channels| Layer::Conv { channels, size: 3, stride: 1, padding: 1 };
    let layers = vec![
        conv(3),
        Layer::Relu,
        conv(4),
        Layer::Relu,
        Layer::Pool { size: 2 },
        conv(5),
        Layer::Relu,
        Layer::Pool { size: 2 },
        Layer::Flatten,
        Layer::Dense { units: 7 },
        Layer::Relu,
        Layer::Dropout { rate: 0.5 },
        Layer::Dense { units: 4 },
    ];
    Model { name: "small".into(), input: vec![2, 8, 8], layers }
}

fn image(len: usize) -> Vec<f64> {
    let mut random = SplitMix64::new(9);
    (0..len).map(|_| random.normal()).collect()
}

#[test]
fn the_whole_networks_gradient_is_that_of_finite_differences() {
    for noise in [None, Some(5)] {
        let mut network = Network::<f64>::new(&small(), 4).unwrap();
        let image = image(128);
        let mut gradients = network.gradients();
        let (loss, _) = network.learn_from(&image, 2, noise, &mut gradients).unwrap();
        assert!(loss > 0.0);
        let flat = |gradients: &Gradients<f64>| {
            gradients.iter().flat_map(|(w, b)| w.iter().chain(b)).copied().collect::<Vec<_>>()
        };
        let values: Vec<f64> = network.tensors_mut().flat_map(|t| t.to_vec()).collect();
        let wanted = check::differences(&values, |values| {
            let mut values = values.iter();
            for tensor in network.tensors_mut() {
                tensor.iter_mut().zip(&mut values).for_each(|(to, from)| *to = *from);
            }
            let trace = network.forward(&image, noise).unwrap();
            loss_and_gradient(trace.scores(), &[2], 4).unwrap().0
        });
        let error = check::error(&flat(&gradients), &wanted);
        assert!(error < 1e-7, "{noise:?}: {error}");
    }
}

#[test]
fn it_keeps_as_many_numbers_and_parameters_as_the_counter_says() {
    let model = small();
    let counts = model.count().unwrap();
    let mut network = Network::<f64>::new(&model, 4).unwrap();
    let trace = network.forward(&image(128), Some(1)).unwrap();
    assert_eq!(trace.kept() as u64, counts.kept);
    assert_eq!(network.tensors_mut().map(|t| t.len() as u64).sum::<u64>(), counts.parameters);
    assert_eq!(network.columns.len() as u64, counts.unrolled);
    let gradients = network.gradients();
    let all: usize = gradients.iter().map(|(w, b)| w.len() + b.len()).sum();
    assert_eq!(all as u64, counts.parameters);
}

#[test]
fn in_f32_it_is_the_same_network() {
    let mut wide = Network::<f64>::new(&small(), 4).unwrap();
    let mut narrow = Network::<f32>::new(&small(), 4).unwrap();
    let image = image(128);
    let single: Vec<f32> = image.iter().map(|x| *x as f32).collect();
    let (mut g64, mut g32) = (wide.gradients(), narrow.gradients());
    let (a, _) = wide.learn_from(&image, 1, Some(3), &mut g64).unwrap();
    let (b, _) = narrow.learn_from(&single, 1, Some(3), &mut g32).unwrap();
    assert!((a - b).abs() < 1e-5 * a, "{a} {b}");
    for ((w64, b64), (w32, b32)) in g64.iter().zip(&g32) {
        let [w, b] = [w32, b32].map(|x| check::wide(x));
        assert!(check::error(&w, w64) < 1e-4 && check::error(&b, b64) < 1e-4);
    }
}

#[test]
fn one_row_is_the_product_of_one_row() {
    for (inputs, outputs) in [(1, 1), (3, 50), (41, 16), (7, 33)] {
        let mut random = SplitMix64::new(2);
        let mut layer = init::he::<f64>(inputs, outputs, &mut random).unwrap();
        layer.bias.iter_mut().for_each(|b| *b = random.normal());
        let x: Vec<f64> = (0..inputs).map(|_| random.normal()).collect();
        let dy: Vec<f64> = (0..outputs).map(|_| random.normal()).collect();
        let mut y = layer.bias.clone();
        vector_times(&layer, &x, &mut y).unwrap();
        assert!(check::error(&y, &layer.forward(&x).unwrap()) < 1e-14);
        let mut dw = vec![f64::NAN; inputs * outputs];
        outer(&mut dw, &x, &dy);
        assert_eq!(dw, layer.backward_weights(&x, &dy).unwrap().weights);
        let dx = times_vector(&layer, &dy);
        assert!(check::error(&dx, &layer.backward_input(&dy).unwrap()) < 1e-14);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut network = Network::<f64>::new(&small(), 4).unwrap();
    assert!(matches!(network.forward(&[0.0; 3], None), Err(Error::Count { .. })));
    let mut gradients = network.gradients();
    let error = network.learn_from(&image(128), 4, None, &mut gradients).unwrap_err();
    assert!(matches!(error, Error::Label { .. }));
}
