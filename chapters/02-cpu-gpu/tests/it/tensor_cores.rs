mod padded;
mod rungs;
