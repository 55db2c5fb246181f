//! Small steps that the tests take.

use engine::{
    backend::Backend,
    cpu::Ways,
    model::{self, Model},
    ops::{dense::Dense, linear::Linear, patches::Patches, relu::Relu},
    program::Numbers,
    rule::adam,
    step::Step,
    tensor::Place,
};

pub use backprop::check::error_f32 as error;

pub const BATCH: usize = 48;

/// Random numbers with a brighter line whose place is the label.
pub fn images(number: usize) -> (Vec<f32>, Vec<u32>) {
    let (mut images, mut labels) = (vec![0.0; 784 * BATCH], vec![0; BATCH]);
    for (row, (image, label)) in images.chunks_exact_mut(784).zip(&mut labels).enumerate() {
        *label = ((number * BATCH + row) * 7 % 10) as u32;
        for (i, pixel) in image.iter_mut().enumerate() {
            let noise = (row * 784 + i + number).wrapping_mul(2_654_435_761) >> 9 & 63;
            let bright = 155 * usize::from(i / 28 / 2 == *label as usize);
            *pixel = (noise + bright) as f32 / 255.0;
        }
    }
    (images, labels)
}

/// Fills a step with the first of a batch of images.
pub fn fill<B: Backend>(number: usize, rows: usize, step: &mut Step<B>) {
    let (images, labels) = images(number);
    step.fill(rows, &images[..784 * rows], &labels[..rows]);
}

pub fn batch(number: usize, step: &mut Step) {
    fill(number, BATCH, step);
}

pub fn step_of(model: Model, threads: usize) -> Step {
    Step::new(model, threads, Ways::default(), 1, adam)
}

/// Dropout on tokens: more than one row for each image.
pub fn tokens() -> Model {
    Model::new(3, 784, |p| {
        vec![
            Box::new(Patches { image: 28, patch: 7 }),
            Box::new(Dense::new(p, "small", 49, 32).relu_dropout(0.3)),
            Box::new(Dense::new(p, "scores", 512, 10)),
        ]
    })
}

/// Layers without a bias, one of them with weights that are turned.
fn linear_layers() -> Model {
    Model::new(3, 784, |p| {
        let turned = p.uniform("turned", [32, 784], 0.05);
        vec![
            Box::new(Linear::tied("turned", turned)),
            Box::new(Relu),
            Box::new(Linear::new(p, "scores", [32, 10])),
        ]
    })
}

/// All models, each with its name.
pub fn named() -> Vec<(&'static str, Model)> {
    vec![
        ("linear", model::linear(3)),
        ("mlp", model::mlp(3, 0.2)),
        ("cnn", model::cnn(3, 0.5)),
        ("tokens", tokens()),
        ("resnet", model::resnet(3)),
        ("rnn", model::rnn(3)),
        ("transformer", model::transformer(3)),
        ("linear layers", linear_layers()),
    ]
}

pub fn models() -> Vec<Model> {
    named().into_iter().map(|(_, model)| model).collect()
}

/// The gradient of a batch.
pub fn gradient(step: &mut Step, numbers: Numbers) -> Vec<f32> {
    batch(0, step);
    step.gradient(BATCH, numbers);
    step.all(Place::Gradient).to_vec()
}

/// Takes a step on a batch.
pub fn step_on(number: usize, numbers: Numbers, step: &mut Step) {
    batch(number, step);
    step.gradient(BATCH, numbers);
    step.update(1e-3);
}

/// The bits of all that a run goes on from.
pub fn bits(step: &Step) -> Vec<u32> {
    let places = [Place::Params, Place::Mean, Place::Square, Place::Kept];
    let mut all: Vec<u32> =
        places.into_iter().flat_map(|place| step.all(place).to_vec()).map(f32::to_bits).collect();
    all.push(step.updates());
    all
}
