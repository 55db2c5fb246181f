use lab::data::drawn;
use training::{
    learning::augment::{Warp, augmented},
    models::model::PIXELS,
};

fn warped(warp: Warp, from: &[u8]) -> Vec<f32> {
    let mut to = vec![0.0; PIXELS];
    warp.apply(from, &mut to);
    to
}

/// Leaves an image as it is.
const NONE: Warp = moves([0.0, 0.0]);

const fn moves(shift: [f32; 2]) -> Warp {
    Warp::new([[1.0, 0.0], [0.0, 1.0]], shift)
}

#[test]
fn nothing_stays_nothing_and_a_shift_is_a_shift() {
    let image = drawn(1, 0, 3).train.images;
    let same: Vec<f32> = image.iter().map(|p| f32::from(*p) / 255.0).collect();
    assert_eq!(warped(NONE, &image), same);
    // The new image looks two to the right and one down: the ink moves left and up.
    let moved = warped(moves([2.0, 1.0]), &image);
    for (y, x) in (0..27).flat_map(|y| (0..26).map(move |x| (y, x))) {
        assert!((moved[y * 28 + x] - same[(y + 1) * 28 + x + 2]).abs() < 1e-6, "{x}, {y}");
    }
    assert!((0..28).all(|y| moved[y * 28 + 27] == 0.0), "paper comes in from outside");
}

#[test]
fn a_quarter_turn_turns() {
    let mut bar = vec![0; PIXELS];
    (6..22).for_each(|x| bar[10 * 28 + x] = 255); // a row
    let turn = Warp::new([[0.0, -1.0], [1.0, 0.0]], [0.0, 0.0]);
    let turned = warped(turn, &bar);
    let column = (0..28).find(|x| turned[14 * 28 + x] > 0.5).unwrap();
    assert!((6..22).all(|y| turned[y * 28 + column] > 0.99));
    assert!((turned.iter().sum::<f32>() - 16.0).abs() < 1e-3, "no ink is lost");
}

#[test]
fn keeps_the_digit_in_the_image() {
    let data = drawn(50, 0, 1).train;
    let index: Vec<usize> = (0..50).collect();
    let batch = augmented(&data.images, &index, 1, 1);
    for (image, to) in index.iter().zip(batch.chunks(PIXELS)) {
        let from = data.image(*image);
        let before: f32 = from.iter().map(|p| f32::from(*p) / 255.0).sum();
        let after: f32 = to.iter().sum();
        assert!((0.7..1.4).contains(&(after / before)), "{after} of {before}");
        assert!(to.iter().all(|p| (0.0..=1.0001).contains(p)));
        assert_ne!(to, warped(NONE, from));
    }
}

#[test]
fn depends_on_seed_epoch_and_image_alone() {
    let warp = Warp::random(1, 2, 3);
    assert_eq!(warp, Warp::random(1, 2, 3));
    for other in [Warp::random(2, 2, 3), Warp::random(1, 3, 3), Warp::random(1, 2, 4)] {
        assert_ne!(warp, other);
    }
    let images = drawn(5, 0, 1).train.images;
    let one = augmented(&images, &[4, 0], 7, 2);
    let two = augmented(&images, &[0, 4], 7, 2);
    assert_eq!(one[..PIXELS], two[PIXELS..]);
}
