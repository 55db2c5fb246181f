//! Numbers of 32 bits that are rounded where they lie to what 16 bits hold.

use crate::Input as _;
use half::{f16, slice::HalfFloatSliceExt as _};
use lab::vectors::wide;

/// The nearest bf16 of each number, ties to even.
pub fn to_bf16(values: &mut [f32]) {
    wide!(|| values.iter_mut().for_each(|x| *x = x.rounded()));
}

/// The nearest f16 of each number times `scale`, ties to even, divided by it again.
pub fn to_f16(values: &mut [f32], scale: f32) {
    let mut room = [f16::ZERO; 1024];
    for values in values.chunks_mut(room.len()) {
        let room = &mut room[..values.len()];
        wide!(|| values.iter_mut().for_each(|x| *x *= scale));
        room.convert_from_f32_slice(values);
        room.convert_to_f32_slice(values);
        let back = scale.recip();
        wide!(|| values.iter_mut().for_each(|x| *x *= back));
    }
}
