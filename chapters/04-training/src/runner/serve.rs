//! Predictions from a stored model.
//!
//! `model.safetensors` holds the tensors of the model under their names ([`model::tensors`]), as 32-bit
//! floats, and in its metadata which model it is and a check sum of its values: `{"model": "cnn", "sha256": "…"}`, and how
//! many test images it classifies correctly, if the training tested it ([`Tested`]), and what its training images look
//! like ([`Form`]): MNIST's, where it does not say. Pixels go in as values from 0 to 1, of images like those.

use crate::{
    Error, Result,
    config::Model,
    learning::loss::softmax,
    models::model::{self, CLASSES, Images, Logits, Named, Network, PIXELS},
    runner::form::Form,
};
use ::safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};
use backprop::softmax::best;
use dfdx::prelude::*;
use lab::{
    files::{check_sum, read_regular, typed, with_metadata},
    run::{Kind, files::not_written, write_whole},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{collections::BTreeMap, path::Path};

/// A model that classifies digits, on the CPU.
pub struct Classifier {
    dev: Cpu,
    kind: Model,
    model: Box<dyn Reads>,
    tested: Option<Tested>,
    form: Form,
}

/// How many test images a model classifies correctly with its weights in fewer and fewer bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    /// How many images there were.
    pub images: usize,
    /// How many of them were classified correctly, by the bits of a weight.
    pub right: BTreeMap<u8, usize>,
}

impl Tested {
    /// Whether it can be true: no more right than there are.
    fn is_sound(&self) -> bool {
        self.right.values().all(|right| *right <= self.images)
    }
}

/// A [`Network`] whose type is known only when the program runs.
trait Reads {
    fn scores(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError>;
    fn parameters(&self) -> Result<Vec<f32>>;
    fn set(&mut self, values: &[f32]) -> Result<()>;
    fn tensors(&self) -> Result<Vec<Named>>;
}

impl<M: Network<Cpu>> Reads for M {
    fn scores(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        self.predict(images)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        model::parameters(self)
    }

    fn set(&mut self, values: &[f32]) -> Result<()> {
        model::set_parameters(self, values)
    }

    fn tensors(&self) -> Result<Vec<Named>> {
        model::tensors(self)
    }
}

fn build<M: Network<Cpu> + 'static>(dev: &Cpu) -> Result<Box<dyn Reads>> {
    Ok(Box::new(model::build::<M, Cpu>(dev)?))
}

/// The key of the model's name in the file's metadata.
const MODEL: &str = "model";
/// The key of the check sum there. Files of other programs have none.
const SHA256: &str = "sha256";
/// The key of [`Tested`] there.
const TESTED: &str = "tested";
/// The key of [`Form`] there.
const FORM: &str = "training_images";
/// Why a file of safetensors without [`MODEL`] is refused.
const NAMELESS: &str =
    "it does not say which model of digits it is; prompt a language model with generate --model";

impl Classifier {
    /// A classifier with random weights, from a seed.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for it.
    pub fn random(kind: Model, seed: u64) -> Result<Self> {
        let dev = Cpu::seed_from_u64(seed);
        let build = crate::by_model!(kind, Cpu, build);
        let model = build(&dev)?;
        Ok(Self { dev, kind, model, tested: None, form: Form::default() })
    }

    /// A classifier with these parameters, in the order of [`model::parameters`].
    ///
    /// # Errors
    /// [`Error::Config`] if the model has another number of parameters.
    pub fn from_weights(kind: Model, weights: &[f32]) -> Result<Self> {
        let mut classifier = Self::random(kind, 0)?;
        classifier.model.set(weights)?;
        Ok(classifier)
    }

    /// Which model it is.
    pub fn kind(&self) -> Model {
        self.kind
    }

    /// How it did on test images, if that is known.
    pub fn tested(&self) -> Option<&Tested> {
        self.tested.as_ref()
    }

    /// The same with what a test of it found.
    #[must_use]
    pub fn with_tested(self, tested: Option<Tested>) -> Self {
        Self { tested, ..self }
    }

    /// What the images look like that it learned from.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The same, having learned from such images.
    #[must_use]
    pub fn with_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Its parameters, in the order of [`model::parameters`].
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn weights(&self) -> Result<Vec<f32>> {
        self.model.parameters()
    }

    /// Their tensors, each by its name and its shape.
    ///
    /// # Errors
    /// As [`model::tensors`].
    pub fn tensors(&self) -> Result<Vec<Named>> {
        self.model.tensors()
    }

    /// Reads a `model.safetensors`.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] that says what is wrong with the file: missing, not whole, or of another model.
    pub fn load(path: &Path) -> Result<Self> {
        let refuse = |why: String| Error::Lab(lab::Error::damaged(path, why));
        let broken = |_| refuse("this is not a whole safetensors file; train again".to_owned());
        let unread = |e| {
            let run = path.parent().filter(|_| !path.exists());
            refuse(match run.filter(|run| Kind::of_run(run) == Some(Kind::Digits)) {
                Some(run) => {
                    let run = typed(run);
                    format!("the run has not ended; go on with train --resume --run {run}")
                }
                None => format!("the model can't be read ({e}); name another with --run"),
            })
        };
        let bytes = read_regular(path).map_err(unread)?;
        let file = SafeTensors::deserialize(&bytes).map_err(broken)?;
        let (_, about) = SafeTensors::read_metadata(&bytes).map_err(broken)?;
        let says = |key| about.metadata().as_ref().and_then(|about| about.get(key));
        let kind = says(MODEL).ok_or_else(|| refuse(NAMELESS.to_owned()))?;
        let kind = kind.parse().map_err(|e: lab::Error| refuse(e.to_string()))?;
        let mut classifier = Self::random(kind, 0)?;
        let mut weights = Vec::new();
        for (name, shape) in classifier.model.tensors()? {
            let tensor = file.tensor(&name).map_err(|_| {
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
        if says(SHA256).is_some_and(|sum| *sum != check_sum(&[], &weights)) {
            return Err(refuse("it is damaged: its check sum is another one".to_owned()));
        }
        if !weights.iter().all(|weight| weight.is_finite()) {
            return Err(refuse(
                "some of its weights are infinite or not numbers; train the model again".to_owned(),
            ));
        }
        classifier.model.set(&weights)?;
        // Other programs write no such thing, and a model without it is as good.
        let tested = says(TESTED).and_then(|text| serde_json::from_str(text).ok());
        let form = says(FORM).map_or(Some(Form::default()), |text| serde_json::from_str(text).ok());
        let odd = || refuse(format!("what it says of its {FORM} can't be; train the model again"));
        let form = form.filter(Form::is_sound).ok_or_else(odd)?;
        Ok(classifier.with_tested(tested.filter(Tested::is_sound)).with_form(form))
    }

    /// Writes the model as safetensors, replacing the file that may be there.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if it can't be written; what was there before stays.
    pub fn save(&self, path: &Path) -> Result<()> {
        let odd = |e| not_written(path, &std::io::Error::other(format!("{e:?}")));
        let weights = self.weights()?;
        let bytes: Vec<u8> = weights.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut rest = &bytes[..];
        let mut views = Vec::new();
        for (name, shape) in self.tensors()? {
            let (own, more) = rest.split_at(4 * shape.iter().product::<usize>());
            rest = more;
            views.push((name, TensorView::new(Dtype::F32, shape, own).map_err(odd)?));
        }
        let mut about = BTreeMap::from([
            (MODEL, self.kind.to_string()),
            (SHA256, check_sum(&[], &weights)),
            (FORM, json!(self.form).to_string()),
        ]);
        if let Some(tested) = &self.tested {
            about.insert(TESTED, json!(tested).to_string());
        }
        Ok(write_whole(path, &with_metadata(&serialize(views, &None).map_err(odd)?, &about))?)
    }

    /// The probability of each class, for each image of 784 values from 0 to 1.
    ///
    /// # Errors
    /// [`Error::Config`] if `pixels` is not a whole number of images, or none, or if a score is no number.
    pub fn probabilities(&self, pixels: &[f32]) -> Result<Vec<Vec<f64>>> {
        let scores = self.scores(pixels)?;
        Ok(scores.chunks_exact(CLASSES).map(softmax).collect())
    }

    /// The likeliest class of each image of 784 values from 0 to 1.
    ///
    /// # Errors
    /// As [`Classifier::probabilities`].
    pub fn digits(&self, pixels: &[f32]) -> Result<Vec<usize>> {
        let scores = self.scores(pixels)?;
        Ok(scores.chunks_exact(CLASSES).map(best).collect())
    }

    fn scores(&self, pixels: &[f32]) -> Result<Vec<f32>> {
        if pixels.is_empty() || !pixels.len().is_multiple_of(PIXELS) {
            return Err(Error::Config(format!(
                "{} values are not whole images of {PIXELS}",
                pixels.len()
            )));
        }
        let shape = (pixels.len() / PIXELS, Const::<PIXELS>);
        let images = self.dev.try_tensor_from_vec(pixels.to_vec(), shape).map_err(Error::device)?;
        let scores = self.model.scores(images).map_err(Error::device)?.as_vec();
        let numbers = scores.iter().all(|score| score.is_finite());
        let why = "the model's scores are not numbers; train it again with a smaller learning rate";
        numbers.then_some(scores).ok_or_else(|| Error::Config(why.to_owned()))
    }
}
