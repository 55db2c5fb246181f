//! Four operations of a training step, each in one kernel, and each as the kernels that a library would launch for the
//! line of code. Both from the same numbers, both checked against formulas in f64.

use super::{
    bias::{self, BiasBackward},
    check::compare,
    kernels::{
        self, ADD, ADD_BIAS, DIVIDE, DIVIDE_ROW, FILL, FORWARD, LOGARITHM, LOSS, PICK, POWER, RELU,
        RELU_BACKWARD, ROOT, ROW_MAX, ROW_SUM, SCALE, SHIFT, SQUARE, SUBTRACT, SUBTRACT_ROW, TICK,
        TRUTH, UPDATE, Variant, launch_each, length,
    },
};
use backprop::adam::Adam;
use cpu_gpu::{
    Error, Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch, copying, read_all, write_all},
    verify::UNWRITTEN,
};
use lab::random::numbers;
use std::cell::{Cell, OnceCell};

lab::named! {
    /// An operation of a training step.
    pub enum Operation("operation") {
        /// Adds a dense layer's bias, and `ReLU`.
        BiasRelu = "bias-relu",
        /// The gradient back through `ReLU`, and that of the bias.
        BiasReluBackward = "bias-relu-backward",
        /// Softmax, cross-entropy and the scores' gradient.
        Loss = "softmax-cross-entropy",
        /// A step of Adam, and zeros in the gradient.
        Adam = "adam",
    }
}

lab::named! {
    /// How an operation is done.
    pub enum Mode("mode") {
        /// In one kernel (Adam: one more, of one thread, for the step's number).
        Fused = "fused",
        /// One kernel for each elementary operation.
        Unfused = "unfused",
    }
}

impl Operation {
    // ANCHOR: arrays
    /// How many arrays of the operation's full size each of its kernels reads
    /// and writes. What a row or a column has one number of is left out.
    pub fn arrays(self, way: Mode) -> &'static [usize] {
        match (self, way) {
            (Self::BiasRelu | Self::Loss, Mode::Fused) => &[2],
            (Self::BiasRelu, Mode::Unfused) => &[2, 2],
            (Self::BiasReluBackward, Mode::Fused) => &[3],
            (Self::BiasReluBackward, Mode::Unfused) => &[3, 1],
            (Self::Loss, Mode::Unfused) => &[1, 2, 2, 1, 2, 0, 0, 2, 2],
            (Self::Adam, Mode::Fused) => &[0, 8],
            (Self::Adam, Mode::Unfused) => &[2, 2, 3, 2, 2, 2, 3, 2, 2, 3, 2, 3, 1],
        }
    }
    // ANCHOR_END: arrays

    /// The bytes that each of its kernels moves, on rows×cols numbers.
    pub fn bytes(self, way: Mode, [rows, cols]: [usize; 2]) -> Vec<f64> {
        let array = 4.0 * rows as f64 * cols as f64;
        let mut bytes: Vec<f64> =
            self.arrays(way).iter().map(|arrays| *arrays as f64 * array).collect();
        if self == Self::BiasReluBackward {
            // Many rows take one more kernel, for the sums of their slices.
            bytes.resize(bytes.len() + bias::launches(rows) - 1, 0.0);
        }
        bytes
    }

    fn variants(self, way: Mode) -> &'static [Variant] {
        match (self, way) {
            (Self::BiasRelu, Mode::Fused) => &[FORWARD],
            (Self::BiasRelu, Mode::Unfused) => &[ADD_BIAS, RELU],
            (Self::BiasReluBackward, Mode::Fused) => &[],
            (Self::BiasReluBackward, Mode::Unfused) => &[RELU_BACKWARD],
            (Self::Loss, Mode::Fused) => &[LOSS],
            (Self::Loss, Mode::Unfused) => {
                &[ROW_MAX, SUBTRACT_ROW, POWER, ROW_SUM, DIVIDE_ROW, LOGARITHM, PICK, TRUTH, SCALE]
            }
            (Self::Adam, Mode::Fused) => &[TICK, UPDATE],
            (Self::Adam, Mode::Unfused) => {
                &[SCALE, ADD, SQUARE, ROOT, SHIFT, DIVIDE, SUBTRACT, FILL]
            }
        }
    }
}

/// The number of the step that Adam takes here.
const STEP: u32 = 7;

/// An operation on a device, with its operands.
pub struct Task<'g> {
    gpu: &'g dyn Gpu,
    operation: Operation,
    way: Mode,
    rows: usize,
    cols: usize,
    kernels: Vec<Kernel>,
    bias_backward: Option<BiasBackward>,
    /// Arrays of rows×cols: what is changed in place first, then the others.
    pub full: Vec<Buffer>,
    /// A number for each column, or for each row.
    pub narrow: [Buffer; 2],
    /// The true classes of the rows.
    pub labels: Buffer,
    state: Buffer,
    /// All of these as they begin, once they have been written.
    kept: OnceCell<Vec<Buffer>>,
    launches: Cell<usize>,
}

impl<'g> Task<'g> {
    /// Compiles the operation's kernels and reserves memory for rows×cols numbers; [`Task::fill`] writes them.
    ///
    /// # Errors
    /// A sentence without rows or columns, if the device is out of memory, or with the compiler's words.
    pub fn new(
        gpu: &'g dyn Gpu,
        operation: Operation,
        way: Mode,
        [rows, cols]: [usize; 2],
    ) -> Result<Self> {
        if rows == 0 || cols == 0 {
            return Err(Error::message(
                "there is nothing to compute; give at least a row and a column",
            ));
        }
        let kernels = operation.variants(way).iter().map(|variant| variant.compile(gpu));
        let arrays = match (operation, way) {
            (Operation::BiasRelu, _) | (Operation::Loss, Mode::Fused) => 1,
            (Operation::Loss, Mode::Unfused) => 3,
            (Operation::BiasReluBackward, _) => 2,
            (Operation::Adam, Mode::Fused) => 4,
            (Operation::Adam, Mode::Unfused) => 5,
        };
        let bias_backward = match operation {
            Operation::BiasReluBackward => {
                Some(BiasBackward::new(gpu, way == Mode::Fused, [rows, cols])?)
            }
            _ => None,
        };
        let long = |count: usize| gpu.alloc(4 * count);
        let most = rows.max(cols);
        Ok(Self {
            gpu,
            operation,
            way,
            rows,
            cols,
            kernels: kernels.collect::<Result<_>>()?,
            bias_backward,
            full: (0..arrays).map(|_| long(rows * cols)).collect::<Result<_>>()?,
            narrow: [long(most)?, long(most)?],
            labels: long(rows)?,
            state: long(4)?,
            kept: OnceCell::new(),
            launches: Cell::new(0),
        })
    }

    /// The operands as they begin: scores, outputs, gradients from −1 to 1. Adam's squares are positive.
    pub fn inputs(&self) -> Vec<Vec<f32>> {
        let count = self.rows * self.cols;
        let mut inputs: Vec<_> = (0..4).map(|seed| numbers(count, 10 + seed)).collect();
        if self.operation == Operation::Loss {
            inputs[0].iter_mut().for_each(|x| *x *= 8.0);
        }
        inputs[2].iter_mut().for_each(|x| *x = 0.01 * x.abs() + 1e-3);
        inputs
    }

    fn labels(&self) -> Vec<u32> {
        (0..self.rows).map(|row| (row * 7 % self.cols) as u32).collect()
    }

    /// All that a run may read or write.
    fn operands(&self) -> impl Iterator<Item = &Buffer> {
        self.full.iter().chain(&self.narrow).chain([&self.labels, &self.state])
    }

    /// Writes the operands; whatever the operation is to write is marked as [`UNWRITTEN`]. From the second time on they
    /// come from a copy on the device: to make and send so many numbers takes a second.
    ///
    /// # Errors
    /// The device's error.
    pub fn fill(&self) -> Result<()> {
        if let Some(kept) = self.kept.get() {
            return kept
                .iter()
                .zip(self.operands())
                .try_for_each(|(from, to)| self.gpu.copy(from, to, to.bytes));
        }
        self.write()?;
        let copy = |from: &Buffer| {
            let to = self.gpu.alloc(from.bytes)?;
            self.gpu.copy(from, &to, from.bytes)?;
            Ok(to)
        };
        let kept = self.operands().map(copy).collect::<Result<_>>()?;
        self.kept.get_or_init(|| kept);
        Ok(())
    }

    /// The operands from this side.
    fn write(&self) -> Result<()> {
        for (buffer, values) in self.full.iter().zip(self.inputs()) {
            write_all(self.gpu, buffer, &values)?;
        }
        let most = self.rows.max(self.cols);
        let written = self.operation == Operation::BiasRelu; // its bias is read
        let narrow =
            if written { numbers(most, 20) } else { vec![f32::from_bits(UNWRITTEN); most] };
        for buffer in &self.narrow {
            write_all(self.gpu, buffer, &narrow)?;
        }
        write_all(self.gpu, &self.labels, &self.labels())?;
        write_all(self.gpu, &self.state, &[STEP - 1])
    }

    fn start(&self, at: usize, launch: Launch, args: &[Arg]) -> Result<()> {
        self.launches.set(self.launches.get() + 1);
        self.gpu.launch(&self.kernels[at], launch, args)
    }

    fn each(&self, at: usize, count: usize, args: &[Arg]) -> Result<()> {
        self.launches.set(self.launches.get() + 1);
        launch_each(self.gpu, &self.kernels[at], count, args)
    }

    fn bias_backward(&self, args: [Arg; 3]) -> Result<()> {
        let Some(work) = &self.bias_backward else { return Ok(()) };
        self.launches.set(self.launches.get() + bias::launches(self.rows));
        work.launch(self.gpu, args)
    }

    /// Starts the operation and returns at once.
    ///
    /// # Errors
    /// The device's error.
    pub fn run(&self) -> Result<()> {
        self.launches.set(0);
        let (rows, cols) = (length(self.rows)?, length(self.cols)?);
        let numbers = self.rows * self.cols;
        let count = length(numbers)?;
        let full: Vec<Arg> = self.full.iter().map(Arg::Buffer).collect();
        let [first, second] = [&self.narrow[0], &self.narrow[1]].map(Arg::Buffer);
        let labels = Arg::Buffer(&self.labels);
        let none = Arg::F32(0.0);
        let of_rows = Launch::new([self.rows.div_ceil(8), 1], [32, 8]);
        let mean = Arg::F32(1.0 / self.rows as f32);
        match (self.operation, self.way) {
            (Operation::BiasRelu, Mode::Fused) => {
                self.each(0, numbers, &[full[0], first, count, cols])
            }
            (Operation::BiasRelu, Mode::Unfused) => {
                let x = full[0];
                self.each(0, numbers, &[x, first, x, none, count, cols])?; // + b
                self.each(1, numbers, &[x, x, x, none, count, cols]) // ReLU
            }
            (Operation::BiasReluBackward, Mode::Fused) => {
                self.bias_backward([full[0], full[1], first])
            }
            (Operation::BiasReluBackward, Mode::Unfused) => {
                let (dy, y) = (full[0], full[1]);
                self.each(0, numbers, &[dy, y, dy, none, count, cols])?;
                self.bias_backward([dy, y, first])
            }
            (Operation::Loss, Mode::Fused) => {
                self.start(0, of_rows, &[full[0], labels, first, rows, cols, mean])
            }
            (Operation::Loss, Mode::Unfused) => {
                let (scores, shifted, powers) = (full[0], full[1], full[2]);
                self.start(0, of_rows, &[scores, first, rows, cols])?; // highest
                self.each(1, numbers, &[scores, first, shifted, none, count, cols])?;
                self.each(2, numbers, &[shifted, shifted, powers, none, count, cols])?;
                self.start(3, of_rows, &[powers, first, rows, cols])?; // sums
                self.each(4, numbers, &[powers, first, scores, none, count, cols])?;
                self.each(5, self.rows, &[first, first, second, none, rows, cols])?;
                self.each(6, self.rows, &[second, shifted, labels, first, rows, cols])?;
                self.each(7, numbers, &[scores, labels, count, cols])?;
                self.each(8, numbers, &[scores, scores, scores, mean, count, cols])
            }
            (Operation::Adam, Mode::Fused) => {
                let rule = Adam::default();
                let [state, factors] = [Arg::Buffer(&self.state), first];
                self.start(0, Launch::new([1, 1], [1, 1]), &tick_args(&rule, state, factors))?;
                let [p, m, v, g] = [full[0], full[1], full[2], full[3]];
                self.each(1, numbers, &update_args(&rule, [p, m, v, g], factors, count))
            }
            (Operation::Adam, Mode::Unfused) => self.adam_unfused(&full, numbers, count),
        }
    }

    /// The rule as a library would run it, an operation after the other.
    fn adam_unfused(&self, full: &[Arg], numbers: usize, count: Arg) -> Result<()> {
        let Adam { lr, beta1, beta2, eps } = Adam::default();
        let (part1, part2) = (1.0 - beta1.powi(STEP as i32), 1.0 - beta2.powi(STEP as i32));
        let [p, m, v, g, t] = [full[0], full[1], full[2], full[3], full[4]];
        let one = length(1)?;
        let each = |kernel: usize, [x, y, z]: [Arg; 3], number: f64| {
            self.each(kernel, numbers, &[x, y, z, Arg::F32(number as f32), count, one])
        };
        let [scale, add, square, root, shift, divide, subtract, fill] = [0, 1, 2, 3, 4, 5, 6, 7];
        each(scale, [m, m, m], beta1)?;
        each(scale, [g, g, t], 1.0 - beta1)?;
        each(add, [m, t, m], 0.0)?;
        each(scale, [v, v, v], beta2)?;
        each(square, [g, g, t], 0.0)?;
        each(scale, [t, t, t], 1.0 - beta2)?;
        each(add, [v, t, v], 0.0)?;
        each(root, [v, v, t], 0.0)?;
        each(shift, [t, t, t], eps * part2.sqrt())?;
        each(divide, [m, t, t], 0.0)?;
        each(scale, [t, t, t], lr * part2.sqrt() / part1)?;
        each(subtract, [p, t, p], 0.0)?;
        each(fill, [g, g, g], 0.0)
    }

    /// The kernels that the last [`Task::run`] launched.
    pub fn launched(&self) -> usize {
        self.launches.get()
    }

    /// Compares what one [`Task::run`] after [`Task::fill`] has left with the formulas in f64. Returns the largest error
    /// as a fraction of what is allowed.
    ///
    /// # Errors
    /// The device's error, or one that names the wrong element.
    pub fn check(&self, tolerance: f64) -> Result<f64> {
        let mut worst = 0.0;
        for (buffer, want, cols) in self.reference() {
            let got: Vec<f32> = read_all(self.gpu, buffer, want.len())?;
            let share = compare(&got, &want, cols, tolerance).map_err(|fault| {
                Error::message(format!("{} {}: {fault}", self.operation.name(), self.way.name()))
            })?;
            worst = f64::max(worst, share);
        }
        Ok(worst)
    }

    /// Each result's slot, what it should be, and how many numbers a row of it has.
    fn reference(&self) -> Vec<(&Buffer, Vec<f64>, usize)> {
        let inputs = self.inputs();
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let (x, cols) = (wide(&inputs[0]), self.cols);
        match self.operation {
            Operation::BiasRelu => {
                let bias = wide(&numbers(self.rows.max(cols), 20));
                let out = |(i, x): (usize, &f64)| (x + bias[i % cols]).max(0.0);
                vec![(&self.full[0], x.iter().enumerate().map(out).collect(), cols)]
            }
            Operation::BiasReluBackward => {
                let pairs = x.iter().zip(&inputs[1]);
                let dx: Vec<f64> = pairs.map(|(dy, y)| if *y > 0.0 { *dy } else { 0.0 }).collect();
                let column = |col: usize| dx.iter().skip(col).step_by(cols).sum();
                let sums = (0..cols).map(column).collect();
                vec![(&self.full[0], dx, cols), (&self.narrow[0], sums, cols)]
            }
            Operation::Loss => {
                let labels: Vec<u32> = self.labels();
                let (mut losses, mut gradient) = (Vec::new(), Vec::new());
                for (row, label) in x.chunks_exact(cols).zip(labels) {
                    losses.push(backprop::softmax::cross_entropy(row, label as usize));
                    for (j, p) in backprop::softmax::softmax(row).into_iter().enumerate() {
                        let truth = if j == label as usize { 1.0 } else { 0.0 };
                        gradient.push((p - truth) / self.rows as f64);
                    }
                }
                vec![(&self.full[0], gradient, cols), (&self.narrow[0], losses, 1)]
            }
            Operation::Adam => {
                let (mut p, mut m, mut v) = (x, wide(&inputs[1]), wide(&inputs[2]));
                let g = wide(&inputs[3]);
                let moments = (&mut m[..], &mut v[..]);
                backprop::adam::step(&Adam::default(), STEP as i32, &mut p, moments, &g);
                let zeros = vec![0.0; p.len()];
                let all = [p, m, v, zeros].into_iter().zip(&self.full);
                all.map(|(want, buffer)| (buffer, want, cols)).collect()
            }
        }
    }
}

/// The arguments of `tick`, which counts a step.
pub(super) fn tick_args<'a>(rule: &Adam, state: Arg<'a>, factors: Arg<'a>) -> [Arg<'a>; 6] {
    let [ln1, ln2] = [rule.beta1, rule.beta2].map(|beta| Arg::F32(beta.ln() as f32));
    [state, factors, ln1, ln2, Arg::F32(rule.lr as f32), Arg::F32(rule.eps as f32)]
}

/// The arguments of `adam`.
pub(super) fn update_args<'a>(
    rule: &Adam,
    [p, m, v, g]: [Arg<'a>; 4],
    factors: Arg<'a>,
    count: Arg<'a>,
) -> [Arg<'a>; 10] {
    let [b1, c1, b2, c2] = [rule.beta1, 1.0 - rule.beta1, rule.beta2, 1.0 - rule.beta2]
        .map(|number| Arg::F32(number as f32));
    [p, m, v, g, factors, b1, c1, b2, c2, count]
}

/// The cost of a launch and of a byte on a device, measured.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Seconds that one more launch of an empty kernel takes in a row of them.
    pub launch: f64,
    /// Bytes per second, read and written together, of a copy in the device's memory.
    pub bandwidth: f64,
}

impl Costs {
    // ANCHOR: predict
    /// The seconds of kernels that move so many bytes each: while one of them
    /// moves its bytes, the next is launched, so each takes the longer time.
    pub fn predict(self, bytes: &[f64]) -> f64 {
        bytes.iter().map(|bytes| self.launch.max(bytes / self.bandwidth)).sum()
    }
    // ANCHOR_END: predict

    /// Measures both: the median of five rows of `launches` launches, and of five rows of eight copies of `numbers`
    /// numbers, a multiple of 4.
    ///
    /// # Errors
    /// The device's error.
    pub fn measure(gpu: &dyn Gpu, launches: usize, numbers: usize) -> Result<Self> {
        let copy = kernels::COPY.compile(gpu)?;
        let (x, y) = (gpu.alloc(4)?, gpu.alloc(4)?);
        write_all(gpu, &x, &[1.0_f32])?;
        let one = || -> Result<()> {
            let [x, y] = [Arg::Buffer(&x), Arg::Buffer(&y)];
            launch_each(gpu, &copy, 1, &[x, x, y, Arg::F32(0.0), length(1)?, Arg::U32(1)])
        };
        let median = |work: &dyn Fn() -> Result<()>| -> Result<f64> {
            work()?;
            gpu.finish()?;
            let seconds = (0..5).map(|_| {
                let began = std::time::Instant::now();
                work()?;
                gpu.finish()?;
                Ok(began.elapsed().as_secs_f64())
            });
            Ok(lab::Samples(seconds.collect::<Result<_>>()?).median())
        };
        let once = median(&one)?;
        let many = median(&|| (0..=launches).try_for_each(|_| one()))?;
        Ok(Self {
            launch: ((many - once) / launches as f64).max(1e-9),
            bandwidth: copying::bandwidth(gpu, numbers, 8, 5)?.median(),
        })
    }
}
