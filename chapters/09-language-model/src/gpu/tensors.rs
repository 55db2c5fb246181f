//! Where the tensors of a layout lie in a device's buffer: first the matrices, which shrink in a step, then the scales, which do
//! not. Each begins at a multiple of 4096 bytes, the strictest that an OpenCL driver is known to want of a part of a buffer
//! (`CL_DEVICE_MEM_BASE_ADDR_ALIGN`). What lies between two of them is zero and stays zero.

use crate::{Config, Layout};
use cpu_gpu::gpu::{Arg, Buffer};
use std::ops::Range;

/// Numbers of the step between two beginnings: 4096 bytes.
pub const STEP: usize = 1024;

/// The places of a model's tensors.
#[derive(Clone, Debug)]
pub struct Tensors {
    /// Where each lies on the CPU, and where it begins on the device.
    pub places: Vec<(Range<usize>, usize)>,
    /// Where the scales begin, after all matrices.
    pub scales: usize,
    /// Numbers of a buffer.
    pub len: usize,
}

impl Tensors {
    /// The tensors of a layout.
    pub fn new(layout: &Layout, config: &Config) -> Self {
        let mut all = layout.tensors(config);
        let is_scale = |shape: &[usize]| shape.len() != 2;
        all.sort_by_key(|(_, _, shape)| is_scale(shape)); // apart from that, in the layout's order
        let (mut places, mut scales, mut len) = (Vec::new(), None, 0);
        for (_, range, shape) in all {
            if is_scale(&shape) {
                scales.get_or_insert(len);
            }
            places.push((range.clone(), len));
            len = (len + range.len()).next_multiple_of(STEP);
        }
        let scales = scales.unwrap_or(len);
        Self { places, scales, len }
    }

    /// All matrices or all scales of a buffer, and how many numbers.
    pub fn half<'b>(&self, buffer: &'b Buffer, matrices: bool) -> (Arg<'b>, usize) {
        if matrices {
            (Arg::Buffer(buffer), self.scales)
        } else {
            (Arg::Part { buffer, offset: 4 * self.scales }, self.len - self.scales)
        }
    }

    /// A tensor in a buffer of this form.
    ///
    /// # Panics
    /// If the range is no tensor's.
    pub fn part<'b>(&self, buffer: &'b Buffer, range: &Range<usize>) -> Arg<'b> {
        let place = self.places.iter().find(|(own, _)| own == range);
        let (_, start) = place.expect("a tensor of the layout");
        Arg::Part { buffer, offset: 4 * start }
    }

    /// Numbers of the CPU's layout in the device's form.
    pub fn spread(&self, values: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; self.len];
        for (range, start) in &self.places {
            all[*start..start + range.len()].copy_from_slice(&values[range.clone()]);
        }
        all
    }

    /// The same back, into numbers of the CPU's layout.
    pub fn gather(&self, all: &[f32], values: &mut [f32]) {
        for (range, start) in &self.places {
            values[range.clone()].copy_from_slice(&all[*start..start + range.len()]);
        }
    }
}
