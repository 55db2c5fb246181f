use cpu_gpu::tensor_cores::rungs::{CudaRung, CudaTiles};
use matmul::Shape;

#[test]
fn every_choice_of_tiles_fits_the_kernel_and_the_gpu() {
    for tiles in CudaTiles::ALL {
        let name = tiles.name();
        let threads = tiles.threads();
        assert!((64..=1024).contains(&threads), "{name}");
        // What the kernel asserts: every thread copies as much, in whole rows.
        assert_eq!(tiles.block[0] * 4 % threads, 0, "{name}");
        assert_eq!(tiles.block[1] * 4 % threads, 0, "{name}");
        // 227 KiB are what a multiprocessor of 9.0 has for its blocks, which need 1 KiB each for themselves.
        assert!(tiles.blocks_per_sm * (tiles.shared_bytes() + 1024) <= 228 * 1024, "{name}");
        // Sums alone must leave room in the registers that so many blocks leave for a thread.
        let registers = (65536 / (threads * tiles.blocks_per_sm)).min(255);
        assert!(tiles.thread[0] * tiles.thread[1] * 3 / 2 <= registers, "{name}: {registers}");
    }
    let names: std::collections::HashSet<_> =
        CudaTiles::ALL.map(CudaTiles::name).into_iter().collect();
    assert_eq!(names.len(), CudaTiles::ALL.len());
    // A page quotes some by their names.
    let page = include_str!("../../../../../book/src/02-cpu-gpu/wide-loads.md");
    let quotes = page.split("rung=async_copy").filter_map(|rest| rest.split('}').next());
    let quoted: Vec<_> = quotes.filter_map(|quote| quote.split_once("tiles=")).collect();
    assert!(!quoted.is_empty());
    for (_, rest) in quoted {
        let name = rest.split([' ', '}']).next().unwrap();
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn a_plan_covers_c_and_is_empty_where_c_is() {
    let shape = Shape::new(257, 5, 1025);
    let plan = |rung: CudaRung| rung.plan(shape, 132).unwrap();
    let [async_copy, wmma, wgmma] = CudaRung::ALL.map(plan);
    assert_eq!((async_copy.grid, async_copy.threads), ([3 * 5, 1], 256));
    assert_eq!((wmma.grid, wmma.threads), ([3 * 9, 1], 256));
    assert_eq!((wgmma.grid, wgmma.threads, wgmma.cluster), ([2 * 10, 1], 384, 2));
    // As many clusters as the GPU holds, however large the product; at least one on the smallest GPU.
    let large = Shape::square(8192);
    assert_eq!(CudaRung::Wgmma.plan(large, 132).unwrap().grid, [132, 1]);
    assert_eq!(CudaRung::Wgmma.plan(large, 1).unwrap().grid, [2, 1]);
    // Fewer where the driver says so.
    let fewer = |clusters| CudaRung::Wgmma.plan(large, 132).unwrap().with_at_most(clusters);
    assert_eq!([60, 66, 99, 0].map(|clusters| fewer(clusters).grid[0]), [120, 132, 132, 2]);
    assert_eq!(CudaRung::ALL.map(|rung| rung.depth(0)), [0, 0, 1]);
    assert_eq!(CudaRung::Wgmma.depth(70), 70);
    assert!(wgmma.shared_bytes <= 227 * 1024);
    for rung in CudaRung::ALL {
        assert_eq!(rung.plan(Shape::new(0, 3, 3), 132), None);
        assert_eq!(rung.plan(Shape::new(3, 3, 0), 132), None);
        assert!(rung.plan(Shape::new(3, 0, 3), 132).is_some());
    }
}

#[test]
fn four_numbers_are_copied_at_a_time_only_where_rows_are_aligned() {
    let vector = |k, n| {
        let plan = CudaRung::ALL[0].plan(Shape::new(5, k, n), 1).unwrap();
        plan.options.iter().find(|(name, _)| *name == "VECTOR").unwrap().1.clone()
    };
    assert_eq!([vector(8, 12), vector(6, 12), vector(8, 13)], ["1", "0", "0"]);
}

#[test]
fn an_older_or_newer_gpu_is_told_why_not() {
    for rung in CudaRung::ALL {
        assert!(rung.runs_on((9, 0)).is_ok(), "{}", rung.name());
        assert!(rung.runs_on((7, 5)).unwrap_err().to_string().contains("7.5"));
    }
    assert!(CudaRung::Wmma.runs_on((10, 0)).is_ok());
    assert!(CudaRung::Wgmma.runs_on((10, 0)).unwrap_err().to_string().contains("Hopper"));
    assert_eq!(CudaRung::ALL.map(CudaRung::suffix), ["", "", "a"]);
}
