//! Tensors: names for numbers that the engine keeps. A tensor is cheap to copy and holds no data.

/// Which buffer a tensor lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// All parameters, and three buffers of the same layout: the gradient, and the optimizer's two running means.
    Params,
    /// The gradient of the mean loss.
    Gradient,
    /// The running mean of gradients.
    Mean,
    /// The running mean of their squares.
    Square,
    /// What a model keeps and does not learn: a batch normalisation's running statistics.
    Kept,
    /// The images of a pass, f32.
    Input,
    /// A label a word for each.
    Labels,
    /// A data set that a device keeps: images, f32.
    Data,
    /// Their labels, a word each.
    Truth,
    /// Which of them a batch takes, a word each.
    Order,
    /// What changes from step to step: see [`crate::state`].
    State,
    /// A tensor of the program: the plan finds memory for it.
    Temporary(u32),
}

impl Place {
    /// The buffers that outlive a program.
    pub const LASTING: [Self; 11] = [
        Self::Params,
        Self::Gradient,
        Self::Mean,
        Self::Square,
        Self::Kept,
        Self::Input,
        Self::Labels,
        Self::Data,
        Self::Truth,
        Self::Order,
        Self::State,
    ];

    /// The buffers that an update changes.
    pub const UPDATED: [Self; 4] = [Self::Params, Self::Mean, Self::Square, Self::Gradient];

    /// Its number among these.
    ///
    /// # Panics
    /// For a temporary, which has no buffer of its own.
    pub fn lasting(self) -> usize {
        let found = Self::LASTING.iter().position(|place| *place == self);
        found.expect("a temporary has no buffer of its own")
    }
}

/// Rows of 32-bit words, one after the other; what they mean is the kernels' business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its buffer.
    pub place: Place,
    /// Words from the start of its place.
    pub start: usize,
    /// Rows.
    pub rows: usize,
    /// Words of a row.
    pub cols: usize,
    /// Whether no gradient is wanted of it: the data.
    pub constant: bool,
}

impl Tensor {
    /// Rows of a buffer.
    pub fn new(place: Place, start: usize, rows: usize, cols: usize) -> Self {
        Self { place, start, rows, cols, constant: false }
    }

    /// Its length.
    pub fn words(self) -> usize {
        self.rows * self.cols
    }

    /// The same words in rows of another length.
    ///
    /// # Panics
    /// If these are not so many.
    #[must_use]
    pub fn shaped(self, rows: usize, cols: usize) -> Self {
        assert_eq!(rows * cols, self.words(), "the words of {rows}×{cols} numbers");
        Self { rows, cols, ..self }
    }

    /// A parameter's gradient: the same range of another buffer.
    #[must_use]
    pub fn gradient(self) -> Self {
        self.twin(Place::Gradient)
    }

    /// The same range of another buffer with the parameters' layout.
    ///
    /// # Panics
    /// If it is no parameter.
    #[must_use]
    pub fn twin(self, place: Place) -> Self {
        assert_eq!(self.place, Place::Params, "only parameters have twins");
        Self { place, ..self }
    }

    /// Transposed, as an operand of a product.
    pub fn t(self) -> Matrix {
        Matrix { tensor: self, transposed: true, step: None }
    }

    /// So many of its columns, from one on, as an operand of a GPU's product.
    pub fn columns(self, from: usize, cols: usize) -> Matrix {
        let tensor = Self { start: self.start + from, cols, ..self };
        Matrix { tensor, transposed: false, step: Some(self.cols) }
    }

    /// A kernel sees its own rows: those of the block that it works on.
    pub fn by_rows(self) -> Operand {
        Operand { tensor: self, cut: Cut::Rows }
    }

    /// Every block sees all of it.
    pub fn whole(self) -> Operand {
        Operand { tensor: self, cut: Cut::Whole }
    }

    /// A row for each block: sums that are added up later, in the blocks' order.
    pub fn part(self) -> Operand {
        Operand { tensor: self, cut: Cut::Part }
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.place == other.place
            && self.start < other.start + other.words()
            && other.start < self.start + self.words()
    }
}

/// An operand of a product.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    /// Its numbers.
    pub tensor: Tensor,
    /// Whether the product sees columns as rows.
    pub transposed: bool,
    /// From row to row, where the numbers are columns of a wider tensor: for GPUs alone.
    pub step: Option<usize>,
}

impl From<Tensor> for Matrix {
    fn from(tensor: Tensor) -> Self {
        Self { tensor, transposed: false, step: None }
    }
}

impl Matrix {
    /// Rows and columns as the product sees them.
    pub fn shape(&self) -> (usize, usize) {
        let Tensor { rows, cols, .. } = self.tensor;
        if self.transposed { (cols, rows) } else { (rows, cols) }
    }
}

/// What a block of rows sees of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Its own rows.
    Rows,
    /// All of it.
    Whole,
    /// A row of its own, for sums.
    Part,
}

/// An operand of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its numbers.
    pub tensor: Tensor,
    /// What a block sees of them.
    pub cut: Cut,
}
