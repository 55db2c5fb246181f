use dfdx::prelude::*;
use training::models::model::{
    CLASSES, Images, Logits, Network, build, gradients, parameters, set_parameters, tensors,
};

/// A model's parameters as a plain implementation reads them, one tensor after the other.
pub(crate) struct Plain<'a>(&'a [f64]);

impl<'a> Plain<'a> {
    pub(crate) fn take(&mut self, count: usize) -> &'a [f64] {
        let (mine, rest) = self.0.split_at(count);
        self.0 = rest;
        mine
    }

    /// The outputs of a dense layer, which [`Affine`] must equal.
    pub(crate) fn affine(&mut self, rows: &[Vec<f64>], outputs: usize) -> Vec<Vec<f64>> {
        let weight = self.take(rows[0].len() * outputs);
        let bias = self.take(outputs);
        let sum = |row: &[f64], o: usize| -> f64 {
            row.iter().enumerate().map(|(i, x)| x * weight[i * outputs + o]).sum()
        };
        rows.iter().map(|row| (0..outputs).map(|o| sum(row, o) + bias[o]).collect()).collect()
    }
}

/// Compares a model's scores with those of a `plain` implementation in f64, from parameters and one image,
/// and its gradients to the slopes of the same.
pub(crate) fn equals_plain<M: Network<Cpu>>(plain: impl Fn(&mut Plain, &[f64]) -> Vec<f64>) {
    let dev = Cpu::seed_from_u64(11);
    let mut model: M = build(&dev).unwrap();
    // Nothing may stay at one or zero, where a bug would not show.
    let mut values = parameters(&model).unwrap();
    for (at, value) in values.iter_mut().enumerate() {
        *value += (at % 13) as f32 * 0.005 - 0.03;
    }
    set_parameters(&mut model, &values).unwrap();
    let images: Images<Cpu> = dev.sample_uniform_like(&(3, Const));
    let pixels: Vec<f64> = images.as_vec().into_iter().map(f64::from).collect();
    let weights: Logits<Cpu> = dev.sample_normal_like(&(3, Const));
    let factors: Vec<f64> = weights.as_vec().into_iter().map(f64::from).collect();

    let all = |values: &[f64]| -> Vec<f64> {
        pixels.chunks_exact(784).flat_map(|image| plain(&mut Plain(values), image)).collect()
    };
    let mut exact: Vec<f64> = values.iter().copied().map(f64::from).collect();
    let wanted = all(&exact);
    assert_eq!(wanted.len(), 3 * CLASSES);
    let got = model.predict(images.clone()).unwrap().as_vec();
    for (got, wanted) in got.iter().zip(&wanted) {
        let error = (f64::from(*got) - wanted).abs();
        assert!(error <= 1e-5 * wanted.abs().max(1.0), "{got} is not {wanted}");
    }

    let scores = model.learn(images.leaky_trace()).unwrap();
    assert_eq!(scores.as_vec(), got);
    let grads = (scores * weights).sum().backward();
    let (slopes, mut start) = (gradients(&model, &grads).unwrap(), 0);
    assert_eq!(slopes.len(), exact.len());
    for (name, shape) in tensors(&model).unwrap() {
        let gradient = &slopes[start..start + shape.iter().product::<usize>()];
        for at in [gradient.len() / 7, gradient.len() * 5 / 6] {
            let value = exact[start + at];
            let mut loss = |by: f64| -> f64 {
                exact[start + at] = value + by;
                all(&exact).iter().zip(&factors).map(|(score, factor)| score * factor).sum()
            };
            let wanted = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            exact[start + at] = value;
            let error = (f64::from(gradient[at]) - wanted).abs();
            assert!(
                error <= 1e-3 * wanted.abs() + 1e-5,
                "{name}[{at}]: {} is not {wanted}",
                gradient[at]
            );
        }
        start += gradient.len();
    }
}

type Taped<S> = Tensor<S, f32, Cpu, OwnedTape<f32, Cpu>>;

pub(crate) fn close(within: f32, one: &[f32], two: &[f32]) {
    assert_eq!(one.len(), two.len());
    assert!(one.iter().any(|v| v.abs() > 0.0), "{one:?}");
    for (a, b) in one.iter().zip(two) {
        assert!((a - b).abs() < within * b.abs().max(1.0), "{a} is not {b}");
    }
}

/// Checks that two results are equal, and the gradients of `inputs` that they lead to.
pub(crate) fn both_equal<S: Shape + ReduceShapeTo<Rank0, Ax>, Ax: Axes>(
    within: f32,
    both: [Taped<S>; 2],
    inputs: impl Fn(&Gradients<f32, Cpu>) -> Vec<Vec<f32>>,
) {
    assert_eq!(both[0].shape(), both[1].shape());
    close(within, &both[0].as_vec(), &both[1].as_vec());
    let weight: Tensor<S, f32, Cpu> = both[0].device().sample_normal_like(both[0].shape());
    let [one, two] = both.map(|out| inputs(&(out * weight.clone()).sum::<Rank0, Ax>().backward()));
    one.iter().zip(&two).for_each(|(one, two)| close(within, one, two));
}
