mod embedding;
mod rms_norm;
mod rotary;
mod swiglu;
