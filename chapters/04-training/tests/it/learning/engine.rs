use dfdx::prelude::*;
use lab::data::Split;
use training::{
    learning::engine::{Engine, Resident, gather_on_device},
    models::model::{CLASSES, PIXELS},
};

fn split(images: usize) -> Split {
    Split {
        images: (0..images * PIXELS).map(|i| (i % 251) as u8).collect(),
        labels: (0..images).map(|i| (i % 10) as u8).collect(),
        rows: 28,
        cols: 28,
    }
}

#[test]
fn gathers_the_rows_asked_for() {
    let split = split(20);
    let data = Resident::new(&Cpu::default(), &split).unwrap();
    assert_eq!(data.len(), 20);
    let index = [7, 0, 7, 19];
    let images = data.images(&index).unwrap().as_vec();
    let all = split.scaled();
    for (row, at) in images.chunks_exact(PIXELS).zip(index) {
        assert_eq!(row, &all[at * PIXELS..(at + 1) * PIXELS]);
    }
    assert_eq!(data.labels(&index), [7, 0, 7, 9]);
    let targets = data.targets(&index).unwrap().as_vec();
    for (row, label) in targets.chunks_exact(CLASSES).zip([7, 0, 7, 9]) {
        assert!((0..CLASSES).all(|c| (row[c] > 0.5) == (c == label)), "{row:?}");
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-9, "{row:?}");
    }
}

#[test]
fn both_ways_to_gather_are_equal() {
    let dev = Cpu::default();
    let rows: Vec<f32> = (0..35).map(|i| i as f32).collect();
    let index = [4, 4, 0, 6];
    let kept = <Cpu as Engine>::keep::<5>(&dev, rows.clone()).unwrap();
    let copied: Tensor<(usize, Const<5>), f32, _> = dev.gather(&kept, &index).unwrap();
    let tensor = dev.tensor_from_vec(rows, (7, Const::<5>));
    let gathered = gather_on_device(&dev, &tensor, &index).unwrap();
    assert_eq!(copied.as_vec(), gathered.as_vec());
    assert_eq!(copied.shape().0, 4);
}

#[test]
fn data_that_does_not_fit_is_refused() {
    let dev = Cpu::default();
    let wide = Split { cols: 32, ..split(2) };
    let flat = Split { rows: 14, cols: 56, ..split(2) };
    let short = Split { labels: vec![1], ..split(2) };
    let none = split(0);
    let letter = Split { labels: vec![1, 10], ..split(2) };
    for (bad, said) in
        [(wide, "28×32"), (flat, "14×56"), (short, "1 labels"), (none, "0 labels"), (letter, "10")]
    {
        lab::testing::refused(Resident::new(&dev, &bad), [said]);
    }
}
