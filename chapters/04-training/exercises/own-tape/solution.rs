//! A tape, and the way back along it.

/// A number on a tape: its position.
#[derive(Clone, Copy, Debug)]
pub struct Number(usize);

/// Where a number comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Given,
    Sum(Number, Number),
    Product(Number, Number),
    Relu(Number),
    Exp(Number),
    Ln(Number),
}

/// Numbers and where each comes from, in the order in which they were computed.
#[derive(Clone, Debug, Default)]
pub struct Tape(Vec<(f64, Origin)>);

impl Tape {
    fn record(&mut self, value: f64, origin: Origin) -> Number {
        self.0.push((value, origin));
        Number(self.0.len() - 1)
    }

    /// The value of a number.
    pub fn value(&self, x: Number) -> f64 {
        self.0[x.0].0
    }

    /// A number from outside.
    pub fn given(&mut self, value: f64) -> Number {
        self.record(value, Origin::Given)
    }

    /// x + y
    pub fn sum(&mut self, x: Number, y: Number) -> Number {
        self.record(self.value(x) + self.value(y), Origin::Sum(x, y))
    }

    /// x·y
    pub fn product(&mut self, x: Number, y: Number) -> Number {
        self.record(self.value(x) * self.value(y), Origin::Product(x, y))
    }

    /// x, or 0 where x is negative
    pub fn relu(&mut self, x: Number) -> Number {
        self.record(self.value(x).max(0.0), Origin::Relu(x))
    }

    /// eˣ
    pub fn exp(&mut self, x: Number) -> Number {
        self.record(self.value(x).exp(), Origin::Exp(x))
    }

    /// ln x
    pub fn ln(&mut self, x: Number) -> Number {
        self.record(self.value(x).ln(), Origin::Ln(x))
    }

    /// The derivatives of `loss` with respect to `numbers`.
    pub fn gradients(&self, loss: Number, numbers: &[Number]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.0.len()];
        gradient[loss.0] = 1.0;
        // EXERCISE: begin
        for (at, (value, origin)) in self.0.iter().enumerate().rev() {
            let upstream = gradient[at];
            match *origin {
                Origin::Sum(x, y) => {
                    gradient[x.0] += upstream;
                    gradient[y.0] += upstream;
                }
                Origin::Product(x, y) => {
                    gradient[x.0] += upstream * self.value(y);
                    gradient[y.0] += upstream * self.value(x);
                }
                Origin::Relu(x) if *value > 0.0 => gradient[x.0] += upstream,
                Origin::Given | Origin::Relu(_) => {}
                Origin::Exp(x) => gradient[x.0] += upstream * value,
                Origin::Ln(x) => gradient[x.0] += upstream / self.value(x),
            }
        }
        // EXERCISE: instead
        // for (at, (_, origin)) in self.0.iter().enumerate() {
        //     match *origin {
        //         Origin::Given => {}
        //         Origin::Sum(x, y) | Origin::Product(x, y) => {
        //             gradient[x.0] = gradient[at];
        //             gradient[y.0] = gradient[at];
        //         }
        //         Origin::Relu(x) | Origin::Exp(x) | Origin::Ln(x) => gradient[x.0] = gradient[at],
        //     }
        // }
        // EXERCISE: end
        numbers.iter().map(|x| gradient[x.0]).collect()
    }
}
