use cpu_gpu::simt::counts::Counts;

#[test]
fn shares_are_what_their_names_say() {
    let mut counts = Counts {
        instructions: 2,
        active_lanes: 48,
        flops: 640,
        load_requests: 1,
        load_sectors: 8,
        store_sectors: 2,
        useful_bytes: 80,
        shared_passes: 7,
        shared_ideal: 3,
        ..Counts::default()
    };
    assert_eq!((counts.moved_bytes(), counts.conflicts()), (320, 4));
    let shares =
        [counts.efficiency(), counts.intensity(), counts.sectors_per_load(), counts.lanes()];
    for (share, wanted) in shares.into_iter().zip([0.25, 2.0, 8.0, 24.0]) {
        assert!((share - wanted).abs() < 1e-12, "{share} is not {wanted}");
    }
    let one = counts;
    counts += one;
    assert_eq!((counts.flops, counts.load_sectors, counts.conflicts()), (1280, 16, 8));
    assert!(Counts::default().efficiency().abs() < 1e-12);
}
