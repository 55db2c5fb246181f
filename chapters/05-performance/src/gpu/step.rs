//! A training step of a network with one hidden layer that never leaves the device: the data set, the parameters, the
//! step's number and the losses all live there. The CPU launches thirteen kernels and looks at none of them.
//!
//! It is chapter 3's step (`backprop::mlp`), without dropout; a test checks that both are equal.

use super::{
    bias::BiasBackward,
    fused::{tick_args, update_args},
    graph::Graph,
    kernels::{BATCH, FORWARD, FORWARD_LAST, LOSS, TICK, UPDATE_KEEP, launch_each, length},
    product::{Layout, Products},
};
use backprop::{adam::Adam, mlp::Mlp};
use cpu_gpu::{
    Error, Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch, read_all, write_all},
};
use matmul::Shape;

/// A step with its operands on a device.
pub struct Step<'g> {
    gpu: &'g dyn Gpu,
    rule: Adam,
    /// Inputs, hidden units, classes.
    sizes: [usize; 3],
    batch: usize,
    /// Images in the order.
    count: usize,
    kernels: Kernels,
    data: Data,
    /// Parameters, both moments and the gradient: four buffers of the same layout.
    learned: [Buffer; 4],
    layout: Tensors,
    x: Buffer,
    labels: Buffer,
    hidden: Buffer,
    dhidden: Buffer,
    scores: Buffer,
    losses: Buffer,
    state: Buffer,
    factors: Buffer,
}

struct Kernels {
    gather: Kernel,
    products: Products,
    bias_relu: Kernel,
    bias: Kernel,
    loss: Kernel,
    bias_backward: BiasBackward,
    bias_relu_backward: BiasBackward,
    tick: Kernel,
    adam: Kernel,
}

/// Images of a byte a pixel, a byte for each label, and the order in which they come.
struct Data {
    pixels: Buffer,
    truths: Buffer,
    order: Buffer,
}

/// Where W₁, b₁, W₂ and b₂ begin in a buffer, in numbers, and how many each has. A part must begin at a multiple of
/// 256 bytes. What lies between stays zero: its gradient is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensors {
    /// Where each begins.
    pub starts: [usize; 4],
    lengths: [usize; 4],
    /// Numbers of the buffer.
    pub total: usize,
}

impl Tensors {
    /// Those of a network of these sizes.
    pub fn new([inputs, hidden, classes]: [usize; 3]) -> Self {
        let lengths = [inputs * hidden, hidden, hidden * classes, classes];
        let mut starts = [0; 4];
        let mut total: usize = 0;
        for (start, length) in starts.iter_mut().zip(lengths) {
            *start = total;
            total = (total + length).next_multiple_of(64);
        }
        Self { starts, lengths, total }
    }

    fn part<'b>(&self, buffer: &'b Buffer, at: usize) -> Arg<'b> {
        Arg::Part { buffer, offset: 4 * self.starts[at] }
    }

    /// Tensors from a buffer's numbers, one after the other without gaps.
    pub fn gathered(&self, all: &[f32]) -> Vec<f32> {
        let parts = self.starts.iter().zip(self.lengths);
        parts.flat_map(|(start, length)| &all[*start..start + length]).copied().collect()
    }

    /// The same back.
    pub fn spread(&self, values: &[f32]) -> Vec<f32> {
        let (mut all, mut rest) = (vec![0.0; self.total], values);
        for (start, length) in self.starts.iter().zip(self.lengths) {
            let (mine, others) = rest.split_at(length);
            all[*start..start + length].copy_from_slice(mine);
            rest = others;
        }
        all
    }
}

impl<'g> Step<'g> {
    /// Kernels that a step launches; with a batch of more than 512, two more.
    pub const LAUNCHES: usize = 13;

    /// Puts a model with one hidden layer and a data set on the device: `pixels` has a byte for each input of each
    /// image, `labels` a class for each. The images come in their order until [`Step::set_order`].
    ///
    /// # Errors
    /// A sentence for another kind of model, for a batch of none or of more images than there are, for labels that
    /// are no classes; and what the device or its compiler says.
    pub fn new(
        gpu: &'g dyn Gpu,
        model: &Mlp<f32>,
        (pixels, labels): (&[u8], &[u8]),
        batch: usize,
        rule: Adam,
    ) -> Result<Self> {
        let sizes: [usize; 3] = model.sizes().try_into().map_err(|sizes| {
            Error::message(format!(
                "this step is of a network with one hidden layer, such as 784-128-10, not of {sizes:?}"
            ))
        })?;
        let [inputs, hidden, classes] = sizes;
        check_data((pixels, labels), inputs, classes)?;
        let count = labels.len();
        if batch == 0 || batch > count {
            return Err(Error::message(format!(
                "a batch of {batch} of {count} images can't be; take one from 1 to {count}"
            )));
        }
        let layout = Tensors::new(sizes);
        let long = |count: usize| gpu.alloc(4 * count);
        let learned = [(); 4].map(|()| long(layout.total));
        let [p, m, v, g] = learned;
        let step = Self {
            gpu,
            rule,
            sizes,
            batch,
            count,
            kernels: Kernels {
                gather: BATCH.compile(gpu)?,
                products: Products::new(gpu)?,
                bias_relu: FORWARD.compile(gpu)?,
                bias: FORWARD_LAST.compile(gpu)?,
                loss: LOSS.compile(gpu)?,
                bias_backward: BiasBackward::new(gpu, false, [batch, classes])?,
                bias_relu_backward: BiasBackward::new(gpu, true, [batch, hidden])?,
                tick: TICK.compile(gpu)?,
                adam: UPDATE_KEEP.compile(gpu)?,
            },
            data: Data {
                pixels: gpu.alloc(pixels.len())?,
                truths: gpu.alloc(labels.len())?,
                order: long(count)?,
            },
            learned: [p?, m?, v?, g?],
            layout,
            x: long(batch * inputs)?,
            labels: long(batch)?,
            hidden: long(batch * hidden)?,
            dhidden: long(batch * hidden)?,
            scores: long(batch * classes)?,
            losses: long(batch)?,
            state: long(1)?,
            factors: long(2)?,
        };
        gpu.write(&step.data.pixels, pixels)?;
        gpu.write(&step.data.truths, labels)?;
        step.set_order(&(0..count as u32).collect::<Vec<_>>())?;
        step.reset(model)?;
        Ok(step)
    }

    /// The model's parameters, moments of zero, and no step done.
    ///
    /// # Errors
    /// An error for a model of other sizes, or the device's.
    pub fn reset(&self, model: &Mlp<f32>) -> Result<()> {
        if model.sizes() != self.sizes {
            return Err(Error::message(format!(
                "this step is of a network of {:?}, not of {:?}",
                self.sizes,
                model.sizes()
            )));
        }
        let [parameters, others @ ..] = &self.learned;
        write_all(self.gpu, parameters, &self.layout.spread(&model.parameters()))?;
        for buffer in others {
            write_all(self.gpu, buffer, &vec![0.0_f32; self.layout.total])?;
        }
        write_all(self.gpu, &self.state, &[0_u32])
    }

    /// The order in which the images come from now on: each index below their count, as many as there are images.
    /// The last ones that fill no batch are left out.
    ///
    /// # Errors
    /// An error for another length or an index that is too large, or the device's.
    pub fn set_order(&self, order: &[u32]) -> Result<()> {
        let count = self.count;
        if order.len() != count || order.iter().any(|at| *at as usize >= count) {
            return Err(Error::message(format!(
                "an order of {count} images has {count} numbers below {count}"
            )));
        }
        write_all(self.gpu, &self.data.order, order)
    }

    /// Starts a step and returns at once; nothing is done when it returns.
    ///
    /// # Errors
    /// The device's error.
    pub fn launch(&self) -> Result<()> {
        self.load_batch()?;
        self.forward()?;
        self.backward()?;
        self.update()
    }

    /// The step as a graph. It is not carried out.
    ///
    /// # Errors
    /// An error if the step's device is not CUDA's, or the driver's.
    pub fn graph(&self) -> Result<Graph<'_>> {
        let Some(cuda) = self.gpu.as_cuda() else {
            return Err(Error::message(format!(
                "{} is driven by OpenCL 1.2, which has no graphs; they take an NVIDIA GPU and CUDA",
                self.gpu.about().name
            )));
        };
        // SAFETY: the step owns every kernel and buffer that it launches with, and is borrowed as long as the graph.
        unsafe { Graph::capture(cuda, || self.launch()) }
    }

    fn product(&self, layout: Layout, abc: [Arg; 3], [m, k, n]: [usize; 3]) -> Result<()> {
        self.kernels.products.launch(self.gpu, layout, abc, Shape::new(m, k, n))
    }

    fn each(&self, kernel: &Kernel, count: usize, args: &[Arg]) -> Result<()> {
        launch_each(self.gpu, kernel, count, args)
    }

    fn parameter(&self, at: usize) -> Arg<'_> {
        self.layout.part(&self.learned[0], at)
    }

    fn gradient_of(&self, at: usize) -> Arg<'_> {
        self.layout.part(&self.learned[3], at)
    }

    /// The batch that the step's number chooses.
    fn load_batch(&self) -> Result<()> {
        let Data { pixels, truths, order } = &self.data;
        let args = [pixels, truths, order, &self.state, &self.x, &self.labels].map(Arg::Buffer);
        let [inputs, ..] = self.sizes;
        let lengths = [length(self.count)?, length(self.batch)?, length(inputs)?];
        self.each(&self.kernels.gather, self.batch * inputs, &[&args[..], &lengths].concat())
    }

    fn forward(&self) -> Result<()> {
        let (batch, [inputs, hidden, classes]) = (self.batch, self.sizes);
        let [x, h, s] = [&self.x, &self.hidden, &self.scores].map(Arg::Buffer);
        let [w1, b1, w2, b2] = [0, 1, 2, 3].map(|at| self.parameter(at));
        // ANCHOR: forward
        let Kernels { bias_relu, bias, .. } = &self.kernels;
        self.product(Layout::Plain, [x, w1, h], [batch, inputs, hidden])?;
        let all = batch * hidden;
        self.each(bias_relu, all, &[h, b1, length(all)?, length(hidden)?])?;
        self.product(Layout::Plain, [h, w2, s], [batch, hidden, classes])?;
        let all = batch * classes;
        self.each(bias, all, &[s, b2, length(all)?, length(classes)?])
        // ANCHOR_END: forward
    }

    fn backward(&self) -> Result<()> {
        let (batch, [inputs, hidden, classes]) = (self.batch, self.sizes);
        let [x, h, s] = [&self.x, &self.hidden, &self.scores].map(Arg::Buffer);
        let (dh, w2) = (Arg::Buffer(&self.dhidden), self.parameter(2));
        let [dw1, db1, dw2, db2] = [0, 1, 2, 3].map(|at| self.gradient_of(at));
        let (labels, losses) = (Arg::Buffer(&self.labels), Arg::Buffer(&self.losses));
        let (rows, mean) = (length(batch)?, Arg::F32(1.0 / batch as f32));
        let Kernels { loss, bias_backward, bias_relu_backward, .. } = &self.kernels;
        // ANCHOR: backward
        let of_rows = Launch::new([batch.div_ceil(8), 1], [32, 8]);
        let (gpu, args) = (self.gpu, [s, labels, losses, rows, length(classes)?, mean]);
        gpu.launch(loss, of_rows, &args)?;
        let ds = s; // the scores have become their gradient
        self.product(Layout::TransposedA, [h, ds, dw2], [hidden, batch, classes])?;
        bias_backward.launch(gpu, [ds, ds, db2])?;
        self.product(Layout::TransposedB, [ds, w2, dh], [batch, classes, hidden])?;
        bias_relu_backward.launch(gpu, [dh, h, db1])?;
        self.product(Layout::TransposedA, [x, dh, dw1], [inputs, batch, hidden])
        // ANCHOR_END: backward
    }

    /// Adam for all four tensors in one launch.
    fn update(&self) -> Result<()> {
        let [state, factors] = [&self.state, &self.factors].map(Arg::Buffer);
        let one = Launch::new([1, 1], [1, 1]);
        self.gpu.launch(&self.kernels.tick, one, &tick_args(&self.rule, state, factors))?;
        let [p, m, v, g] = &self.learned;
        let (total, all) = (self.layout.total, [p, m, v, g].map(Arg::Buffer));
        let args = update_args(&self.rule, all, factors, length(total)?);
        self.each(&self.kernels.adam, total, &args)
    }

    /// The mean loss of the last step's batch. Waits for it.
    ///
    /// # Errors
    /// The device's error.
    pub fn loss(&self) -> Result<f64> {
        let losses: Vec<f32> = read_all(self.gpu, &self.losses, self.batch)?;
        Ok(losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / self.batch as f64)
    }

    /// All parameters, in the order of `Mlp::parameters`. Waits for the steps before.
    ///
    /// # Errors
    /// The device's error.
    pub fn parameters(&self) -> Result<Vec<f32>> {
        Ok(self.layout.gathered(&read_all(self.gpu, &self.learned[0], self.layout.total)?))
    }

    /// The last step's gradient, in the same order.
    ///
    /// # Errors
    /// The device's error.
    pub fn gradient(&self) -> Result<Vec<f32>> {
        Ok(self.layout.gathered(&read_all(self.gpu, &self.learned[3], self.layout.total)?))
    }

    /// The device.
    pub fn gpu(&self) -> &'g dyn Gpu {
        self.gpu
    }

    /// The images of a step.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The data set's pixels on the device, for those who copy new ones into it.
    pub fn pixels(&self) -> &Buffer {
        &self.data.pixels
    }
}

fn check_data((pixels, labels): (&[u8], &[u8]), inputs: usize, classes: usize) -> Result<()> {
    if Some(pixels.len()) != labels.len().checked_mul(inputs) {
        return Err(Error::message(format!(
            "{} images of {inputs} pixels can't have {} bytes",
            labels.len(),
            pixels.len()
        )));
    }
    match labels.iter().find(|label| usize::from(**label) >= classes) {
        Some(label) => Err(Error::message(format!(
            "{label} is not one of {classes} classes; the classes are numbered from 0"
        ))),
        None => Ok(()),
    }
}
