//! The order of the images: chapter 3's, a function of the seed and the number of the epoch. A run that goes
//! on needs nothing but these two numbers to find it again.

pub use backprop::order::order;
