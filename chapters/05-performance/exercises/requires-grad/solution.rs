//! Which derivatives a backward pass computes.

/// A value of a network. Operands are the indices of values before it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Images or labels.
    Data,
    /// A parameter; a frozen one is not trained.
    Parameter {
        /// Whether the optimizer moves it.
        trained: bool,
    },
    /// A matrix product.
    Product {
        /// The two matrices.
        of: [usize; 2],
        /// Its operations, and those of the product for each operand's derivative.
        flops: u64,
    },
    /// A sum, ReLU or the loss: no product, and no count.
    Elementwise(Vec<usize>),
}

impl Value {
    /// What it is computed from.
    pub fn operands(&self) -> &[usize] {
        match self {
            Self::Data | Self::Parameter { .. } => &[],
            Self::Product { of, .. } => of,
            Self::Elementwise(of) => of,
        }
    }
}

/// For each value, whether the backward pass computes the derivative of the last one, the loss, with respect to it.
pub fn needed(network: &[Value]) -> Vec<bool> {
    // EXERCISE: begin
    let mut requires = Vec::new();
    for value in network {
        let trained = matches!(value, Value::Parameter { trained: true });
        requires.push(trained || value.operands().iter().any(|of| requires[*of]));
    }
    let mut reached = vec![false; network.len()];
    if let Some(loss) = reached.last_mut() {
        *loss = true;
    }
    for (at, value) in network.iter().enumerate().rev() {
        if reached[at] {
            value.operands().iter().for_each(|of| reached[*of] = true);
        }
    }
    requires.iter().zip(reached).map(|(requires, reached)| *requires && reached).collect()
    // EXERCISE: instead
    // // Those of all values, the images' too.
    // vec![true; network.len()]
    // EXERCISE: end
}

/// The operations of the products of the backward pass.
pub fn backward(network: &[Value]) -> u64 {
    // EXERCISE: begin
    let needed = needed(network);
    let flops = |(value, upstream): (&Value, &bool)| match value {
        Value::Product { of, flops } if *upstream => {
            flops * of.iter().filter(|of| needed[**of]).count() as u64
        }
        _ => 0,
    };
    network.iter().zip(&needed).map(flops).sum()
    // EXERCISE: instead
    // // Two products for each one forward.
    // let flops = |value: &Value| match value {
    //     Value::Product { flops, .. } => 2 * flops,
    //     _ => 0,
    // };
    // network.iter().map(flops).sum()
    // EXERCISE: end
}
