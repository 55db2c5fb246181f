mod embedding;
mod loss;
mod rms_norm;
mod rotary;
mod swiglu;
