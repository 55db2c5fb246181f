use image::{DynamicImage, ImageFormat, Rgba, RgbaImage, codecs::jpeg::JpegEncoder};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use training::runner::form::{Form, SIDE};
use training::runner::{
    grey::bounds,
    picture::{self, ascii},
};
use training::{Result, models::model::PIXELS};

const BOX: usize = 20;

fn read(path: &Path, index: Option<usize>) -> Result<Vec<f32>> {
    picture::read(path, index, &Form::default())
}

/// Drawn digits, from 0 to 1.
fn originals(count: usize) -> Vec<Vec<f32>> {
    let split = lab::data::drawn(count, 0, 5).train;
    split.scaled().chunks_exact(PIXELS).map(<[f32]>::to_vec).collect()
}

/// A digit `times` as large, with its corner at `at`, on a page of `size`: ink covers the paper.
fn pasted(
    digit: &[f32],
    times: u32,
    at: (u32, u32),
    size: (u32, u32),
    [paper, ink]: [[u8; 4]; 2],
) -> RgbaImage {
    RgbaImage::from_fn(size.0, size.1, |x, y| {
        let place = |at: u32, from: u32| at.checked_sub(from).map(|at| (at / times) as usize);
        let cover = match (place(x, at.0), place(y, at.1)) {
            (Some(x), Some(y)) if x < SIDE && y < SIDE => digit[y * SIDE + x],
            _ => 0.0,
        };
        Rgba(std::array::from_fn(|i| {
            (f32::from(paper[i]) * (1.0 - cover) + f32::from(ink[i]) * cover).round() as u8
        }))
    })
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn png(&self, picture: &RgbaImage) -> PathBuf {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
        self.file("digit.png", bytes.get_ref())
    }

    fn jpeg(&self, picture: &RgbaImage, quality: u8) -> PathBuf {
        let mut bytes = Vec::new();
        let picture = DynamicImage::from(picture.clone()).into_rgb8();
        JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&picture).unwrap();
        self.file("digit.jpg", &bytes)
    }

    fn said(&self, name: &str, bytes: &[u8]) -> String {
        said(&self.file(name, bytes), None)
    }
}

fn said(path: &Path, index: Option<usize>) -> String {
    let said = read(path, index).expect_err("it can be read").to_string();
    assert!(said.contains(&path.display().to_string()) && said.lines().count() == 1, "{said}");
    said
}

fn apart(one: &[f32], two: &[f32]) -> f32 {
    one.iter().zip(two).map(|(a, b)| (a - b).abs()).sum::<f32>() / one.len() as f32
}

/// The image is framed as MNIST's are, and looks like its original.
fn is_like(got: &[f32], original: &[f32], most: f32, what: &str) {
    let show = || format!("{what}\n{}\n{}", ascii(got), ascii(original));
    assert_eq!(got.len(), PIXELS);
    assert!(got.iter().all(|level| (0.0..=1.0).contains(level)), "{}", show());
    let inked = (0..PIXELS).filter(|at| got[*at] > 0.0);
    let (columns, rows) = bounds(inked.map(|at| (at % SIDE, at / SIDE)));
    assert_eq!(columns.len().max(rows.len()), BOX, "{}", show());
    let mass: f32 = got.iter().sum();
    for of in [|at: usize| at % SIDE, |at: usize| at / SIDE] {
        let centre: f32 = (0..PIXELS).map(|at| got[at] * (of(at) as f32 + 0.5)).sum();
        assert!((centre / mass - 14.5).abs() < 0.6, "{}", show());
    }
    // Drawn digits may be centred on the pixel before.
    let moved = [0, 1, SIDE, SIDE + 1].map(|by| {
        let moved: Vec<f32> = (0..PIXELS).map(|at| got[(at + by) % PIXELS]).collect();
        apart(&moved, original)
    });
    let apart = moved.into_iter().fold(1.0, f32::min);
    assert!(apart < most, "{apart}: {}", show());
}

const WHITE: [u8; 4] = [255; 4];
const BLACK: [u8; 4] = [0, 0, 0, 255];
const BLUE_PEN: [u8; 4] = [30, 40, 120, 255];
const YELLOW_PAPER: [u8; 4] = [250, 240, 190, 255];
const GLASS: [u8; 4] = [255, 255, 255, 0];

#[test]
fn a_digit_comes_back_from_any_page() {
    let files = Files::new();
    for (i, original) in originals(12).iter().enumerate() {
        for (what, times, at, size, colours) in [
            ("large", 16, (0, 0), (448, 448), [WHITE, BLACK]),
            ("very large", 60, (100, 50), (1900, 1800), [WHITE, BLACK]),
            ("small", 1, (20, 3), (60, 40), [WHITE, BLACK]),
            ("in a corner", 4, (300, 280), (420, 400), [WHITE, BLACK]),
            ("white on black", 5, (10, 60), (300, 200), [BLACK, WHITE]),
            ("a pen on paper", 7, (90, 40), (400, 300), [YELLOW_PAPER, BLUE_PEN]),
            ("ink on glass", 7, (90, 40), (400, 300), [GLASS, BLACK]),
            ("white on glass", 7, (90, 40), (400, 300), [GLASS, WHITE]),
            ("pale", 6, (9, 9), (200, 200), [[180, 180, 180, 255], [120, 120, 120, 255]]),
        ] {
            let page = pasted(original, times, at, size, colours);
            let got = read(&files.png(&page), None).unwrap();
            is_like(&got, original, 0.08, &format!("{i} {what}"));
        }
    }
}

#[test]
fn noise_specks_and_a_lamp_on_one_side_do_not_matter() {
    let files = Files::new();
    for (i, original) in originals(10).iter().enumerate() {
        let mut page = pasted(original, 6, (120, 60), (400, 300), [[210; 4], [50; 4]]);
        for (x, y, pixel) in page.enumerate_pixels_mut() {
            let shade = x as f32 * 0.15 - y as f32 * 0.1 + (x * y * 7 % 13) as f32 - 30.0;
            let speck = x % 97 == 50 && y % 83 == 20;
            let shaded = |grey: u8| if speck { 0 } else { (f32::from(grey) + shade) as u8 };
            let grey = shaded(pixel.0[0]);
            *pixel = Rgba([grey, grey, grey, 255]);
        }
        let got = read(&files.jpeg(&page, 40), None).unwrap();
        is_like(&got, original, 0.06, &format!("{i}"));
    }
}

#[test]
fn a_thin_pen_writes_white_strokes() {
    let ring = |x: u32, y: u32| {
        let far = f32::hypot(x as f32 - 250.0, y as f32 - 200.0);
        Rgba(if (far - 150.0).abs() < 3.0 { BLACK } else { WHITE })
    };
    let page = RgbaImage::from_fn(500, 400, ring);
    let got = read(&Files::new().png(&page), None).unwrap();
    assert!(got.iter().filter(|level| **level > 0.6).count() > 20, "{}", ascii(&got));
    assert!(got[14 * SIDE + 14] == 0.0, "{}", ascii(&got));
}

#[test]
fn what_is_mnist_already_stays_as_it_is() {
    let files = Files::new();
    let original = &originals(1)[0];
    let page = pasted(original, 1, (0, 0), (28, 28), [BLACK, WHITE]);
    assert_eq!(read(&files.png(&page), None).unwrap(), *original);
    // Dark on light it is turned round.
    let page = pasted(original, 1, (0, 0), (28, 28), [WHITE, BLACK]);
    is_like(&read(&files.png(&page), None).unwrap(), original, 0.06, "28 pixels on white");
}

#[test]
fn a_telephone_held_sideways_is_turned_back() {
    let files = Files::new();
    let original = &originals(1)[0];
    let page = pasted(original, 6, (100, 60), (400, 300), [WHITE, BLACK]);
    let lying = image::imageops::rotate270(&page);
    let path = files.jpeg(&lying, 90);
    let plain = std::fs::read(&path).unwrap();
    // An EXIF part with one entry: orientation 6, to be turned by 90 degrees.
    let exif =
        b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let turned = [&plain[..2], exif, &plain[2..]].concat();
    let path = files.file("turned.jpg", &turned);
    is_like(&read(&path, None).unwrap(), original, 0.06, "turned");
    // The same part of a PNG, behind its header, with the bytes of a number in either order.
    let plain = std::fs::read(files.png(&lying)).unwrap();
    for exif in [&exif[10..], b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"]
    {
        let named = [b"eXIf", exif].concat();
        let mut sum = flate2::Crc::new();
        sum.update(&named);
        let [length, sum] = [exif.len() as u32, sum.sum()].map(u32::to_be_bytes);
        let turned = [&plain[..33], &length, &named, &sum, &plain[33..]].concat();
        let path = files.file("turned.png", &turned);
        is_like(&read(&path, None).unwrap(), original, 0.06, "turned");
        // Half of it is no reason to fail otherwise than before.
        for end in 34..34 + named.len() {
            assert!(!files.said("cut.png", &turned[..end]).is_empty());
        }
    }
}

#[test]
fn images_of_an_idx_file_have_a_number() {
    let files = Files::new();
    let split = lab::data::drawn(3, 0, 1).train;
    let header = [0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28];
    let bytes = [&header[..], &split.images].concat();
    let path = files.file("images", &bytes);
    let scaled = split.scaled();
    assert_eq!(read(&path, Some(2)).unwrap(), scaled[2 * PIXELS..]);
    for none in [None, Some(3)] {
        assert!(said(&path, none).contains("from --index 0 to --index 2"));
    }
    let one = files.file("one", &lab::data::idx::write_images(split.image(0), 28, 28));
    assert_eq!(read(&one, None).unwrap(), scaled[..PIXELS]);
    let mut packed = flate2::read::GzEncoder::new(&bytes[..], flate2::Compression::fast());
    let mut gzip = Vec::new();
    packed.read_to_end(&mut gzip).unwrap();
    let path = files.file("images.gz", &gzip);
    assert_eq!(read(&path, Some(1)).unwrap(), scaled[PIXELS..2 * PIXELS]);
    assert!(files.said("cut.gz", &gzip[..gzip.len() / 2]).contains("damaged"));
    assert!(files.said("cut", &bytes[..900]).contains("cut short"));
    let labels = [0, 0, 8, 1, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0];
    assert!(files.said("labels", &labels).contains("not an IDX file of images"));
}

#[test]
fn what_is_no_digit_gets_a_sentence() {
    let files = Files::new();
    assert!(said(&files.0.path().join("none.png"), None).contains("can't be read"));
    assert!(said(files.0.path(), None).contains("not a regular file"));
    assert!(files.said("empty", b"").contains("neither a PNG nor a JPEG"));
    assert!(files.said("a.png", b"a text, not an image").contains("neither a PNG nor a JPEG"));
    assert!(files.said("a.gif", b"GIF89a\x01\0\x01\0\0\0\0;").contains("neither a PNG nor"));
    let original = &originals(1)[0];
    let page = pasted(original, 6, (100, 60), (400, 300), [WHITE, BLACK]);
    for path in [files.png(&page), files.jpeg(&page, 90)] {
        let whole = std::fs::read(&path).unwrap();
        for keep in [whole.len() / 2, 60, 12] {
            assert!(files.said("cut", &whole[..keep]).contains("damaged"), "{keep}");
        }
        assert!(said(&path, Some(1)).contains("--index"));
    }
    let mut wrong = std::fs::read(files.png(&page)).unwrap();
    for byte in wrong.iter_mut().skip(50).step_by(7) {
        *byte ^= 0x5a;
    }
    assert!(files.said("wrong.png", &wrong).contains("damaged"));
}

#[test]
fn a_page_without_ink_gets_a_sentence() {
    let files = Files::new();
    let no_ink = |page: &RgbaImage| {
        for path in [files.png(page), files.jpeg(page, 60)] {
            assert!(said(&path, None).contains("there is no ink in it"));
        }
    };
    no_ink(&RgbaImage::from_pixel(300, 200, Rgba(WHITE)));
    no_ink(&RgbaImage::from_pixel(1, 1, Rgba(BLACK)));
    no_ink(&RgbaImage::from_pixel(28, 28, Rgba(BLACK)));
    no_ink(&RgbaImage::from_fn(200, 300, |x, y| Rgba([200 + (x * y % 9) as u8; 4])));
    no_ink(&RgbaImage::from_fn(300, 300, |x, _| Rgba([(60 + x / 3) as u8; 4])));
    // A screen of dots is not joined to one shape, nor does that take long.
    let began = std::time::Instant::now();
    let dots = |x: u32, y: u32| Rgba(if x % 3 == 1 && y % 3 == 1 { BLACK } else { WHITE });
    let said = said(&files.png(&RgbaImage::from_fn(799, 799, dots)), None);
    assert!(said.contains("there are 70756 pieces of ink"), "{said}");
    assert!(began.elapsed().as_secs() < 4, "{:?}", began.elapsed());
    let mut dusty = RgbaImage::from_pixel(300, 200, Rgba(WHITE));
    dusty.put_pixel(100, 100, Rgba(BLACK));
    no_ink(&dusty);
}

#[test]
fn a_huge_image_is_refused_before_it_is_unpacked() {
    // A PNG's header alone promises 100,000 by 100,000 pixels.
    let mut png =
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\x01\x86\xa0\0\x01\x86\xa0\x08\0\0\0\0".to_vec();
    let mut sum = flate2::Crc::new();
    sum.update(&png[12..]);
    png.extend(sum.sum().to_be_bytes());
    png.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e");
    let said = Files::new().said("huge.png", &png);
    assert!(said.contains("64 million") && said.contains("shrink"), "{said}");
}

#[test]
fn letters_show_the_image() {
    let mut picture = vec![0.0; PIXELS];
    picture[SIDE + 1] = 1.0;
    picture[SIDE + 3] = 0.5;
    let text = ascii(&picture);
    assert_eq!(text.lines().count(), SIDE);
    assert_eq!(text.lines().nth(1), Some("  @@  ++"));
    assert_eq!(text.lines().nth(2), Some(""));
}

#[test]
fn mnist_comes_back_from_a_page() {
    let named = std::env::var_os("MNIST_DIR").ok_or("MNIST_DIR names no folder");
    let Some(_) = lab::testing::need(lab::testing::Tool::Mnist, named) else { return };
    let test = lab::data::load(&lab::data::Options::default()).unwrap().test.first(300);
    let files = Files::new();
    let (mut sum, mut worst, mut refused) = (0.0, 0.0_f32, Vec::new());
    for original in test.scaled().chunks_exact(PIXELS) {
        let page = pasted(original, 7, (100, 50), (400, 300), [YELLOW_PAPER, BLUE_PEN]);
        match read(&files.png(&page), None) {
            Ok(found) => {
                let far = apart(&found, original);
                sum += far;
                worst = worst.max(far);
            }
            Err(error) => refused.push(error.to_string()),
        }
    }
    let mean = sum / (test.len() - refused.len()) as f32;
    assert!(mean < 0.02 && worst < 0.12, "{mean} {worst}");
    // Four of a thousand are half again as wide as they are high, and the bars of two 5s lie far from the rest.
    let known = |said: &String| said.contains("far wider") || said.contains("2 pieces");
    assert!(refused.len() <= 4 && refused.iter().all(known), "{refused:?}");
}
