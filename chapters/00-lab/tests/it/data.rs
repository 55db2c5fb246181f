//! The reader of data sets: good files, and every kind of bad one.

use flate2::{Compression, write::GzEncoder};
use lab::{
    data::{self, Options, Places, Source, Split, drawn, files, idx},
    testing::{Tool, need, put_set},
};
use proptest::prelude::*;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Packs the four files of a set.
fn pack(folder: &Path) {
    for name in files::MNIST.map(|file| file.name) {
        let bytes = fs::read(folder.join(name)).unwrap();
        fs::write(folder.join(format!("{name}.gz")), gzip(&bytes)).unwrap();
        fs::remove_file(folder.join(name)).unwrap();
    }
}

fn small(folder: &Path) -> data::DataSet {
    let set = drawn(30, 20, 5);
    put_set(folder, &set.train, &set.test);
    set
}

fn read(folder: &Path) -> lab::Result<data::DataSet> {
    files::read(folder, &files::MNIST)
}

/// Where to look: in the folder that the reader named, in the cache, nowhere else.
fn places(named: Option<&Path>, cache: &Path) -> Places<'static> {
    Places {
        named: named.map(Path::to_owned),
        cache: Some(cache.to_owned()),
        mirrors: &[],
        published: &files::MNIST,
    }
}

/// What reading `folder` says, which is one line and ends without a stack of causes.
fn complaint(folder: &Path) -> String {
    let text = read(folder).expect_err("it should be refused").to_string();
    assert!(!text.contains('\n') && text.len() < 500, "{text}");
    text
}

#[test]
fn reads_plain_and_packed_files_of_any_count_and_size() {
    let set = drawn(30, 20, 5);
    let odd = Split { images: (0..60).collect(), labels: vec![3; 5], rows: 3, cols: 4 };
    for packed in [false, true] {
        for (train, test) in [(&set.train, &set.test), (&odd, &odd)] {
            let folder = tempfile::tempdir().unwrap();
            put_set(folder.path(), train, test);
            if packed {
                pack(folder.path());
            }
            let read = read(folder.path()).unwrap();
            assert_eq!((&read.train, &read.test), (train, test));
            assert_eq!(read.source, Source::Files(folder.path().to_owned()));
            assert!(read.source.to_string().contains("not the published files"));
        }
    }
}

#[test]
fn the_mnist_crate_reads_files_of_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let set = drawn(60_000, 10_000, 1);
    put_set(folder.path(), &set.train, &set.test);
    let read = read(folder.path()).unwrap();
    assert_eq!((read.train, read.test), (set.train, set.test));
}

#[test]
fn reads_the_names_that_other_sites_use() {
    let folder = tempfile::tempdir().unwrap();
    let set = small(folder.path());
    for file in files::MNIST {
        let other = file.name.replacen("-idx", ".idx", 1);
        fs::rename(folder.path().join(file.name), folder.path().join(other)).unwrap();
    }
    assert_eq!(read(folder.path()).unwrap().train, set.train);
}

#[test]
fn a_missing_folder_or_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    assert!(complaint(&folder.path().join("nowhere")).contains("nowhere is not a folder"));
    small(folder.path());
    fs::remove_file(folder.path().join("t10k-labels-idx1-ubyte")).unwrap();
    assert!(complaint(folder.path()).contains("has neither t10k-labels-idx1-ubyte nor"));
}

/// Reads a small set after `change` has been at one of its files.
fn after(file: usize, packed: bool, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let mut path = folder.path().join(files::MNIST[file].name);
    if packed {
        pack(folder.path());
        path.set_extension("gz");
    }
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let text = complaint(folder.path());
    assert!(text.contains(files::MNIST[file].name), "{text}");
    text
}

#[test]
fn each_kind_of_damage_has_its_sentence() {
    type Change = fn(&mut Vec<u8>);
    let damages: [(usize, Change, &str); 12] = [
        (0, |b| b.truncate(1000), "cut short: its header promises 23536 bytes"),
        (1, |b| b.truncate(20), "cut short"),
        (0, |b| b.truncate(9), "holds 9 bytes"),
        (2, Vec::clear, "holds 0 bytes"),
        (0, |b| b.push(0), "too long"),
        (3, |b| b.extend([1, 2, 3]), "too long"),
        (0, |b| b[3] = 1, "not an IDX file of images"),
        (1, |b| b[..6].copy_from_slice(b"<html>"), "not an IDX file of labels"),
        (2, |b| b[4..16].fill(0xff), "more than this program reads"),
        (2, |b| b[4..8].fill(0), "is empty"),
        (1, |b| *b = idx::write_labels(&[3; 29]), "holds 30 images and"),
        (2, |b| *b = idx::write_images(&[0; 240], 3, 4), "must have the same size"),
    ];
    for (file, change, said) in damages {
        let text = after(file, false, change);
        assert!(text.contains(said), "{text}");
    }
    // EMNIST's letters have such labels: that file is whole.
    let letters = after(1, false, |b| b[12] = 10);
    for said in ["label 10 at index 4", "ten classes"] {
        assert!(letters.contains(said), "{letters}");
    }
    assert!(!letters.contains("get the file again"), "{letters}");
    let half = after(0, true, |b| b.truncate(b.len() / 2));
    assert!(half.contains("not a whole gzip file"), "{half}");
    // One that would fill the memory is not unpacked.
    let bomb = after(0, true, |b| {
        let mut bytes = idx::write_images(&vec![0; 30 * 784], 28, 28);
        bytes.resize(1 << 26, 0);
        *b = gzip(&bytes);
    });
    assert!(bomb.contains("too long"), "{bomb}");
}

/// What a file holds decides, and not its name; a folder in the named one will do.
#[test]
fn files_are_taken_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    let name = files::MNIST[0].name;
    let set = small(folder.path());
    pack(folder.path());
    // Packed without the ending, and not packed with it.
    let packed = fs::read(of(&format!("{name}.gz"))).unwrap();
    fs::rename(of(&format!("{name}.gz")), of(name)).unwrap();
    assert_eq!(read(folder.path()).unwrap().train, set.train);
    fs::remove_file(of(name)).unwrap();
    fs::write(of(&format!("{name}.gz")), idx::write_images(&set.train.images, 28, 28)).unwrap();
    assert_eq!(read(folder.path()).unwrap().train, set.train);
    // A web page in its place.
    for page in ["<!doctype html><p>Not found", "\u{feff}\n <html>Sign in to this network</html>"] {
        fs::write(of(&format!("{name}.gz")), page).unwrap();
        let text = complaint(folder.path());
        assert!(text.contains("not an IDX file") && text.contains("it is a web page"), "{text}");
    }
    // A folder of its own for one file, two folders down; then for two.
    fs::remove_file(of(&format!("{name}.gz"))).unwrap();
    for raw in ["MNIST/raw", "FashionMNIST/raw"] {
        fs::create_dir_all(of(raw)).unwrap();
    }
    fs::write(of("MNIST/raw").join(name), &packed).unwrap();
    assert_eq!(read(folder.path()).unwrap().train, set.train);
    fs::write(of("FashionMNIST/raw").join(name), &packed).unwrap();
    let text = complaint(folder.path());
    assert!(text.contains("in more than one folder") && text.contains("name the folder"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let path = folder.path().join(files::MNIST[0].name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        need::<()>(Tool::System, Err("this user may read everything"));
        return;
    }
    assert!(complaint(folder.path()).contains("ermission denied"));
}

#[test]
fn a_named_folder_wins_and_is_never_replaced_by_something_else() {
    let (named, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let set = small(named.path());
    let find = |named: &Path| data::find(&places(Some(named), cache.path()), &mut |_, _, _| ());
    assert_eq!(find(named.path()).unwrap().train, set.train);
    assert!(find(cache.path()).is_err());
}

#[test]
fn without_data_and_network_digits_are_drawn_and_said_to_be() {
    let cache = tempfile::tempdir().unwrap();
    let places = places(None, cache.path());
    let set = data::find(&places, &mut |_, _, _| ()).unwrap();
    assert_eq!(set.source, Source::Drawn);
    assert!(set.source.to_string().contains("not MNIST"));
    assert_eq!((set.train.len(), set.test.len()), (60_000, 10_000));
    assert_eq!(set.note, None);
    // A damaged cache is also reported.
    fs::write(cache.path().join(files::MNIST[0].name), b"damaged").unwrap();
    let set = data::find(&places, &mut |_, _, _| ()).unwrap();
    assert!(set.note.unwrap().contains("holds 7 bytes"));
}

#[test]
fn options_name_a_folder_before_the_environment() {
    let options = Options { folder: Some(PathBuf::from("/named")), download: false };
    let places = Places::of(&options);
    assert_eq!(places.named, Some(PathBuf::from("/named")));
    assert!(places.mirrors.is_empty());
    assert!(Options::default().download);
    // `load` reads that folder, and says that it is not there.
    assert!(data::load(&options).unwrap_err().to_string().contains("not a folder"));
}

#[test]
fn each_system_has_its_cache_folder() {
    let all = |name: &str| {
        Some(match name {
            "HOME" => "/home/ada".into(),
            "XDG_CACHE_HOME" => "/scratch".into(),
            "LOCALAPPDATA" => "/local".into(),
            _ => return None,
        })
    };
    let none = |_: &str| None;
    let relative = |name: &str| match name {
        "XDG_CACHE_HOME" => Some("cache".into()),
        name => all(name),
    };
    let folder = |text: &str| Some(PathBuf::from(text).join("throughput").join("mnist"));
    assert_eq!(data::cache_folder("linux", all), folder("/scratch"));
    assert_eq!(data::cache_folder("linux", relative), folder("/home/ada/.cache"));
    assert_eq!(data::cache_folder("macos", all), folder("/home/ada/Library/Caches"));
    assert_eq!(data::cache_folder("windows", all), folder("/local"));
    assert_eq!(data::cache_folder("linux", none), None);
}

#[test]
fn a_split_gives_its_images() {
    let split =
        Split { images: vec![0, 51, 102, 153, 204, 255], labels: vec![4, 7], rows: 1, cols: 3 };
    assert_eq!(split.image(1), &[153, 204, 255]);
    let (mean, deviation) = split.mean_and_deviation();
    assert!((mean - 0.5).abs() < 1e-6 && (deviation - 0.341_565).abs() < 1e-5);
    let one = split.first(1);
    assert_eq!((one.images.as_slice(), one.labels.as_slice()), (&[0, 51, 102][..], &[4][..]));
    assert_eq!(split.first(9), split);
    let none = split.first(0);
    assert!(none.is_empty());
    let set = drawn(200, 0, 1).train;
    let sample = set.sample(50, 7);
    assert_eq!((sample.len(), &sample), (50, &set.sample(200, 7).first(50)));
    assert_ne!(sample, set.sample(50, 8));
    // Each image once, with its own label.
    let pairs = |split: &Split| {
        let pair = |i| (split.image(i).to_vec(), split.labels[i]);
        let mut pairs: Vec<_> = (0..split.len()).map(pair).collect();
        pairs.sort();
        pairs
    };
    assert_eq!(pairs(&set.sample(usize::MAX, 7)), pairs(&set));
    assert_eq!(none.mean_and_deviation(), (0.0, 0.0));
}

/// The real files, where `MNIST_DIR` or the cache has them.
#[test]
fn mnist_is_recognised() {
    let places = Places { mirrors: &[], ..Places::of(&Options::default()) };
    let Ok(set) = data::find(&places, &mut |_, _, _| ()) else {
        panic!("MNIST_DIR names a folder without a data set");
    };
    if !matches!(set.source, Source::Mnist(_)) {
        need::<()>(Tool::Mnist, Err("MNIST_DIR names no folder"));
        return;
    }
    assert_eq!((set.train.len(), set.test.len()), (60_000, 10_000));
    assert_eq!(&set.train.labels[..8], &[5, 0, 4, 1, 9, 2, 1, 3]);
    assert_eq!(&set.test.labels[..8], &[7, 2, 1, 0, 4, 1, 4, 9]);
    let (mean, deviation) = set.train.mean_and_deviation();
    assert!((mean - 0.1307).abs() < 1e-4 && (deviation - 0.3081).abs() < 1e-4);
    // One changed pixel, and it is no longer MNIST.
    let mut bytes = idx::write_images(&set.test.images, 28, 28);
    assert!(files::is_published(&bytes, &files::MNIST[2]));
    bytes[5000] ^= 1;
    assert!(!files::is_published(&bytes, &files::MNIST[2]));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = idx::images(&bytes);
        let _ = idx::labels(&bytes);
    }

    #[test]
    fn no_header_makes_the_reader_panic(
        magic in prop_oneof![Just(0x803u32), Just(0x801), any::<u32>()],
        sizes in prop::array::uniform3(prop_oneof![0u32..40, any::<u32>()]),
        rest in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = Vec::from(magic.to_be_bytes());
        for size in sizes {
            bytes.extend(size.to_be_bytes());
        }
        bytes.extend(rest);
        if let Ok((header, range)) = idx::images(&bytes) {
            prop_assert_eq!(header.count * header.rows * header.cols, range.len());
            prop_assert_eq!(header.file_size(), bytes.len() as u64);
        }
        if let Ok(range) = idx::labels(&bytes) {
            prop_assert!(bytes[range].iter().all(|&label| label < 10));
        }
    }

    #[test]
    fn what_is_written_is_read(
        (rows, cols, pixels) in (1usize..9, 1usize..9, 1usize..20).prop_flat_map(|(r, c, n)| {
            (Just(r), Just(c), prop::collection::vec(any::<u8>(), r * c * n))
        }),
        labels in prop::collection::vec(0u8..10, 1..50),
    ) {
        let bytes = idx::write_images(&pixels, rows, cols);
        let (header, range) = idx::images(&bytes).unwrap();
        prop_assert_eq!((header.rows, header.cols), (rows, cols));
        prop_assert_eq!(idx::images_header(&bytes[..16]).unwrap(), header);
        prop_assert_eq!(&bytes[range], &pixels[..]);
        let bytes = idx::write_labels(&labels);
        prop_assert_eq!(idx::labels_header(&bytes[..8]).unwrap(), labels.len());
        prop_assert_eq!(&bytes[idx::labels(&bytes).unwrap()], &labels[..]);
    }
}
