//! Predictions from a stored model.
//!
//! `model.safetensors` holds the four tensors of [`TENSORS`], as 32-bit floats: the weights of a layer
//! with a row for each of its units, then its biases. Pixels go in as numbers from 0 to 1.

use crate::{
    Error, Result,
    loss::{best, softmax},
    mlp::{self, Mlp, PIXELS, TENSORS},
    run::not_written,
};
use ::safetensors::{Dtype, SafeTensorError, SafeTensors};
use dfdx::{nn::SaveToSafetensors, prelude::*};
use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// A model that reads digits, on the CPU.
pub struct Classifier {
    dev: Cpu,
    model: Mlp<Cpu>,
}

impl Classifier {
    /// A classifier with these parameters, in the order of [`mlp::parameters`].
    ///
    /// # Errors
    /// [`Error::Config`] if their number is not [`mlp::PARAMETERS`].
    pub fn from_weights(weights: &[f32]) -> Result<Self> {
        let dev = Cpu::default();
        let mut model = mlp::build(&dev)?;
        mlp::set_parameters(&mut model, weights)?;
        Ok(Self { dev, model })
    }

    /// Reads a `model.safetensors`.
    ///
    /// # Errors
    /// [`Error::Damaged`] that says what is wrong with the file: missing, not whole, or of another model.
    pub fn load(path: &Path) -> Result<Self> {
        let refuse = |why: String| Error::Damaged { path: path.to_owned(), why };
        let bytes = fs::read(path).map_err(|e| refuse(format!("the model can't be read ({e})")))?;
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|e| refuse(format!("this is not a whole safetensors file ({e:?})")))?;
        let mut weights = Vec::with_capacity(mlp::PARAMETERS);
        for (name, shape) in TENSORS {
            let tensor = file.tensor(name).map_err(|_| {
                refuse(format!("the tensor `{name}` is missing; this is another model"))
            })?;
            if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
                return Err(refuse(format!(
                    "the tensor `{name}` is {:?} {:?}, not F32 {shape:?}; this is another model",
                    tensor.dtype(),
                    tensor.shape()
                )));
            }
            let (values, _) = tensor.data().as_chunks::<4>();
            weights.extend(values.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        }
        Self::from_weights(&weights)
    }

    /// Writes the model as safetensors, in place of the file that may be there.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it can't be written; what was there before stays.
    pub fn save(&self, path: &Path) -> Result<()> {
        let part = path.with_added_extension("part");
        let failed = |e: io::Error| {
            let _ = fs::remove_file(&part);
            not_written(path, &e)
        };
        self.model.save_safetensors(&part).map_err(|e| match e {
            SafeTensorError::IoError(e) => failed(e),
            other => failed(io::Error::other(format!("{other:?}"))),
        })?;
        File::open(&part).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::rename(&part, path).map_err(failed)?;
        Ok(())
    }

    /// The probability of each class, for each picture of 784 numbers from 0 to 1.
    ///
    /// # Errors
    /// [`Error::Config`] if `pixels` does not hold whole pictures, or none.
    pub fn probabilities(&self, pixels: &[f32]) -> Result<Vec<Vec<f64>>> {
        let scores = self.scores(pixels)?;
        Ok(scores.chunks_exact(mlp::CLASSES).map(softmax).collect())
    }

    /// The likeliest class of each picture of 784 numbers from 0 to 1.
    ///
    /// # Errors
    /// As [`Classifier::probabilities`].
    pub fn digits(&self, pixels: &[f32]) -> Result<Vec<usize>> {
        let scores = self.scores(pixels)?;
        Ok(scores.chunks_exact(mlp::CLASSES).map(best).collect())
    }

    fn scores(&self, pixels: &[f32]) -> Result<Vec<f32>> {
        if pixels.is_empty() || !pixels.len().is_multiple_of(PIXELS) {
            return Err(Error::Config(format!(
                "{} numbers are not whole pictures of {PIXELS}",
                pixels.len()
            )));
        }
        let shape = (pixels.len() / PIXELS, Const::<PIXELS>);
        let images = self.dev.try_tensor_from_vec(pixels.to_vec(), shape).map_err(Error::device)?;
        Ok(self.model.try_forward(images).map_err(Error::device)?.as_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classifier(seed: u64) -> Classifier {
        let dev = Cpu::seed_from_u64(seed);
        let model = mlp::build(&dev).unwrap();
        Classifier { dev, model }
    }

    fn pictures() -> Vec<f32> {
        (0..3 * PIXELS).map(|i| (i * 37 % 256) as f32 / 255.0).collect()
    }

    #[test]
    fn a_stored_model_predicts_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let one = classifier(4);
        one.save(&path).unwrap();
        let two = Classifier::load(&path).unwrap();
        let pictures = pictures();
        let probabilities = one.probabilities(&pictures).unwrap();
        assert_eq!(probabilities, two.probabilities(&pictures).unwrap());
        assert_ne!(probabilities, classifier(5).probabilities(&pictures).unwrap());
        let digits = two.digits(&pictures).unwrap();
        for (digit, p) in digits.iter().zip(&probabilities) {
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(p.iter().all(|other| *other <= p[*digit]));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_and_shapes_are_those_documented() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        classifier(1).save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.len(), TENSORS.len());
        for (name, shape) in TENSORS {
            assert_eq!(file.tensor(name).unwrap().shape(), shape);
        }
    }

    #[test]
    fn other_files_are_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let said = || Classifier::load(&path).err().expect("it loads").to_string();
        assert!(said().contains("can't be read"));
        fs::write(&path, b"no").unwrap();
        assert!(said().contains("not a whole safetensors file"));
        classifier(1).save(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(said().contains("not a whole safetensors file"));
        modules::Linear::<3, 2, f32, Cpu>::build(&Cpu::default()).save_safetensors(&path).unwrap();
        assert!(said().contains("another model"));
    }

    #[test]
    fn half_a_picture_is_refused() {
        let classifier = classifier(1);
        for count in [0, 1, PIXELS + 1] {
            assert!(classifier.digits(&vec![0.0; count]).is_err(), "{count}");
        }
    }
}
