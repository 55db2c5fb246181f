use cpu_gpu::simt::memory::{BANKS, Width, passes, sectors, shared_passes};

#[test]
fn sectors_of_patterns_that_can_be_counted_by_hand() {
    for (stride, wanted) in [(0, 1), (1, 4), (2, 8), (4, 16), (8, 32), (32, 32), (1000, 32)] {
        assert_eq!(sectors((0..32).map(|lane| lane * stride)), wanted, "stride {stride}");
    }
    assert_eq!(sectors((0..32).map(|lane| lane + 1)), 5, "one word beyond a boundary");
    assert_eq!(sectors((0..32).rev()), 4, "the order does not matter");
    assert_eq!(sectors((0..32).flat_map(|lane| 4 * lane..4 * lane + 4)), 16, "16 bytes a lane");
    assert_eq!(sectors([]), 0);
}

#[test]
fn passes_follow_the_greatest_common_divisor() {
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    for stride in 1..=33 {
        let got = passes((0..32).map(|lane| lane * stride));
        assert_eq!(got, gcd(stride, BANKS) as u64, "stride {stride}");
    }
    assert_eq!(passes([7; 32]), 1, "a broadcast");
    assert_eq!(passes([7, 39, 7, 39]), 2, "two words of one bank");
    assert_eq!(passes([]), 0);
}

#[test]
fn sixteen_bytes_a_lane_take_four_passes_at_best() {
    let lanes = |stride: usize| (0..32).map(|lane| Some(lane * stride)).collect::<Vec<_>>();
    assert_eq!(shared_passes(&lanes(4), Width::Four), (4, 4));
    assert_eq!(shared_passes(&lanes(0), Width::Four), (2, 2), "a broadcast");
    // Lanes that differ in this bit alone want the same; the others lie side by side.
    let pairs = |bit: usize| -> Vec<Option<usize>> {
        (0..32).map(|lane| Some(4 * (lane / (2 * bit) * bit + lane % bit))).collect()
    };
    assert_eq!(shared_passes(&pairs(1), Width::Four), (2, 2));
    assert_eq!(shared_passes(&pairs(2), Width::Four), (2, 2));
    assert_eq!(shared_passes(&pairs(4), Width::Four), (4, 4));
    assert_eq!(shared_passes(&lanes(32), Width::Four), (32, 4));
    assert_eq!(shared_passes(&lanes(1), Width::One), (1, 1));
    assert_eq!(shared_passes(&[None; 32], Width::Four), (0, 0));
    let mut some = lanes(4);
    some[..8].fill(None);
    assert_eq!(shared_passes(&some, Width::Four), (3, 3));
}
