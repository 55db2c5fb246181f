use cpu_gpu::simt::occupancy::{Block, Limit, Limits, Occupancy, occupancy};

fn h100(threads: usize, registers: usize, shared: usize) -> Occupancy {
    occupancy(Block { threads, registers, shared }, Limits::of((9, 0)).unwrap())
}

#[test]
fn each_limit_binds_where_it_should() {
    // 65,536 registers over 2,048 threads are 32 for each.
    let full = h100(256, 32, 0);
    assert_eq!((full.blocks, full.warps, full.limit), (8, 64, Limit::Warps));
    assert!((full.share - 1.0).abs() < 1e-12);
    // 33 registers · 32 threads = 1,056, given as 1,280: 12 warps in each part, so six blocks of 8.
    let one_more = h100(256, 33, 0);
    assert_eq!((one_more.blocks, one_more.limit), (6, Limit::Registers));
    // One block less than 32 can't be: 32 blocks of one warp are half of 64.
    let small = h100(32, 16, 0);
    assert_eq!((small.blocks, small.warps, small.limit), (32, 32, Limit::Blocks));
    // 228 KiB over 49 KiB (48 and the system's one).
    let shared = h100(128, 32, 48 * 1024);
    assert_eq!((shared.blocks, shared.limit), (4, Limit::Shared));
    // 128 registers, 256 threads: two blocks.
    assert_eq!(h100(256, 128, 16 * 1024).blocks, 2);
    assert_eq!(h100(256, 255, 0).blocks, 1);
}

#[test]
fn a_part_of_a_warp_takes_the_whole() {
    assert_eq!(h100(33, 32, 0), h100(64, 32, 0));
    assert_eq!(h100(1, 32, 0).warps, h100(32, 32, 0).warps);
}

#[test]
fn generations_differ() {
    let block = Block { threads: 1024, registers: 32, shared: 0 };
    for (capability, blocks) in
        [((8, 0), 2), ((8, 6), 1), ((8, 9), 1), ((9, 0), 2), ((10, 0), 2), ((12, 0), 1)]
    {
        assert_eq!(occupancy(block, Limits::of(capability).unwrap()).blocks, blocks);
    }
    // The smallest blocks, of one warp, fill a quarter to a half of an RTX 30, 40 or 50.
    let warp = Block { threads: 32, registers: 32, shared: 0 };
    for (capability, blocks) in [((8, 6), 16), ((8, 9), 24), ((12, 0), 24)] {
        assert_eq!(occupancy(warp, Limits::of(capability).unwrap()).blocks, blocks);
    }
    assert_eq!(Limits::of((1, 0)), None);
}

#[test]
fn what_asks_for_too_much_does_not_run() {
    for (threads, registers, shared, limit) in [
        (1025, 32, 0, Limit::Warps),
        (32, 256, 0, Limit::Registers),
        (32, 32, 227 * 1024 + 1, Limit::Shared),
    ] {
        let none = h100(threads, registers, shared);
        assert_eq!((none.blocks, none.warps, none.limit), (0, 0, limit));
    }
    assert_eq!(h100(32, 32, 227 * 1024).blocks, 1);
}
