use backprop::check::{error, wide};
use lab::random::numbers;
use matmul::simd::Level;
use performance::engine::direct::{Direct, Placed, SLACK, bordered, flipped, lanes, placed};

/// Calls `of` with the places of each term: in the outputs, the image and the filters.
fn terms(d: &Direct, mut of: impl FnMut(usize, usize, usize)) {
    for (y, x) in (0..d.h * d.w).map(|at| (at / d.w, at % d.w)) {
        for row in 0..d.k * d.k * d.ci {
            let (ky, rest) = (row / (d.k * d.ci), row % (d.k * d.ci));
            for co in 0..d.co {
                let image = (y + ky) * d.line() + x * d.ci + rest;
                of((y * d.w + x) * d.co + co, image, row * d.co + co);
            }
        }
    }
}

fn right(size: (usize, usize), channels: (usize, usize), k: usize) {
    for level in Level::ALL.into_iter().filter(|level| level.available()) {
        let d = Direct::on(level, size, channels, (k, 0));
        let (image, filters) = (numbers(d.image(), 1), numbers(d.numbers(), 2));
        let (bias, mut up) = (numbers(d.co, 3), numbers(d.output(), 4));
        let mut wanted: Vec<f64> = (0..d.output()).map(|at| f64::from(bias[at % d.co])).collect();
        let (mut dw, mut dx) = (vec![1.0_f64; d.numbers()], vec![0.0_f64; d.image()]);
        terms(&d, |out, x, w| {
            let [number, filter, g] = [image[x], filters[w], up[out]].map(f64::from);
            wanted[out] += number * filter;
            dw[w] += number * g;
            dx[x] += filter * g;
        });
        let what = format!("{}: {size:?}, {channels:?}, {k}", level.name());
        let mut out = vec![f32::NAN; d.output()];
        d.forward(&mut out, &image, &d.pack(&filters, Some(&bias)));
        assert!(error(&wide(&out), &wanted) < 1e-5, "{what}");

        up.resize(d.output() + SLACK, f32::NAN);
        let mut got = vec![1.0; d.numbers()];
        d.filters_backward(&mut got, &image, &up);
        assert!(error(&wide(&got), &dw) < 1e-5, "{what}: filters");

        let (h, w) = (d.h + k - 1, d.w + k - 1);
        let back = Direct::on(level, (h, w), (d.co, d.ci), (k, k - 1));
        let mut around = vec![0.0; back.image()];
        let (line, border) = (d.w * d.co, (k - 1, (k - 1) * d.co));
        let around = bordered(&mut around, &up[..d.output()], line, border);
        let mut got = vec![f32::NAN; d.image()];
        back.forward(&mut got, around, &back.pack(&flipped(&filters, channels), None));
        assert!(error(&wide(&got), &dx) < 1e-5, "{what}: image");
    }
}

#[test]
fn is_the_convolution_of_the_definition_both_ways_on_every_level() {
    right((28, 28), (1, 16), 5);
    right((10, 10), (16, 32), 5);
    right((14, 14), (24, 24), 3);
    right((7, 7), (48, 48), 3);
    right((7, 7), (24, 48), 1);
    right((28, 28), (1, 24), 3);
    right((1, 1), (1, 1), 1);
    right((2, 13), (3, 5), 3);
    right((5, 3), (2, 70), 2);
    right((3, 29), (1, 33), 4);
}

#[test]
#[should_panic(expected = "outputs.len()")]
fn another_length_is_refused() {
    let direct = Direct::new((2, 2), (1, 1), (1, 0));
    direct.forward(&mut [0.0; 3], &[0.0; 4], &direct.pack(&[1.0], None));
}

#[test]
fn lines_are_cut_without_a_rest() {
    for (lines, line, cols, unit) in [
        (1, 28, 16, false),
        (1, 14, 24, false),
        (1, 7, 48, false),
        (5, 5, 16, true),
        (3, 72, 24, true),
        (3, 144, 48, true),
    ] {
        for level in [Level::Avx2, Level::Avx512] {
            let placed = placed(level, lines, line, cols, unit);
            let sums = placed.iter().map(|Placed { tile: (_, sums, n), .. }| sums * n);
            let vectors = cols.div_ceil(lanes(level));
            assert_eq!(sums.sum::<usize>(), line * vectors, "{}: {line}, {cols}", level.name());
            // Twelve sums, three vectors and a number would be all sixteen registers of AVX2, and one is stored each time.
            let registers = |&Placed { tile: (ry, rx, n), .. }: &Placed| ry * rx * n + n + 1;
            assert!(level == Level::Avx512 || placed.iter().all(|p| registers(p) < 16));
        }
    }
}

#[test]
fn each_sum_is_in_a_tile() {
    for level in Level::ALL {
        for (line, cols) in [(1, 1), (7, 48), (28, 24), (13, 70), (80, 32), (5, 16)] {
            for unit in [true, false] {
                let mut times = vec![0; line * cols];
                for Placed { sum, col, tile: (_, sums, vectors), .. } in
                    placed(level, 1, line, cols, unit)
                {
                    for sum in sum..sum + sums {
                        for col in col..cols.min(col + vectors * lanes(level)) {
                            times[sum * cols + col] += 1;
                        }
                    }
                }
                let once = |times: &i32| *times == 1 || !unit && *times > 0;
                assert!(times.iter().all(once), "{}: {line}, {cols}", level.name());
            }
        }
    }
}
