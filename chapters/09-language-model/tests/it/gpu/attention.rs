//! Attention in tiles by itself, on a device, held against the CPU's: operands go there and results come back.

use backprop::check::error_f32;
use cpu_gpu::gpu::{Arg, Gpu, Launch, read_all, testing, write_all};
use lab::random::numbers;
use language_model::attention::causal::{Head, scale};
use language_model::{
    Error, Result,
    attention::tiled,
    error::count,
    gpu::kernels::{ATTENTION, length},
    gpu::step::OWNED,
};

/// The results and the logarithms of the sums of `heads` heads, whose queries, keys and values are [heads, tokens, size]
/// each, as [`tiled::forward`] gives them for one.
fn attention(
    gpu: &dyn Gpu,
    [q, k, v]: [&[f32]; 3],
    (heads, tokens, size): (usize, usize, usize),
) -> Result<(Vec<f32>, Vec<f32>)> {
    let values = heads * tokens * size;
    for part in [q, k, v] {
        count("values of a head", part.len(), values)?;
    }
    length(values)?;
    let kernel = gpu.compile(ATTENTION, &[("HEAD", size.to_string())], "attention")?;
    let buffers = [q, k, v].map(|part| {
        let buffer = gpu.alloc(4 * values)?;
        write_all(gpu, &buffer, part)?;
        Ok::<_, cpu_gpu::Error>(buffer)
    });
    let [q, k, v] = buffers;
    let (q, k, v) = (q?, k?, v?);
    let (out, logs) = (gpu.alloc(4 * values)?, gpu.alloc(4 * heads * tokens)?);
    let args = [
        Arg::Buffer(&q),
        Arg::Buffer(&k),
        Arg::Buffer(&v),
        Arg::Buffer(&out),
        Arg::Buffer(&logs),
        length(tokens)?,
        Arg::F32(scale(size)),
    ];
    gpu.launch(&kernel, Launch::new([tokens.div_ceil(OWNED), heads], [OWNED, 1]), &args)?;
    Ok((read_all(gpu, &out, values)?, read_all(gpu, &logs, heads * tokens)?))
}

#[test]
fn the_kernel_equals_the_tiles_of_the_cpu() {
    let Some(gpu) = testing::opencl() else { return };
    for (heads, tokens, size) in [(1, 1, 4), (3, 65, 8), (2, 200, 32), (2, 64, 5)] {
        let of = [1, 2, 3].map(|seed| numbers(heads * tokens * size, seed));
        let [q, k, v] = [&of[0][..], &of[1], &of[2]];
        let (out, logs) = attention(&*gpu, [q, k, v], (heads, tokens, size)).unwrap();
        let mut space = vec![0.0; tiled::space(size)];
        for head in 0..heads {
            let rows = head * tokens * size..(head + 1) * tokens * size;
            let (mut wanted, mut log) = (vec![0.0; tokens * size], vec![0.0; tokens]);
            let [q, k, v] = [q, k, v].map(|all| &all[rows.clone()]);
            let of_one = Head { q, k, v, size };
            tiled::forward(&mut wanted, &mut log, of_one, &mut space);
            assert!(error_f32(&out[rows], &wanted) < 1e-5, "{heads}×{tokens}×{size}");
            assert!(error_f32(&logs[head * tokens..(head + 1) * tokens], &log) < 1e-5);
        }
    }
    let error = attention(&*gpu, [&[0.0; 8], &[0.0; 8], &[0.0; 7]], (1, 2, 4)).unwrap_err();
    assert!(matches!(error, Error::Count { .. }), "{error}");
}
