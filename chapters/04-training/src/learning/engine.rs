//! The device that trains, chosen when the program starts, and the data set that lives on it.
//!
//! Everything that learns is generic over [`Engine`]: dfdx's CPU, and with the feature `cuda` its GPU. The data set is
//! converted once and stays on the device; a batch is gathered there. The operations that a model needs in addition to dfdx's
//! are with that model.

use crate::{
    Error, Result,
    learning::augment::augmented,
    models::model::{CLASSES, Images, PIXELS, Targets},
};
use dfdx::{prelude::*, tensor::Synchronize, tensor_ops::Device};
use lab::{data::Split, limits};

/// A dfdx device that can keep rows of values and gather some of them into a tensor.
pub trait Engine: Device<f32> + Synchronize {
    /// Rows of `W` values, kept on the device.
    type Rows<const W: usize>;

    /// Moves rows of `W` values onto the device.
    ///
    /// # Errors
    /// The device's own: no memory, or a length that is no multiple of `W`.
    fn keep<const W: usize>(&self, rows: Vec<f32>) -> Result<Self::Rows<W>, Self::Err>;

    /// The rows with the indices in `index`, which must be below the number of rows: (index, W).
    ///
    /// # Errors
    /// The device's own.
    fn gather<const W: usize>(
        &self,
        rows: &Self::Rows<W>,
        index: &[usize],
    ) -> Result<Tensor<(usize, Const<W>), f32, Self>, Self::Err>;
}

impl Engine for Cpu {
    // dfdx's own gather loops over every value with its indices; whole rows are copied here.
    type Rows<const W: usize> = Vec<f32>;

    fn keep<const W: usize>(&self, rows: Vec<f32>) -> Result<Vec<f32>, CpuError> {
        if rows.len().is_multiple_of(W) { Ok(rows) } else { Err(CpuError::WrongNumElements) }
    }

    fn gather<const W: usize>(
        &self,
        rows: &Vec<f32>,
        index: &[usize],
    ) -> Result<Tensor<(usize, Const<W>), f32, Self>, CpuError> {
        let mut batch = Vec::with_capacity(index.len() * W);
        for row in index {
            batch.extend_from_slice(&rows[row * W..(row + 1) * W]);
        }
        self.try_tensor_from_vec(batch, (index.len(), Const))
    }
}

#[cfg(feature = "cuda")]
impl Engine for Cuda {
    type Rows<const W: usize> = Tensor<(usize, Const<W>), f32, Self>;

    fn keep<const W: usize>(&self, rows: Vec<f32>) -> Result<Self::Rows<W>, CudaError> {
        let count = rows.len() / W;
        self.try_tensor_from_vec(rows, (count, Const))
    }

    fn gather<const W: usize>(
        &self,
        rows: &Self::Rows<W>,
        index: &[usize],
    ) -> Result<Tensor<(usize, Const<W>), f32, Self>, CudaError> {
        gather_on_device(self, rows, index)
    }
}

/// Gathers with dfdx's kernel: only the indices travel to the device.
///
/// # Errors
/// The device's own.
pub fn gather_on_device<const W: usize, D: Device<f32>>(
    dev: &D,
    rows: &Tensor<(usize, Const<W>), f32, D>,
    index: &[usize],
) -> Result<Tensor<(usize, Const<W>), f32, D>, D::Err> {
    let index = dev.try_tensor_from_vec(index.to_vec(), (index.len(),))?;
    rows.clone().try_gather(index) // the clone is another handle to the same memory
}

/// How many GPUs this build can use: none without the feature `cuda`, without a driver, or without a GPU.
pub fn gpus() -> usize {
    #[cfg(feature = "cuda")]
    {
        // `CudaDevice::new` panics if the driver does not come up, so it is asked first.
        if cudarc::driver::result::init().is_ok() {
            return cudarc::driver::result::device::get_count().map_or(0, |n| n.max(0) as usize);
        }
    }
    0
}

/// The GPU with this number, its random numbers seeded with `seed`.
///
/// # Errors
/// [`Error::Config`] if there is no such GPU, [`Error::Device`] if it does not start.
#[cfg(feature = "cuda")]
pub fn cuda(index: usize, seed: u64) -> Result<Cuda> {
    let found = gpus();
    if index >= found {
        return Err(Error::Config(format!(
            "there is no device cuda:{index} ({found} found); use --device cpu, or see `throughput doctor`"
        )));
    }
    Cuda::try_build(index, seed).map_err(Error::device)
}

/// Images and their labels on a device.
pub struct Resident<D: Engine> {
    dev: D,
    images: D::Rows<PIXELS>,
    targets: D::Rows<CLASSES>,
    /// The images as they came, if they are to be changed for each epoch.
    bytes: Vec<u8>,
    labels: Vec<u8>,
}

impl<D: Engine> Resident<D> {
    /// Scales the images to values from 0 to 1 and moves them onto the device, once.
    ///
    /// # Errors
    /// [`Error::Config`] if there are no images, if they are not 28 by 28, or if labels are missing or
    /// above 9, or if there is no memory for them; [`Error::Device`].
    pub fn new(dev: &D, split: &Split) -> Result<Self> {
        if (split.rows, split.cols) != (28, 28) {
            return Err(Error::Config(format!(
                "this model reads images of 28×28 pixels, and these have {}×{}",
                split.rows, split.cols
            )));
        }
        if split.labels.is_empty() || split.images.len() != split.labels.len() * PIXELS {
            return Err(Error::Config(format!(
                "there are {} labels for {} pixels; each image of 28×28 needs one",
                split.labels.len(),
                split.images.len()
            )));
        }
        if let Some(label) = split.labels.iter().find(|label| usize::from(**label) >= CLASSES) {
            return Err(Error::Config(format!("a label is {label}; they must be from 0 to 9")));
        }
        // As f32, and once more while they move; without this check the system would kill the process.
        if !limits::grants(2 * 4 * split.images.len() as u64) {
            return Err(Error::Config(format!(
                "there is no memory for {} images; end other programs, or allow more with ulimit -v",
                split.labels.len()
            )));
        }
        let mut targets = vec![0.0; split.labels.len() * CLASSES];
        for (row, label) in targets.chunks_exact_mut(CLASSES).zip(&split.labels) {
            row[usize::from(*label)] = 1.0;
        }
        Ok(Self {
            dev: dev.clone(),
            images: dev.keep(split.scaled()).map_err(Error::device)?,
            targets: dev.keep(targets).map_err(Error::device)?,
            bytes: Vec::new(),
            labels: split.labels.clone(),
        })
    }

    /// The same, with the images of this split as they came, for [`Resident::augmented`].
    #[must_use]
    pub fn with_bytes(self, split: &Split) -> Self {
        Self { bytes: split.images.clone(), ..self }
    }

    /// Where they are.
    pub fn device(&self) -> &D {
        &self.dev
    }

    /// The images, where they are.
    pub fn rows(&self) -> &D::Rows<PIXELS> {
        &self.images
    }

    /// The label of image `at`.
    ///
    /// # Panics
    /// If there is none.
    pub fn label(&self, at: usize) -> u8 {
        self.labels[at]
    }

    /// Waits until the device has done what it was given.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn synchronize(&self) -> Result<()> {
        self.dev.try_synchronize().map_err(Error::device)
    }

    /// How many images there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none; [`Resident::new`] refuses that.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The images with these indices, each below [`Resident::len`].
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn images(&self, index: &[usize]) -> Result<Images<D>> {
        self.dev.gather(&self.images, index).map_err(Error::device)
    }

    /// The same images, each changed a little, in another way in each epoch: see [`augmented`]. They are made
    /// on the host and then travel to the device.
    ///
    /// # Errors
    /// [`Error::Config`] without [`Resident::with_bytes`], [`Error::Device`].
    pub fn augmented(&self, index: &[usize], seed: u64, epoch: usize) -> Result<Images<D>> {
        if self.bytes.is_empty() {
            return Err(Error::Config("these images were not kept as they came".into()));
        }
        let batch = augmented(&self.bytes, index, seed, epoch);
        self.dev.try_tensor_from_vec(batch, (index.len(), Const)).map_err(Error::device)
    }

    /// Their labels, one-hot.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn targets(&self, index: &[usize]) -> Result<Targets<D>> {
        self.dev.gather(&self.targets, index).map_err(Error::device)
    }

    /// Their labels.
    pub fn labels(&self, index: &[usize]) -> Vec<u8> {
        index.iter().map(|at| self.label(*at)).collect()
    }
}
