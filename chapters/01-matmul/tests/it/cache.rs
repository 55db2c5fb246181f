use matmul::cache::{Cache, Counts, LINE, Memory, Pattern, WAYS};
use matmul::packed::{self, MR, NR};
use matmul::{Shape, blocked, naive, reordered};

/// Two sets of eight lines.
const TINY: usize = 2 * WAYS * LINE;

fn hits(cache: &mut Cache, lines: &[usize]) -> Vec<bool> {
    lines.iter().map(|line| cache.touch(line * LINE)).collect()
}

#[test]
fn least_recently_used_line_of_a_set_goes() {
    let mut cache = Cache::new(TINY);
    // Even lines share a set. Eight of them fill it.
    assert_eq!(hits(&mut cache, &[0, 2, 4, 6, 8, 10, 12, 14]), [false; 8]);
    // 0 is used again, so 16 replaces 2, and then 2 replaces 4.
    assert_eq!(hits(&mut cache, &[0, 16, 0, 2, 4, 6]), [true, false, true, false, false, false]);
    // Odd lines are in the other set and disturb no even one.
    assert_eq!(hits(&mut cache, &[1, 0, 6, 1]), [false, true, true, true]);
}

#[test]
fn line_holds_64_bytes() {
    let mut cache = Cache::new(TINY);
    assert!(!cache.touch(0));
    assert!(cache.touch(63));
    assert!(!cache.touch(64));
}

#[test]
#[should_panic(expected = "power of two of sets")]
fn cache_must_be_whole_sets() {
    let _ = Cache::new(3 * LINE * WAYS);
}

#[test]
fn memory_counts_what_passes() {
    let mut memory = Memory::new(TINY, 4 * TINY);
    let row = memory.matrix(1, 640, |_, j| j as f32);
    assert_eq!(memory.counts(), Counts::default(), "putting a matrix in place is not counted");
    let mut sum = 0.0;
    for _ in 0..2 {
        for j in 0..640 {
            sum += memory.load(row.at(0, j));
        }
    }
    memory.store(row.at(0, 0), 7.0);
    assert_eq!(sum, 640.0 * 639.0);
    // Forty lines: more than the sixteen of the first level, so that every pass fetches all of them again
    // and the store finds the first one gone. The second level keeps all.
    let expected = Counts { loads: 1280, stores: 1, l1_misses: 81, l2_misses: 40 };
    assert_eq!(memory.counts(), expected);
    assert_eq!(memory.values(row)[..2], [7.0, 1.0]);
}

#[test]
fn matrices_start_at_pages_and_do_not_overlap() {
    let mut memory = Memory::default();
    let a = memory.matrix(3, 5, |i, j| (10 * i + j) as f32);
    let b = memory.matrix(2, 2, |_, _| -1.0);
    assert_eq!((a.at(0, 0), b.at(0, 0)), (0, 1024));
    assert_eq!(memory.values(a)[5..10], [10.0, 11.0, 12.0, 13.0, 14.0]);
    assert_eq!(memory.values(b), [-1.0; 4]);
}

/// The traced loops must add in the order of the rung that they model, or round differently.
#[test]
fn traced_loops_give_the_bits_of_their_rungs() {
    let rungs = [naive::multiply, reordered::multiply, blocked::multiply, packed::multiply];
    for (m, k, n) in [(1, 1, 1), (7, 5, 9), (33, 300, 70), (4, 700, 530)] {
        let value = |i: usize, j: usize| ((i * 31 + j * 17) % 97) as f32 / 31.0 - 1.5;
        for (pattern, rung) in Pattern::ALL.into_iter().zip(rungs) {
            let mut memory = Memory::default();
            let a = memory.matrix(m, k, value);
            let b = memory.matrix(k, n, |i, j| value(j, i));
            let c = memory.matrix(m, n, |_, _| f32::NAN);
            let (a_values, b_values) = (memory.values(a).to_vec(), memory.values(b).to_vec());
            pattern.multiply(&mut memory, a, b, c);
            let mut expected = vec![f32::NAN; m * n];
            rung(&mut expected, &a_values, &b_values, Shape::new(m, k, n));
            assert_eq!(memory.values(c), expected, "{pattern:?}, {m}×{k} times {k}×{n}");
        }
    }
}

/// At n = 128 the three matrices, 64 KiB each, are larger than the first level and fit into the second.
#[test]
fn naive_fetches_a_line_for_each_step() {
    let n = 128u64;
    let counts = Pattern::Naive.count(n as usize);
    assert_eq!(counts.loads, 2 * n.pow(3));
    assert_eq!(counts.stores, n * n);
    // Down a column every load is a line of its own, and 128 of them lie in 8 sets of 8 ways.
    assert!(counts.l1_misses > n.pow(3), "{counts:?}");
    assert!(counts.l1_misses < n.pow(3) * 11 / 10, "{counts:?}");
    // Each line once: 3·128²/16.
    assert_eq!(counts.l2_misses, 3 * n * n / 16);
}

#[test]
fn reordered_fetches_one_in_sixteen() {
    let n = 128u64;
    let counts = Pattern::Reordered.count(n as usize);
    // A once for each row of B, B and C in each step.
    assert_eq!(counts.loads, 2 * n.pow(3) + n * n);
    let rows_of_b = n.pow(3) / 16;
    assert!(counts.l1_misses >= rows_of_b, "{counts:?}");
    assert!(counts.l1_misses < rows_of_b * 11 / 10, "{counts:?}");
}

#[test]
fn packed_loads_little_and_misses_less() {
    let n = 128u64;
    let counts = Pattern::Packed.count(n as usize);
    // MR + NR loads for MR·NR steps, C once, and A and B once when they are packed.
    let steps = n.pow(3) * (MR + NR) as u64 / (MR * NR) as u64;
    assert_eq!(counts.loads, steps + 3 * n * n);
    // C is filled and then added to; each block is packed once.
    assert_eq!(counts.stores, 4 * n * n);
    assert!(counts.l1_misses < Pattern::Reordered.count(n as usize).l1_misses, "{counts:?}");
}

/// At n = 512, B is twice as large as the second level; a block of it is a quarter.
#[test]
fn blocks_spare_the_second_level() {
    let n = 512;
    let (whole, blocks) = (Pattern::Reordered.count(n), Pattern::Blocked.count(n));
    assert!(blocks.l2_misses < whole.l2_misses / 4, "{whole:?} {blocks:?}");
}
