//! The instructions of a CPU with AMX, by inline assembly.

use super::{SIDE, Tiles};
use std::{
    arch::{
        asm,
        x86_64::{__cpuid_count, _MM_HINT_T0, _mm_prefetch},
    },
    sync::OnceLock,
};

/// The tiles of the calling thread.
#[derive(Debug)]
pub struct Hardware(());

/// What `ldtilecfg` reads (Intel, *Architectures Software Developer's Manual*, volume 2, LDTILECFG).
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_in_row: [u16; 16],
    rows: [u8; 16],
}

// SAFETY: these are the instructions that the trait describes.
unsafe impl Tiles for Hardware {
    fn start() -> Self {
        assert!(available(), "this machine has no AMX tiles");
        let mut config = Config {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes_in_row: [0; 16],
            rows: [0; 16],
        };
        config.bytes_in_row[..8].fill(64);
        config.rows[..8].fill(SIDE as u8);
        // SAFETY: the tiles are available; the instruction reads 64 bytes.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) }
        Self(())
    }

    #[inline(always)]
    fn zero<const T: usize>(&mut self) {
        // SAFETY: the tiles are configured; the compiler uses none of them.
        unsafe { asm!("tilezero tmm{t}", t = const T, options(nostack, nomem)) }
    }

    #[inline(always)]
    unsafe fn load<const T: usize>(&mut self, from: *const u32, stride: usize) {
        // SAFETY: the caller vouches for 16 rows of 64 bytes.
        unsafe {
            asm!("tileloadd tmm{t}, [{from} + {stride}]", t = const T,
                from = in(reg) from, stride = in(reg) stride, options(nostack, readonly));
        }
    }

    #[inline(always)]
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self) {
        // SAFETY: the tiles are configured; the compiler uses none of them.
        unsafe {
            asm!("tdpbf16ps tmm{c}, tmm{a}, tmm{b}",
                c = const C, a = const A, b = const B,
                options(nostack, nomem));
        }
    }

    #[inline(always)]
    unsafe fn store<const T: usize>(&self, to: *mut u32, stride: usize) {
        // SAFETY: the caller vouches for 16 rows of 64 bytes.
        unsafe {
            asm!("tilestored [{to} + {stride}], tmm{t}", t = const T,
                to = in(reg) to, stride = in(reg) stride, options(nostack));
        }
    }

    #[inline(always)]
    fn prefetch(&self, at: *const f32) {
        // SAFETY: a prefetch reads nothing that the program sees and never faults.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at.cast());
            _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(SIDE).cast());
        }
    }
}

impl Drop for Hardware {
    fn drop(&mut self) {
        // SAFETY: gives the tiles back, so that the system need not save them for this thread.
        unsafe { asm!("tilerelease", options(nostack, nomem)) }
    }
}

/// Whether this CPU and its operating system let this process use AMX tiles with bf16.
pub fn available() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(ask)
}

/// Asks the CPU whether it has the instructions, and Linux to let this process use them.
fn ask() -> bool {
    // CPUID leaf 7, EDX: bit 22 is AMX-BF16, bit 24 is AMX-TILE; leaf 1, ECX: bit 27 says that the
    // system manages extended states, XCR0 bits 17 and 18 that the tiles are among them.
    let (one, seven) = (__cpuid_count(1, 0), __cpuid_count(7, 0));
    if seven.edx >> 22 & 0b101 != 0b101 || one.ecx >> 27 & 1 == 0 {
        return false;
    }
    let states: u32;
    // SAFETY: OSXSAVE was checked.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") states, out("edx") _, options(nostack, nomem));
    }
    states >> 17 & 0b11 == 0b11 && permitted()
}

/// `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`: Linux lends the tiles only to those who ask
/// (kernel documentation, "Using XSTATE features in user space applications").
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    let result: i64;
    // SAFETY: a system call that changes only this process's permissions.
    unsafe {
        asm!("syscall", inlateout("rax") 158_i64 => result, in("rdi") 0x1023_u64,
            in("rsi") 18_u64, out("rcx") _, out("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}
