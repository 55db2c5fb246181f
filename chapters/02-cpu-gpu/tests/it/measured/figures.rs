use cpu_gpu::measured::figures::figures;
use lab::{Drawing, testing};

#[test]
fn every_picture_is_drawn_and_its_numbers_are_those_of_the_kernels() {
    for (figure, words) in figures().iter().zip([
        &["4 for a stride of 1", "32 for a stride of 8"][..],
        &["Of 768 lane slots"],
        &["serves 32 lanes", "serves more than 1."],
        &["naive A 32, naive B 1, coalesced A 1, coalesced B 4"],
    ]) {
        let Drawing { svg, caption, alt, .. } = (figure.draw)(&testing::unmeasured()).unwrap();
        assert!(svg.starts_with("<svg"), "{}", figure.key);
        assert!(!svg.contains("\n\n") && !svg.contains("NaN"), "{}", figure.key);
        assert!(caption.ends_with('.') && alt.ends_with('.'), "{}", figure.key);
        assert!(words.iter().all(|words| caption.contains(words)), "{caption}");
    }
}
