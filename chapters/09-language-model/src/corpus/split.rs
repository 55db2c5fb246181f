//! Which crates are kept for validation.
//!
//! Files of one crate share names, habits and sentences, so a file is no fair test of a model that has learned its
//! neighbours: the split is by crate. `serde` and `serde_derive` are neighbours, too, and so are two versions of a crate.
//! A *family* is all crates whose names begin with the same word.

use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// One part in so many is for validation.
pub const PART: u64 = 20;
/// Of that part, no family has more than one in so many.
pub const LARGEST: u64 = 10;

/// The first word of a crate's name: `serde` of `serde_derive`.
pub fn family(name: &str) -> &str {
    // Names of the workspace's folders begin with a number.
    let start = name.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
    name[start..].find(['-', '_', '.']).map_or(name, |end| &name[..start + end])
}

/// The families for validation: in the order of their names' SHA-256, each that still fits into a twentieth of all bytes,
/// and is at most a tenth of that, so that no crate decides the result alone. If none is, the smallest, unless it is the
/// only one.
pub fn validation<'a>(crates: impl Iterator<Item = (&'a str, u64)>) -> BTreeSet<String> {
    let mut families = BTreeMap::<&str, u64>::new();
    for (name, bytes) in crates.filter(|(_, bytes)| *bytes > 0) {
        *families.entry(family(name)).or_default() += bytes;
    }
    // ANCHOR: aside
    let room = families.values().sum::<u64>() / PART;
    let mut order: Vec<(&str, u64)> = families.into_iter().collect();
    order.sort_by_cached_key(|(name, _)| Sha256::digest(name));
    let (mut taken, mut aside) = (0, BTreeSet::new());
    for &(name, bytes) in &order {
        if taken + bytes <= room && LARGEST * bytes <= room {
            taken += bytes;
            aside.insert(name.to_owned());
        }
    }
    // ANCHOR_END: aside
    if aside.is_empty() && order.len() > 1 {
        let smallest = order.iter().min_by_key(|(_, bytes)| *bytes);
        aside.extend(smallest.map(|(name, _)| (*name).to_owned()));
    }
    aside
}
