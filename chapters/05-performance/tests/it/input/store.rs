use performance::{
    Error,
    input::store::{Layout, Store, write},
};
use std::path::PathBuf;
use tempfile::TempDir;

/// A set of these records, in a folder of its own.
pub fn stored(all: &[u8], layout: Layout) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set");
    write(&path, all, layout).unwrap();
    (folder, path)
}

fn written(count: usize, layout: Layout) -> (TempDir, PathBuf, Vec<u8>) {
    let all: Vec<u8> = (0..count * layout.record).map(|i| (i * 37 % 251) as u8).collect();
    let (folder, path) = stored(&all, layout);
    (folder, path, all)
}

#[test]
fn what_was_written_is_read() {
    for (count, block) in [(0, 4), (1, 4), (4, 4), (9, 4), (7, 1), (5, 100)] {
        for packed in [false, true] {
            let layout = Layout { record: 11, block, packed };
            let (_folder, path, all) = written(count, layout);
            let mut store = Store::open(&path).unwrap();
            assert_eq!((store.len(), store.blocks()), (count, count.div_ceil(block)));
            assert_eq!((store.layout(), store.is_empty()), (layout, count == 0));
            let mut read = Vec::new();
            for at in (0..store.blocks()).rev() {
                let mut part = Vec::new();
                store.read(at, &mut part).unwrap();
                assert_eq!(part.len(), 11 * store.place(at).1);
                read.splice(0..0, part);
            }
            assert_eq!(read, all);
            assert!(store.read(store.blocks(), &mut read).is_err());
        }
    }
}

#[test]
fn every_cut_and_every_changed_byte_is_one_sentence() {
    for packed in [false, true] {
        let (_folder, path, _) = written(7, Layout { record: 5, block: 3, packed });
        let whole = std::fs::read(&path).unwrap();
        let fails = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let read = |mut store: Store| {
                (0..store.blocks()).try_for_each(|at| store.read(at, &mut Vec::new()))
            };
            let error = Store::open(&path).and_then(read).unwrap_err();
            assert!(matches!(error, Error::Lab(lab::Error::Damaged { .. })), "{error}");
            let text = error.to_string();
            assert!(text.contains("write it again") && !text.contains('\n'), "{text}");
        };
        (0..whole.len()).for_each(|len| fails(&whole[..len]));
        fails(&[&whole[..], &[0]].concat());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fails(&bytes);
        }
    }
}

#[test]
fn layouts_of_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (record, block) in [(0, 3), (5, 0), (4, 3), (usize::MAX, 2)] {
        let layout = Layout { record, block, packed: false };
        assert!(write(&folder.path().join("set"), &[0; 10], layout).is_err(), "{layout:?}");
    }
    assert!(Store::open(&folder.path().join("none")).is_err());
}
