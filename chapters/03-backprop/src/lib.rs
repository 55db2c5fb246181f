//! Chapter 3: backpropagation is matrix multiplication. A network learns with three products a layer, from
//! scratch, and then as fast as the products allow.
//!
//! The modules in the order of the page. The readable network, once for f32 and f64:
//!
//! 1. [`dense`]: a layer's forward and backward pass as three products.
//! 2. [`activation`]: what lies between two layers.
//! 3. [`softmax`](mod@softmax): the loss, and its short derivative.
//! 4. [`check`]: is a derivative right?
//! 5. [`init`]: how to begin, with numbers from [`random`].
//! 6. [`sgd`] and [`adam`]: how to move, behind one trait in [`optimizer`].
//! 7. [`dropout`]: units that are left out.
//! 8. [`mlp`]: the layers together.
//! 9. [`train`]: the loop, in the [`order`](mod@order) of each epoch; [`linear`] is its smallest case.
//!
//! The fast one:
//!
//! 10. [`flat`]: all parameters in one buffer, and expensive habits given up one by one.
//! 11. [`fast`]: columns for each core.
//! 12. [`ladder`](mod@ladder): all rungs in a list.
//!
//! Counting before running:
//!
//! 13. [`mod@count`]: parameters, operations and kept values of a described model.
//! 14. [`fits`]: will it fit on a card?
//! 15. [`conv`] and [`vgg`]: convolutions as products, and VGG16 run for real.
//!
//! [`real`] has the two number types, and [`error`](mod@error) what can go wrong. What the page measures and draws
//! is in [`measured`].

pub mod activation;
pub mod adam;
pub mod check;
pub mod conv;
pub mod count;
pub mod dense;
pub mod dropout;
pub mod error;
pub mod fast;
pub mod fits;
pub mod flat;
pub mod init;
pub mod ladder;
pub mod linear;
pub mod measured;
pub mod mlp;
pub mod optimizer;
pub mod order;
pub mod real;
pub mod sgd;
pub mod softmax;
pub mod train;
pub mod vgg;

pub use error::{Error, Result};
pub use lab::random;
pub use measured::{chapter, peers};
