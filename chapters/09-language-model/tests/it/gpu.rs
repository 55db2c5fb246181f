mod attention;
mod step;
mod tensors;
