use cpu_gpu::simt::counts::Counts;
use cpu_gpu::simt::ladder::{RUNGS, product};
use lab::random::numbers;
use matmul::Shape;

fn check(rung: &str, shape: Shape) -> Counts {
    let Shape { m, n, k } = shape;
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let (c, counts) = product(rung, &a, &b, shape).unwrap().unwrap_or_else(|f| panic!("{f}"));
    for (at, got) in c.iter().enumerate() {
        let terms = (0..k)
            .map(|p| f64::from(a[at / n * k + p]) * f64::from(b[p * n + at % n]))
            .collect::<Vec<_>>();
        let (sum, size): (f64, f64) = (terms.iter().sum(), terms.iter().map(|t| t.abs()).sum());
        let error = (f64::from(*got) - sum).abs();
        assert!(error <= 1e-6 * (size + 1e-30), "{rung} {shape:?}: {got} is not {sum}");
    }
    counts
}

#[test]
fn every_rung_is_right_at_every_edge() {
    for rung in RUNGS {
        for (m, n, k) in [(1, 1, 1), (33, 31, 5), (7, 130, 9), (129, 3, 16), (64, 68, 12)] {
            check(rung, Shape { m, n, k });
        }
        check(rung, Shape { m: 3, n: 2, k: 0 });
        check(rung, Shape { m: 0, n: 5, k: 4 });
    }
    assert!(product("no such rung", &[], &[], Shape { m: 0, n: 0, k: 0 }).is_none());
}

#[test]
fn the_counts_are_those_that_a_pencil_finds() {
    let shape = Shape { m: 64, n: 64, k: 64 };
    let (m, n, k) = (64_u64, 64, 64);
    let of = |rung| check(rung, shape);
    let warps = m * n / 32;
    for rung in ["naive", "coalesced", "shared"] {
        assert_eq!(of(rung).flops, 2 * m * n * k, "{rung}");
    }
    let (naive, coalesced) = (of("naive"), of("coalesced"));
    // Each warp loads k times 32 rows of A and one number of B …
    assert_eq!(naive.load_sectors, warps * k * 33);
    // … or one number of A and 4 sectors of B.
    assert_eq!(coalesced.load_sectors, warps * k * 5);
    assert_eq!((naive.store_sectors, coalesced.store_sectors), (warps * 32, warps * 4));
    // Every tile of 32 rows of C fetches all of B once, and so for A: 2 · m·n·k / 32 numbers, 8 to a sector.
    let tiled = of("shared");
    assert_eq!(tiled.load_sectors, 2 * m * n * k / 32 / 8);
    assert_eq!((tiled.barriers, tiled.conflicts()), (4 * 2 * 2, 0));
    let column = of("tile1d");
    assert_eq!(column.load_sectors, 2 * m * n * k / 64 / 8);
    assert!(column.shared_requests < tiled.shared_requests * 2 / 3);
}

#[test]
fn larger_tiles_move_less_and_read_less_shared_memory() {
    let shape = Shape { m: 128, n: 128, k: 16 };
    let [line, square, wide, warp] =
        ["tile1d", "tile2d", "vectorised", "warp_tiles"].map(|rung| check(rung, shape));
    assert_eq!(square.load_sectors, 2 * 128 * 16 / 8); // one block: both matrices once
    assert_eq!(line.load_sectors, 2 * square.load_sectors);
    assert!(square.shared_passes < line.shared_passes);
    assert!(wide.shared_requests < square.shared_requests / 2);
    assert!(warp.shared_passes < wide.shared_passes);
    assert_eq!(wide.load_requests, square.load_requests / 4);
}
