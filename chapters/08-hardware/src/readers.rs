//! The four readers of the chapter, each with a typical job.

use crate::{Job, Options, Result};
use backprop::count::Model;

lab::named! {
    /// The kind of reader.
    pub enum Reader("reader") {
        /// A learner who trains small models now and then.
        Small = "small",
        /// Has a laptop with a GPU.
        Laptop = "laptop",
        /// Has a desk and a budget, or rents by the hour.
        Workstation = "workstation",
        /// Has a cluster, or rents one.
        Cluster = "cluster",
    }
}

/// Images of `ImageNet`'s training set of 2012 (Russakovsky and others 2015, section 3.1).
const IMAGENET: u64 = 1_281_167;

impl Reader {
    /// What the reader wants to train.
    ///
    /// # Errors
    /// None of its own: the models are known.
    pub fn job(self) -> Result<Job> {
        let vgg = |batch, images| Job::of(&Model::vgg16(), batch, images);
        match self {
            // Chapter 4's convolutional network, by its recipe.
            Self::Small => Job::chapter_4(training::Model::Cnn),
            // VGG16, ten times over ten thousand of the reader's own images.
            Self::Laptop => vgg(16, 10 * 10_000),
            // VGG16 as it was published: 74 times over ImageNet.
            Self::Workstation => vgg(64, 74 * IMAGENET),
            // 7·10⁹ weights, and twenty tokens for each of them.
            Self::Cluster => Job::language(7e9, 32, 4e6, 140e9),
        }
    }

    /// How many cards the reader considers.
    pub fn cards(self) -> u32 {
        match self {
            Self::Cluster => 64,
            _ => 1,
        }
    }

    /// The cards that the reader considers, by their short names.
    pub fn considers(self) -> &'static [&'static str] {
        match self {
            Self::Small => &["t4", "rtx-3060", "h100"],
            Self::Laptop => &["rtx-4060-laptop", "t4", "l4", "rtx-4070"],
            Self::Workstation => {
                &["rtx-4070", "rtx-4090", "rtx-5090", "rtx-a6000", "a100-80", "h100", "b200"]
            }
            Self::Cluster => &["a100-80", "h100", "h200", "b200", "mi300x", "tpu-v5p", "tpu-v6e"],
        }
    }

    /// The question for the calculator.
    ///
    /// # Errors
    /// None of its own.
    pub fn options(self) -> Result<Options> {
        let only = self.considers().iter().map(|id| (*id).to_owned()).collect();
        Ok(Options { cards: self.cards(), only, ..Options::of(self.job()?) })
    }
}
