use matmul::bf16::{Input, bf16};

#[test]
fn rounds_as_half_does() {
    // Every upper half, with lower halves below, at and above a tie.
    for upper in 0..=0xffff_u32 {
        for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
            let x = f32::from_bits(upper << 16 | lower);
            assert_eq!(x.bits(), bf16::from_f32(x).to_bits(), "{x:e}");
            check_eight(x);
        }
    }
}

/// Eight at once give the same bits.
fn check_eight<T: Input>(x: T) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn eight<T: Input>(x: &[T; 8]) -> [u32; 8] {
            // SAFETY: eight values; AVX2 is enabled.
            unsafe { std::mem::transmute(T::eight(x.as_ptr())) }
        }
        // SAFETY: the CPU has AVX2.
        let found = unsafe { eight(&[x; 8]) };
        assert_eq!(found, [u32::from(x.bits()); 8]);
    }
    let _ = x;
}

#[test]
fn a_bf16_stays_what_it_is() {
    for bits in 0..=0xffff_u16 {
        assert_eq!(bf16::from_bits(bits).bits(), bits);
        check_eight(bf16::from_bits(bits));
    }
}
