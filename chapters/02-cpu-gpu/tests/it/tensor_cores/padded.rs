use cpu_gpu::tensor_cores::padded::{Padded, TensorMap};
use half::bf16;

#[test]
fn a_matrix_is_rounded_to_nearest_and_its_rows_are_filled_with_zeros() {
    // 1 + 2^-8 lies between two bf16 numbers and goes to the even one, 1; 1 + 3·2^-8 goes up.
    let values = [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, -2.0, f32::NAN, 5.0, f32::INFINITY];
    let matrix = Padded::new(&values, 2, 3);
    assert_eq!((matrix.rows, matrix.columns, matrix.stride), (2, 3, 8));
    assert_eq!(matrix.bits[..8], [0x3F80, 0x3F82, 0xC000, 0, 0, 0, 0, 0]);
    assert!(bf16::from_bits(matrix.bits[8]).is_nan());
    assert_eq!(matrix.bits[9..], [0x40A0, 0x7F80, 0, 0, 0, 0, 0]);
    let empty = Padded::new(&[], 0, 9);
    assert_eq!((empty.rows, empty.columns, empty.bits.len()), (1, 9, 16));
    let empty = Padded::new(&[], 3, 0);
    assert_eq!((empty.rows, empty.columns, empty.bits.len()), (3, 1, 24));
    assert!(empty.bits.iter().all(|&b| b == 0));
}

#[test]
fn a_descriptor_is_one_that_the_driver_takes() {
    for (rows, columns) in [(1, 1), (129, 65), (8192, 8192)] {
        let matrix = Padded::new(&vec![0.0; rows * columns], rows, columns);
        for map in [TensorMap::of_a(&matrix), TensorMap::of_b(&matrix)] {
            // cuda.h at cuTensorMapEncodeTiled: strides, boxes, and the swizzle's width.
            assert!(map.stride.is_multiple_of(16) && map.stride >= 2 * map.size[0]);
            assert!(map.boxes.iter().all(|&side| (1..=256).contains(&side)));
            assert_eq!(map.boxes[0] * 2, 128);
            assert_eq!(map.size, [columns as u64, rows as u64]);
        }
    }
}
