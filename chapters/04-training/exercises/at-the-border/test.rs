//! The test of the exercise `at-the-border`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Labels, Refused, Rows, hits};

#[test]
fn good_values_come_in() {
    let images = Rows::<2>::images(&[0.0, 0.25, 1.0, 0.5]).expect("two good images");
    assert_eq!(images.rows(), [[0.0, 0.25], [1.0, 0.5]]);
    assert!(Labels::<10>::new((0..10).collect()).is_ok());
    assert!(Rows::<784>::images(&[]).is_ok(), "no image at all");
}

#[test]
fn an_incomplete_image_is_refused() {
    // One of 32×32 pixels is no whole number of images of 28×28.
    for pixels in [1, 784 * 3 - 1, 1024] {
        let found = Rows::<784>::images(&vec![0.5; pixels]).err();
        assert_eq!(found, Some(Refused::Incomplete), "{pixels} pixels");
    }
}

#[test]
fn pixels_that_were_not_divided_by_255_are_refused() {
    assert_eq!(Rows::<2>::images(&[0.0, 1.0, 0.5, 200.0]), Err(Refused::Pixel(3)));
    assert_eq!(Rows::<2>::images(&[0.0, -0.1, 0.5, 2.0]), Err(Refused::Pixel(1)), "the first");
    for no_pixel in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(Rows::<1>::images(&[0.5, no_pixel]), Err(Refused::Pixel(1)), "{no_pixel}");
    }
}

#[test]
fn a_label_without_a_class_is_refused() {
    assert_eq!(Labels::<10>::new(vec![3, 9, 10, 12]), Err(Refused::Label(2)));
    assert_eq!(Labels::<5>::new(vec![5]), Err(Refused::Label(0)), "classes count from 0");
    assert!(Labels::<5>::new(vec![4]).is_ok());
}

#[test]
fn a_missing_label_is_an_error() {
    let scores = Rows::<3>::scores(vec![[0.1, 0.7, 0.2], [5.0, -1.0, 2.0], [0.0, 1.0, 2.0]]);
    let count = |labels: &[u8]| hits(&scores, &Labels::new(labels.to_vec())?);
    assert_eq!([count(&[1, 0, 2]), count(&[1, 2, 0])], [Ok(3), Ok(1)]);
    assert_eq!(count(&[1, 0]), Err(Refused::Lengths(3, 2)));
    assert_eq!(count(&[1, 0, 2, 2]), Err(Refused::Lengths(3, 4)));
    assert_eq!(count(&[1, 0, 3]), Err(Refused::Label(2)));
}
