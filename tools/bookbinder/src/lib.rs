//! Chapter 1: one matrix product.
