//! Matrices as tensor cores' copies want them: bf16, rows that begin at multiples of 16 bytes, and a descriptor.

use crate::{Error, Result};
use cudarc::driver::sys;
use half::bf16;
use std::ffi::c_void;

/// A matrix in bf16 whose rows begin at multiples of 16 bytes, with zeros behind each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padded {
    /// Rows, at least 1.
    pub rows: usize,
    /// Columns that count, at least 1.
    pub columns: usize,
    /// Numbers from one row to the next: a multiple of 8.
    pub stride: usize,
    /// The bits, `rows * stride` of them.
    pub bits: Vec<u16>,
}

impl Padded {
    /// Rounds a row-major matrix to bf16. A dimension of 0 becomes one row or column of zeros, because the copy engine
    /// takes no empty matrices and a zero adds nothing to a sum.
    ///
    /// # Panics
    /// If `values` has not `rows * columns` numbers.
    ///
    /// ```
    /// let a = cpu_gpu::tensor_cores::Padded::new(&[1.0, 2.0, 3.0], 1, 3);
    /// assert_eq!((a.stride, &a.bits[..4]), (8, &[0x3F80, 0x4000, 0x4040, 0][..]));
    /// ```
    pub fn new(values: &[f32], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows}×{columns} matrix");
        let stride = columns.next_multiple_of(8).max(8);
        let mut bits = vec![0; rows.max(1) * stride];
        if columns > 0 {
            for (to, from) in bits.chunks_mut(stride).zip(values.chunks(columns)) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = bf16::from_f32(*from).to_bits();
                }
            }
        }
        Self { rows: rows.max(1), columns: columns.max(1), stride, bits }
    }
}

/// What the copy engine is told about a matrix of bf16 (`cuTensorMapEncodeTiled` of the CUDA driver): a swizzle of
/// 128 bytes, and zeros for what lies outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Columns and rows.
    pub size: [u64; 2],
    /// Bytes from one row to the next: a multiple of 16.
    pub stride: u64,
    /// Columns and rows of the box that one copy brings: 64 columns are the swizzle's 128 bytes.
    pub boxes: [u32; 2],
}

/// What the driver makes of a [`TensorMap`]. CUDA 13's header aligns it to 128 bytes, earlier ones to 64.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub(super) struct Encoded(sys::CUtensorMap);

impl TensorMap {
    fn new(matrix: &Padded, boxes: [u32; 2]) -> Self {
        Self {
            size: [matrix.columns as u64, matrix.rows as u64],
            stride: 2 * matrix.stride as u64,
            boxes,
        }
    }

    /// Of A for `wgmma`: boxes of 64 columns and the 128 rows of a block.
    pub fn of_a(a: &Padded) -> Self {
        Self::new(a, [64, 128])
    }

    /// Of B for `wgmma`: boxes of 64 columns and 64 rows, four of them for a tile.
    pub fn of_b(b: &Padded) -> Self {
        Self::new(b, [64, 64])
    }

    /// The 128 bytes that the copy engine reads, for a matrix at `address`.
    pub(super) fn encode(&self, address: u64) -> Result<Encoded> {
        let mut encoded = Encoded(sys::CUtensorMap { opaque: [0; 16] });
        let steps = [1, 1];
        // SAFETY: the pointers lead to two sizes, one stride, two sides of a box and two steps, as two dimensions need;
        // the driver stores the address and reads nothing from there.
        let code = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut encoded.0,
                sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                2,
                address as *mut c_void,
                self.size.as_ptr(),
                &raw const self.stride,
                self.boxes.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        if code == sys::CUresult::CUDA_SUCCESS {
            Ok(encoded)
        } else {
            Err(Error::message(format!(
                "the driver refuses the descriptor of a matrix ({code:?}: {self:?}); a newer driver may take it"
            )))
        }
    }
}
