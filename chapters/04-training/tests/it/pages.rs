//! What a model learned from is what it reads: test sets of every kind of images, and pages with all that surrounds a digit.

use image::{GrayImage, Luma, imageops::FilterType};
use lab::data::{self, DataSet, Source, Split, idx::write_images};
use rayon::prelude::*;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex},
};
use training::{Classifier, Config, Model, Settings, Silent, picture, train_on};

static DRAWN: LazyLock<DataSet> = LazyLock::new(|| data::drawn(4000, 300, 3));

/// The drawn digits, each image changed by `change`.
fn changed(name: &str, change: impl Fn(usize, &[u8]) -> Vec<u8>) -> (String, DataSet) {
    let split = |split: &Split| Split {
        images: (0..split.len()).flat_map(|i| change(i, split.image(i))).collect(),
        ..split.clone()
    };
    let [train, test] = [&DRAWN.train, &DRAWN.test].map(split);
    (name.to_owned(), DataSet { train, test, source: Source::Files(name.into()), note: None })
}

fn run_of(data: &DataSet, folder: &Path) -> PathBuf {
    folder.join(data.source.to_string().replace('/', "-"))
}

/// Trains on a set in a folder of its own: the stored model, and how many of the test images it got right.
fn trained(data: &DataSet, folder: &Path) -> (Classifier, usize) {
    let settings = Settings { model: Model::Mlp, epochs: 6, batch: 50, ..Settings::default() };
    let run = run_of(data, folder);
    let config = Config { settings, run: Some(run.clone()), ..Config::default() };
    let accuracy = train_on(&config, data, &mut Silent).unwrap().test_accuracy().unwrap();
    let model = Classifier::load(&run.join("model.safetensors")).unwrap();
    (model, (accuracy * data.test.len() as f64).round() as usize)
}

/// What the model reads in an image of a file, and how sure it is; what is said where it reads nothing.
fn read(model: &Classifier, file: &Path, index: Option<usize>) -> Result<(usize, f64), String> {
    let image = picture::read(file, index, model.form()).map_err(|error| error.to_string())?;
    let digit = model.digits(&image).unwrap()[0];
    Ok((digit, model.probabilities(&image).unwrap()[0][digit]))
}

/// A page of 400×400 with a digit of `side` pixels (its margin included) whose corner is at `at`.
fn page(digit: &[u8], side: u32, at: (i64, i64), [paper, ink]: [u8; 2]) -> GrayImage {
    let digit = GrayImage::from_raw(28, 28, digit.to_vec()).unwrap();
    let cover = image::imageops::resize(&digit, side, side, FilterType::CatmullRom);
    GrayImage::from_fn(400, 400, |x, y| {
        let place = |at: u32, from: i64| u32::try_from(i64::from(at) - from).ok();
        let cover =
            place(x, at.0).zip(place(y, at.1)).and_then(|(x, y)| cover.get_pixel_checked(x, y));
        let cover = cover.map_or(0.0, |level| f32::from(level.0[0]) / 255.0);
        Luma([(f32::from(paper) + cover * (f32::from(ink) - f32::from(paper))) as u8])
    })
}

/// The page with each pixel changed by `change`, which is told where it is.
fn with(page: &GrayImage, change: impl Fn(u32, u32, f32) -> f32) -> GrayImage {
    GrayImage::from_fn(page.width(), page.height(), |x, y| {
        Luma([change(x, y, f32::from(page.get_pixel(x, y).0[0])).clamp(0.0, 255.0) as u8])
    })
}

/// What is around a digit: the level of a pixel, told its column, its row and what it was. The digit is in 120..280.
type Around = fn(f32, f32, f32) -> f32;
const AROUND: [(&str, Around); 32] = [
    ("weak squares", |x, y, l| put((x % 20.0).min(y % 20.0) < 1.0, l * 0.85, l)),
    ("black squares", |x, y, l| put((x % 25.0).min(y % 25.0) < 1.0, 0.0, l)),
    ("light squares", |x, y, l| put((x % 40.0).min(y % 40.0) < 1.0, 200.0, l)),
    ("a frame 1 0", |x, y, l| put(rim(x, y) < 1.0, 0.0, l)),
    ("a frame 12 0", |x, y, l| put(rim(x, y) < 12.0, 0.0, l)),
    ("a frame with a margin", |x, y, l| put((8.0..10.0).contains(&rim(x, y)), 0.0, l)),
    ("a field", |x, y, l| put((70.0..73.0).contains(&rim(x, y)), 20.0, l)),
    ("nested frames", |x, y, l| put([0, 10, 20, 50].contains(&(rim(x, y) as u8)), 0.0, l)),
    ("a box", |x, y, l| put(y > 60.0 && (60.0..63.0).contains(&rim(x, y.max(200.0))), 0.0, l)),
    ("a circle", |x, y, l| put((far(x, y) - 160.0).abs() < 3.0, 20.0, l)),
    ("a line below", |x, y, l| put(rim(x, 200.0) > 90.0 && (312.0..318.0).contains(&y), 20.0, l)),
    ("a short line", |x, y, l| put(rim(x, 200.0) > 150.0 && (312.0..320.0).contains(&y), 20.0, l)),
    ("a thick line", |x, y, l| put(rim(x, 200.0) > 90.0 && (308.0..324.0).contains(&y), 20.0, l)),
    ("a line above", |x, y, l| put(rim(x, 200.0) > 90.0 && (76.0..82.0).contains(&y), 20.0, l)),
    ("a ruled line", |_, y, l| put((330.0..332.0).contains(&y), 60.0, l)),
    ("a dot", |x, y, l| put(f32::hypot(x - 305.0, y - 270.0) < 10.0, 20.0, l)),
    ("a large dot", |x, y, l| put(f32::hypot(x - 315.0, y - 260.0) < 20.0, 20.0, l)),
    ("a strip 3", |x, _, l| put(x < 3.0, 0.0, l)),
    ("a strip 30", |x, _, l| put(x < 30.0, 0.0, l)),
    ("a strip below 30", |_, y, l| put(y >= 370.0, 0.0, l)),
    ("half black", |x, _, l| put(x < 100.0, 0.0, l)),
    ("a wedge of shadow", |x, y, l| put(x + y < 350.0, l * 0.55, l)),
    ("an oblique shadow", |x, y, l| put(x + 0.36 * y < 260.0, l * 0.4, l)),
    ("half in shadow 0.4", |x, _, l| put(x < 200.0, l * 0.4, l)),
    ("an ellipse", |x, y, l| put(f32::hypot((x - 20.0) / 1.3, y - 220.0) < 140.0, l * 0.55, l)),
    ("a large ellipse of shadow", |x, y, l| put(far(x, 1.2 * y) < 180.0, l * 0.55, l)),
    ("a soft shadow", |x, y, l| l * (0.4 + 0.6 * ((x + 0.3 * y - 180.0) / 80.0).clamp(0.0, 1.0))),
    ("a lamp", |x, y, l| l * (0.4 + 0.6 * (-far(x, y).powi(2) / 16000.0).exp())),
    ("a band of shadow", |x, _, l| put((150.0..230.0).contains(&x), l * 0.55, l)),
    ("two shadows", |x, _, l| put(rim(x, 200.0) < 110.0, l * 0.4, l)),
    ("a finger", |x, y, l| put(f32::hypot(x - 220.0, (y - 230.0).min(0.0)) < 35.0, l * 0.4, l)),
    ("grey with a margin", |x, y, l| if rim(x, y) < 20.0 { 255.0 } else { l * 0.7 }),
];

/// This level where it `is`, else the old one.
fn put(is: bool, level: f32, old: f32) -> f32 {
    if is { level } else { old }
}

/// How far a pixel is from the page's border.
fn rim(x: f32, y: f32) -> f32 {
    x.min(y).min(399.0 - x).min(399.0 - y)
}

/// How far it is from the middle.
fn far(x: f32, y: f32) -> f32 {
    f32::hypot(x - 200.0, y - 200.0)
}

/// Pages around a digit, with their names.
fn surroundings(digit: &[u8]) -> Vec<(String, GrayImage)> {
    let plain = page(digit, 224, (88, 88), [255, 20]);
    let around = |(name, change): &(&str, Around)| {
        (name.to_string(), with(&plain, |x, y, level| change(x as f32, y as f32, level)))
    };
    let mut pages: Vec<_> = AROUND.iter().map(around).collect();
    for (name, at, levels) in [
        ("at the edge", -28, [255, 20]),
        ("light on dark", 88, [20, 240]),
        ("pencil", 88, [240, 150]),
        ("weak pencil", 88, [160, 140]),
    ] {
        pages.push((name.to_owned(), page(digit, 224, (at, at), levels)));
    }
    // As a reader's own canvas of 28×28 has it, or one of 30.
    let original = GrayImage::from_raw(28, 28, digit.to_vec()).unwrap();
    let small = image::imageops::resize(&original, 20, 20, FilterType::Triangle);
    for side in [28, 30] {
        let drawn = GrayImage::from_fn(side, side, |x, y| {
            *small.get_pixel_checked(x + 2, y + 2).unwrap_or(&Luma([0]))
        });
        pages.push((format!("light in the corner of {side}"), drawn.clone()));
        pages.push((format!("dark in it {side}"), with(&drawn, |_, _, level| 255.0 - level)));
    }
    pages.insert(0, ("plain".to_owned(), plain));
    pages
}

#[test]
fn an_image_of_an_idx_file_is_read_as_in_training_and_a_page_is_made_like_it() {
    let folder = tempfile::tempdir().unwrap();
    let cross = |at: usize| at % 28 * 28 + at / 28;
    let enlarged = |image: &[u8], at: usize| {
        let from = |p: usize| (p as f32 - 13.5) / 1.6 + 14.0;
        image[from(at / 28) as usize * 28 + from(at % 28) as usize]
    };
    let all = |of: &dyn Fn(usize) -> u8| (0..784).map(of).collect::<Vec<u8>>();
    let noise = |at: usize| (at as u32).wrapping_mul(2_654_435_761).rotate_left(9) as u8 % 60;
    let grey = |i: usize, level: u8| level.max(30 + (i * 7 % 31) as u8);
    let sets = [
        changed("plain", |_, image| image.to_vec()),
        changed("inverted", |_, image| all(&|at| 255 - image[at])),
        changed("enlarged", |_, image| all(&|at| enlarged(image, at))),
        changed("grey", |i, image| all(&|at| grey(i, image[at]))),
        changed("noisy", |i, image| all(&|at| image[at].max(noise(i * 784 + at)))),
        changed("transposed", |_, image| all(&|at| image[cross(at)])),
        changed("mirrored", |_, image| all(&|at| image[at / 28 * 28 + 27 - at % 28])),
    ];
    let mut plain = 0;
    for (name, data) in sets {
        let (model, wanted) = trained(&data, folder.path());
        let file = folder.path().join("images");
        std::fs::write(&file, write_images(&data.test.images, 28, 28)).unwrap();
        let right = |i: usize, read: (usize, f64)| read.0 == usize::from(data.test.labels[i]);
        let found = (0..300).filter(|i| right(*i, read(&model, &file, Some(*i)).unwrap())).count();
        assert_eq!(found, wanted, "{name}: of the test images");
        // Pages show digits as people write them, whatever the model learned from.
        let file = folder.path().join("page.png");
        let mut pages = 0;
        for i in 0..60 {
            page(DRAWN.test.image(i), 224, (88, 88), [240, 30]).save(&file).unwrap();
            pages += usize::from(right(i, read(&model, &file, None).unwrap()));
        }
        plain = if name == "plain" { pages } else { plain };
        assert!(
            plain >= 50 && 5 * pages >= 4 * plain,
            "{name}: {pages} of 60 pages, {plain} plain"
        );
        if name == "plain" {
            nothing_sure_and_wrong(&run_of(&data, folder.path()));
        }
    }
}

/// What is around a digit changes what is read nowhere, or is said.
fn nothing_sure_and_wrong(run: &Path) {
    let counts = Mutex::new(BTreeMap::<String, [usize; 3]>::new());
    (0..20).into_par_iter().for_each(|i| {
        let model = Classifier::load(&run.join("model.safetensors")).unwrap();
        let file = run.join(format!("page-{i}.png"));
        let label = usize::from(DRAWN.test.labels[i]);
        let mut plain = None;
        for (name, page) in surroundings(DRAWN.test.image(i)) {
            page.save(&file).unwrap();
            let found = read(&model, &file, None);
            let sure = plain.get_or_insert(found.clone()).as_ref().is_ok_and(|(d, _)| *d == label);
            let kind = match found {
                Ok((digit, _)) if digit == label => 0,
                Err(_) => 1,
                Ok((_, p)) => {
                    assert!(p < 0.9 || !sure, "{name}: image {i} of a {label} is read with {p}");
                    2
                }
            };
            counts.lock().unwrap().entry(name).or_default()[kind] += 1;
        }
        let two = page(DRAWN.test.image(i), 160, (30, 30), [255, 20]);
        let other = |x, y| page(DRAWN.test.image(i + 1), 160, (x, y), [255, 20]);
        // The last is one pixel of the digits' own size to the right of the first's ink.
        let columns = |i: usize| {
            let inked = |x: &i64| (0..28).any(|y| DRAWN.test.image(i)[y * 28 + *x as usize] > 40);
            (0..28).filter(inked).collect::<Vec<_>>()
        };
        let near = 30 + (columns(i)[columns(i).len() - 1] + 2 - columns(i + 1)[0]) * 160 / 28;
        for (x, y) in [(200, 30), (180, 35), (30, 190), (near, 30)] {
            let other = other(x, y);
            let both = with(&two, |x, y, level| level.min(f32::from(other.get_pixel(x, y).0[0])));
            both.save(&file).unwrap();
            let said = read(&model, &file, None);
            let said = said.expect_err(&format!("two digits at {x}, {y}: image {i}"));
            assert!(said.contains("one digit"), "{said}");
        }
    });
    let counts = counts.into_inner().unwrap();
    let [plain, _, missed] = counts["plain"];
    let near = |[right, _, wrong]: &[usize; 3]| *right + 4 >= plain && *wrong <= missed + 1;
    assert!(counts.values().all(near), "{counts:#?}");
}

#[test]
fn what_is_no_digit_is_refused_and_so_is_a_page_for_a_model_of_other_things() {
    let folder = tempfile::tempdir().unwrap();
    let model = Classifier::random(Model::Linear, 1).unwrap();
    let file = folder.path().join("page.png");
    let said = |model: &Classifier, page: GrayImage| {
        page.save(&file).unwrap();
        read(model, &file, None).expect_err("it is read")
    };
    let block = |x: u32, y: u32| (150..270).contains(&x) && (160..250).contains(&y);
    let paper = |ink: &dyn Fn(u32, u32) -> bool| {
        GrayImage::from_fn(400, 400, |x, y| Luma([if ink(x, y) { 20 } else { 250 }]))
    };
    assert!(said(&model, paper(&block)).contains("a block of 120×90 pixels"));
    assert!(said(&model, paper(&|x, y| x % 80 < 10 && (100..300).contains(&y))).contains("pieces"));
    assert!(
        said(&model, paper(&|x, y| (30..370).contains(&x) && (190..200).contains(&y)))
            .contains("wider")
    );
    assert!(said(&model, paper(&|x, _| x < 170)).contains("no ink"));
    assert!(said(&model, paper(&|x, y| rim(x as f32, y as f32) > 50.0)).contains("a block"));
    assert!(said(&model, paper(&|x, y| x % 25 == 0 || y % 25 == 0)).contains("border"));
    // Classes by texture: nothing that a pen could write.
    let stripe = |i: usize, at: usize| if (at / (1 + i % 10)).is_multiple_of(2) { 200 } else { 9 };
    let image = |i: usize| (0..784).map(move |at| stripe(i, at));
    let split = |count: usize| Split {
        images: (0..count).flat_map(image).collect(),
        labels: (0..count).map(|i| (i % 10) as u8).collect(),
        rows: 28,
        cols: 28,
    };
    let source = Source::Files("stripes".into());
    let stripes = DataSet { train: split(600), test: split(50), source, note: None };
    let (model, _) = trained(&stripes, folder.path());
    let one = page(DRAWN.test.image(0), 224, (88, 88), [255, 20]);
    assert!(said(&model, one).contains("stripes"));
    let own = GrayImage::from_raw(28, 28, stripes.test.image(3).to_vec()).unwrap();
    own.save(&file).unwrap();
    read(&model, &file, None).expect("an image like those");
}

/// Counts its warnings.
#[derive(Default)]
struct Warned(Vec<String>);

impl training::Watcher for Warned {
    fn warn(&mut self, words: &str) {
        self.0.push(words.to_owned());
    }
}

#[test]
fn the_order_of_the_files_is_no_trap_and_missing_classes_are_named() {
    // Sorted by label, as files that people make often are.
    let sorted = |split: &Split| {
        let mut order: Vec<usize> = (0..split.len()).collect();
        order.sort_by_key(|i| split.labels[*i]);
        Split {
            images: order.iter().flat_map(|i| split.image(*i).to_vec()).collect(),
            labels: order.iter().map(|i| split.labels[*i]).collect(),
            ..*split
        }
    };
    let data = DataSet { train: sorted(&DRAWN.train), ..DRAWN.clone() };
    let settings = Settings { model: Model::Mlp, epochs: 3, batch: 50, ..Settings::default() };
    let run = |settings: Settings, data: &DataSet| {
        let mut warned = Warned::default();
        let outcome =
            train_on(&Config { settings, ..Config::default() }, data, &mut warned).unwrap();
        (outcome, warned.0)
    };
    for part in [
        Settings { limit: Some(1000), epochs: 8, ..settings.clone() },
        Settings { patience: Some(2), ..settings.clone() },
        Settings { limit: Some(2000), patience: Some(2), ..settings.clone() },
    ] {
        let (outcome, warned) = run(part, &data);
        assert!(outcome.test_accuracy() > Some(0.6), "{:?}", outcome.test_accuracy());
        assert!(warned.is_empty(), "{warned:?}");
    }
    // Without 8 and 9 in training and 0 in the test.
    let without = |split: &Split, but: &[u8]| {
        let kept = || (0..split.len()).filter(|i| !but.contains(&split.labels[*i]));
        Split {
            images: kept().flat_map(|i| split.image(i).to_vec()).collect(),
            labels: kept().map(|i| split.labels[i]).collect(),
            ..*split
        }
    };
    let train = without(&DRAWN.train, &[8, 9]);
    let data = DataSet { train, test: without(&DRAWN.test, &[0]), ..DRAWN.clone() };
    let (patience, limit) = (Some(2), Some(99_999));
    let (_, warned) = run(Settings { patience, limit, epochs: 1, ..settings }, &data);
    let named = [
        "--limit 99999 takes all of the ",
        "training images is of class 8 or 9",
        "validation images is of class 8 or 9",
        "test images is of class 0",
    ];
    assert_eq!(warned.len(), 4, "{warned:?}");
    assert!(warned.iter().zip(named).all(|(words, named)| words.contains(named)), "{warned:?}");
}

#[test]
fn data_that_can_not_be_right_gets_a_sentence() {
    let of = |split: &Split, change: fn(&u8) -> u8| Split {
        images: split.images.iter().map(change).collect(),
        labels: split.labels.clone(),
        ..*split
    };
    let (train, test) = (&DRAWN.train.first(600), &DRAWN.test.first(200));
    let negative = |level: &u8| 255 - level;
    let (light, black) = (&of(train, negative), |_: &u8| 0);
    for (train, test, patience, wanted) in [
        (train, test, None, ""),
        (train, &of(test, |level| level / 2 + 60), None, ""),
        (light, &of(test, negative), Some(1), ""),
        (
            train,
            &of(test, negative),
            None,
            "the test images are light and the training images dark",
        ),
        (light, test, None, "the test images are dark and the training images light"),
        (train, &train.first(150), None, "150 of the 150 test images are training images"),
        (&of(train, black), test, None, "each of the 600 training images has the same level"),
        (&of(train, |_| 255), test, Some(1), "each of the 500 training images has the same level"),
        (train, &of(test, black), None, "each of the 200 test images has the same level"),
    ] {
        let data = DataSet { train: train.clone(), test: test.clone(), ..DRAWN.clone() };
        let linear = Settings { model: Model::Linear, epochs: 1, ..Settings::default() };
        let settings = Settings { patience, ..linear };
        let mut warned = Warned::default();
        let end = train_on(&Config { settings, ..Config::default() }, &data, &mut warned);
        let said = end.map_or_else(|error| error.to_string(), |_| warned.0.join("\n"));
        assert!(said.starts_with(wanted) && said.lines().count() == wanted.len().min(1), "{said}");
    }
}
