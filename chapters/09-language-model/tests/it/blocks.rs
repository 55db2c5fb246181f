use language_model::blocks::{Grid, each, scratch, tasks};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn every_task_is_done_once() {
    for (threads, count) in [(1, 0), (1, 3), (2, 1), (3, 100)] {
        let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        tasks(threads, count, |task| {
            done[task].fetch_add(1, Relaxed);
        });
        assert!(done.iter().all(|times| times.load(Relaxed) == 1));
    }
}

#[test]
fn pieces_are_those_of_chunks() {
    let (mut a, mut b) = (vec![0.0; 23], vec![0.0; 10]);
    each(3, [Grid::pieces(&mut a, 5), Grid::pieces(&mut b, 2)], |task, [mut a, mut b]| {
        a.values().fill(task as f32);
        b.values()[1] = task as f32;
    });
    assert_eq!(&a[3..11], [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
    assert_eq!((a[22], b[9], b[8]), (4.0, 4.0, 0.0));
    each(2, [Grid::pieces(&mut [], 5)], |_, _| unreachable!("there are none"));
}

#[test]
fn blocks_cover_a_matrix() {
    // Two sequences of three tokens, two heads of two values: 6 rows of queries, keys and values.
    let mut data = vec![0.0; 6 * 12];
    each(2, [Grid::triples(&mut data, 3, 2, 2)], |task, [mut block]| {
        for (row, part) in (0..3).flat_map(|row| (0..3).map(move |part| (row, part))) {
            for value in block.row(row, part) {
                *value += (1 + task + 10 * part + 100 * row) as f32;
            }
        }
    });
    let row = |at: usize| &data[at * 12..(at + 1) * 12];
    assert_eq!(row(0), [1., 1., 2., 2., 11., 11., 12., 12., 21., 21., 22., 22.]);
    assert_eq!(row(5), [203., 203., 204., 204., 213., 213., 214., 214., 223., 223., 224., 224.]);
}

#[test]
fn scratch_can_be_asked_for_inside() {
    let sum: f32 = scratch(3, |outer| {
        outer.fill(1.0);
        scratch(5, |inner| inner.fill(9.0));
        outer.iter().sum()
    });
    assert_eq!(sum, 3.0);
}
