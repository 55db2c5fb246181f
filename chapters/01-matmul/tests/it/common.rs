//! What the tests have in common: everything that multiplies on this CPU, every way to ask for a product, and how far the
//! result is from the f64 reference.

use lab::random::numbers;
use matmul::{
    Epilogue, MatMut, MatRef, Options, Rung, Shape, Threads, Unit, bf16::bf16, bgemm_on, reference,
    sgemm_on, simd::Level,
};

/// Shapes that are odd, tall, thin, empty, single, and larger than a block in each direction.
pub const SHAPES: [Shape; 24] = [
    Shape::new(0, 0, 0),
    Shape::new(0, 3, 4),
    Shape::new(3, 0, 4),
    Shape::new(3, 4, 0),
    Shape::new(1, 1, 1),
    Shape::new(1, 7, 1),
    Shape::new(1, 5, 33),
    Shape::new(33, 5, 1),
    Shape::new(2, 3, 5),
    Shape::new(6, 8, 16),
    Shape::new(7, 9, 17),
    Shape::new(13, 31, 15),
    Shape::new(16, 32, 16),
    Shape::new(17, 33, 31),
    Shape::new(32, 64, 32),
    Shape::new(33, 65, 33),
    Shape::new(31, 784, 10),
    Shape::new(128, 40, 10),
    Shape::new(400, 3, 5),
    Shape::new(5, 3, 400),
    Shape::new(3, 1500, 3),
    Shape::new(64, 513, 96),
    Shape::new(100, 100, 100),
    Shape::new(257, 129, 511),
];

/// What computes a product: of f32 numbers, or of numbers that are rounded to bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    F32(Level),
    Bf16(Unit),
}

/// All that this CPU has, the models of its units among them.
pub fn paths() -> impl Iterator<Item = Path> {
    let of_bf16 = [Unit::Pairs, Unit::PairsModel, Unit::Tiles, Unit::Model];
    let units = Level::ALL.map(Unit::Vectors).into_iter().chain(of_bf16).map(Path::Bf16);
    Level::ALL.map(Path::F32).into_iter().chain(units).filter(|path| path.available())
}

/// The units that have a model which gives their bits.
pub const MODELLED: [(Path, Path); 2] = [
    (Path::Bf16(Unit::Pairs), Path::Bf16(Unit::PairsModel)),
    (Path::Bf16(Unit::Tiles), Path::Bf16(Unit::Model)),
];

impl Path {
    pub fn available(self) -> bool {
        match self {
            Self::F32(level) => level.available(),
            Self::Bf16(unit) => unit.available(),
        }
    }

    pub fn name(self) -> String {
        match self {
            Self::F32(level) => level.name().to_owned(),
            Self::Bf16(unit) => format!("{}/bf16", unit.name()),
        }
    }
}

/// How A, B and C are stored, and what is done at the end. The default is plain.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a way of its own")]
pub struct Way {
    pub a_turned: bool,
    pub b_turned: bool,
    pub c_turned: bool,
    /// A unit of bf16 gets its inputs in f32, and rounds them.
    pub wide: bool,
    pub accumulate: bool,
    /// 0: nothing, 1: bias, 2: bias and `ReLU`.
    pub end: usize,
    pub threads: usize,
}

/// Every combination of storage and end, with a number of threads that changes from one to the next.
pub fn ways() -> impl Iterator<Item = Way> {
    (0..48).map(|i| Way {
        a_turned: i & 1 > 0,
        b_turned: i & 2 > 0,
        c_turned: i & 4 > 0,
        wide: i % 5 == 3,
        accumulate: i & 8 > 0,
        end: i / 16,
        threads: [1, 2, 3, 8][(i / 4 + i) % 4],
    })
}

/// A matrix that lies in memory row after row, or column after column.
#[derive(PartialEq, Debug)]
pub struct Stored<T> {
    pub values: Vec<T>,
    rows: usize,
    cols: usize,
    turned: bool,
}

impl<T: Copy> Stored<T> {
    fn new(values: &[T], (rows, cols): (usize, usize), turned: bool) -> Self {
        let at = |at| if turned { values[at % rows * cols + at / rows] } else { values[at] };
        Self { values: (0..rows * cols).map(at).collect(), rows, cols, turned }
    }

    pub fn view(&self) -> MatRef<'_, T> {
        let (rows, cols) = (self.rows, self.cols);
        let turned = || MatRef::new(&self.values, cols, rows).unwrap().t();
        if self.turned { turned() } else { MatRef::new(&self.values, rows, cols).unwrap() }
    }

    fn view_mut(&mut self) -> MatMut<'_, T> {
        let Self { values, rows, cols, turned } = self;
        if *turned {
            MatMut::new(values, *cols, *rows).unwrap().t()
        } else {
            MatMut::new(values, *rows, *cols).unwrap()
        }
    }
}

impl Stored<f32> {
    fn halves(&self) -> Stored<bf16> {
        let Self { rows, cols, turned, .. } = *self;
        Stored { values: halves(&self.values), rows, cols, turned }
    }
}

/// Each value as a bf16.
fn halves(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&x| bf16::from_f32(x)).collect()
}

/// A product in f64, and the sums of its terms' magnitudes.
type Reference = (Vec<f64>, Vec<f64>);

/// A and B of a shape, and the product of their numbers as they are and rounded to bf16.
pub struct Case {
    pub shape: Shape,
    pub a: Vec<f32>,
    pub b: Vec<f32>,
    exact: Reference,
    rounded: Reference,
}

impl Case {
    pub fn new(shape: Shape, seed: u64) -> Self {
        let Shape { m, k, n } = shape;
        Self::of(shape, numbers(m * k, seed), numbers(k * n, seed + 1))
    }

    pub fn of(shape: Shape, a: Vec<f32>, b: Vec<f32>) -> Self {
        fn product<T: Copy + Into<f64>>(Shape { m, k, n }: Shape, a: &[T], b: &[T]) -> Reference {
            reference::multiply(MatRef::new(a, m, k).unwrap(), MatRef::new(b, k, n).unwrap())
        }
        let exact = product(shape, &a, &b);
        let rounded = product(shape, &halves(&a), &halves(&b));
        Self { shape, a, b, exact, rounded }
    }

    /// What C holds before a product in a way, as far as it counts, and what is added at the end.
    fn given(&self, way: Way) -> (Vec<f32>, Vec<f32>) {
        let Shape { m, n, .. } = self.shape;
        let some = |given, len, seed| if given { numbers(len, seed) } else { vec![0.0; len] };
        (some(way.accumulate, m * n, 3), some(way.end > 0, n, 4))
    }

    /// The product by a path in a way.
    pub fn product(&self, path: Path, way: Way) -> Stored<f32> {
        let Shape { m, k, n } = self.shape;
        let (old, bias) = self.given(way);
        let options = Options {
            accumulate: way.accumulate,
            epilogue: [Epilogue::None, Epilogue::Bias(&bias), Epilogue::BiasRelu(&bias)][way.end],
            threads: Threads::Count(way.threads),
        };
        let a = Stored::new(&self.a, (m, k), way.a_turned);
        let b = Stored::new(&self.b, (k, n), way.b_turned);
        let before = if way.accumulate { old } else { vec![f32::NAN; m * n] };
        let mut c = Stored::new(&before, (m, n), way.c_turned);
        let to = c.view_mut();
        let done = match path {
            Path::F32(level) => sgemm_on(level, to, a.view(), b.view(), options),
            Path::Bf16(unit) if way.wide => bgemm_on(unit, to, a.view(), b.view(), options),
            Path::Bf16(unit) => bgemm_on(unit, to, a.halves().view(), b.halves().view(), options),
        };
        done.unwrap();
        c
    }

    /// The product by a rung.
    pub fn climbed(&self, rung: &Rung) -> Stored<f32> {
        let (Shape { m, n, .. }, plain) = (self.shape, Way::default());
        let mut c = Stored::new(&vec![f32::NAN; m * n], (m, n), plain.c_turned);
        (rung.multiply)(&mut c.values, &self.a, &self.b, self.shape);
        c
    }

    /// The largest error of an element, as a fraction of what rounding may do to it: k·ε times the sum of its terms'
    /// magnitudes. NaN where C holds one.
    pub fn off(&self, c: MatRef<f32>, bf16: bool, way: Way) -> f64 {
        let Shape { m, k, n } = self.shape;
        let (sums, magnitudes) = if bf16 { &self.rounded } else { &self.exact };
        let (old, bias) = self.given(way);
        let mut worst = 0.0_f64;
        for at in 0..m * n {
            let (old, bias) = (f64::from(old[at]), f64::from(bias[at % n]));
            let sum = old + sums[at] + bias;
            let want = if way.end == 2 { sum.max(0.0) } else { sum };
            let size = old.abs() + magnitudes[at] + bias.abs() + 1e-30;
            let bound = (k + 3) as f64 * f64::from(f32::EPSILON) * size;
            let error = (f64::from(*c.at(at / n, at % n)) - want).abs() / bound;
            if error.is_nan() {
                return error;
            }
            worst = worst.max(error);
        }
        worst
    }

    /// [`Case::off`] of a path's product.
    pub fn off_by(&self, path: Path, way: Way) -> f64 {
        self.off(self.product(path, way).view(), matches!(path, Path::Bf16(_)), way)
    }

    /// [`Case::off`] of a rung's product.
    pub fn off_on(&self, rung: &Rung) -> f64 {
        self.off(self.climbed(rung).view(), rung.bf16(), Way::default())
    }
}
