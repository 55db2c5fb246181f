//! A reader's own image of a digit, made into what the models were trained on.
//!
//! MNIST's images were made from scans: ink bright on dark, the digit scaled into 20×20 pixels with its
//! aspect kept, then placed in 28×28 so that its centre of mass is the centre of the image (`LeCun` et al.,
//! *Gradient-based learning applied to document recognition*, 1998, section III.A). A model that has seen
//! nothing else classifies other images badly, so each one goes the same way first: [`ink`] finds what is
//! written on a page, [`frame`] scales and centres it.

use crate::{Error, Result, models::model::PIXELS};
use flate2::read::MultiGzDecoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use lab::{data::idx, files::open_regular};
use std::{
    io::{Cursor, Read},
    ops::Range,
    path::Path,
};

/// The side of an image that the models read, in pixels.
pub const SIDE: usize = 28;
/// The longer side of the digit in it, in pixels.
pub const BOX: usize = 20;
/// The largest image that is read, in pixels.
const LARGEST: u64 = 64_000_000;
/// The largest file that is read, in bytes: MNIST's training images are a tenth of it.
const LARGEST_FILE: u64 = 512 << 20;
/// A page is shrunk to less than twice this many pixels on its longer side: enough for 20 of them.
const WORKING_SIDE: usize = 400;
/// Ink that differs less than this from the paper is noise; both from 0 to 1.
const CONTRAST: f32 = 0.15;
/// Below this fraction of the full ink a pixel is paper.
const FAINT: f32 = 0.1;
/// A piece of this fraction of the largest one belongs to the digit; smaller ones are specks.
const SPECK: f32 = 1.0 / 15.0;

/// Grey levels of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Grey {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// From 0 (black, or no ink) to 1 (white, or full ink), row by row.
    pub levels: Vec<f32>,
}

/// Reads an image as the 784 values from 0 to 1 that a model takes: a PNG or JPEG file of any size and
/// background, or image `index` (0 if it is `None`) of an IDX file, plain or gzip.
///
/// # Errors
/// [`Error::Damaged`] if the file can't be read, is no image, has no ink in it or is too
/// large.
pub fn read(path: &Path, index: Option<usize>) -> Result<Vec<f32>> {
    let refuse = |why: String| Error::Damaged { path: path.to_owned(), why };
    let bytes = bytes(path).map_err(refuse)?;
    let pages = match (&bytes[..], index) {
        ([0, 0, 8, 1 | 3, ..], _) => vec![of_idx(&bytes, index.unwrap_or(0)).map_err(refuse)?],
        (_, Some(_)) => return Err(refuse("--index is for IDX files, and this is none".into())),
        (_, None) => of_image(&bytes).map_err(refuse)?,
    };
    pages.iter().find_map(digit).ok_or_else(|| {
        refuse("there is no ink in it; write one digit, dark on light or light on dark".into())
    })
}

/// The file's bytes, unpacked if they are packed.
fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |e: std::io::Error| format!("the image can't be read ({e})");
    let file = open_regular(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut bytes);
        let unpacked = MultiGzDecoder::new(&packed[..]).take(LARGEST_FILE + 1);
        let broken = |e| format!("it is damaged ({e}); get the file again");
        { unpacked }.read_to_end(&mut bytes).map_err(broken)?;
    }
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(format!("it has more than {} MiB; is it an image?", LARGEST_FILE >> 20));
    }
    Ok(bytes)
}

/// Image `index` of an IDX file.
fn of_idx(bytes: &[u8], index: usize) -> Result<Grey, String> {
    let (header, data) = idx::images(bytes).map_err(|fault| format!("it {fault}"))?;
    let (width, height) = (header.cols, header.rows);
    let last = header.count - 1;
    if index > last {
        return Err(format!("it has no image {index}; the last one is --index {last}"));
    }
    let greys = &bytes[data][index * width * height..][..width * height];
    Ok(Grey { width, height, levels: greys.iter().map(|grey| f32::from(*grey) / 255.0).collect() })
}

/// A PNG or JPEG on white paper; if parts of it are transparent, also on black paper.
fn of_image(bytes: &[u8]) -> Result<Vec<Grey>, String> {
    let broken = |e| format!("the image is damaged ({e}); save it again");
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|e| broken(e.to_string()))?;
    if reader.format().is_none() {
        return Err("this is neither a PNG nor a JPEG image; convert it to one".into());
    }
    if reader.format() == Some(ImageFormat::Jpeg) && !jpeg_ends(bytes) {
        return Err("the image is damaged (its end is missing); save it again".into());
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(10 * LARGEST); // up to eight bytes a pixel, and some more to unpack them
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|e| match e {
        image::ImageError::Unsupported(_) => {
            "this is neither a PNG nor a JPEG image; convert it to one".into()
        }
        e => broken(e.to_string()),
    })?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > LARGEST {
        return Err(format!(
            "{width}×{height} pixels are more than the {} million that are read; shrink the image first",
            LARGEST / 1_000_000
        ));
    }
    // A telephone stores how it was held next to the pixels.
    let turned = decoder.orientation().map_err(|e| broken(e.to_string()))?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|e| broken(e.to_string()))?;
    picture.apply_orientation(turned);
    let picture = picture.into_luma_alpha8();
    let on = |paper: f32| Grey {
        width: picture.width() as usize,
        height: picture.height() as usize,
        levels: picture
            .pixels()
            .map(|pixel| {
                let [light, cover] = pixel.0.map(|byte| f32::from(byte) / 255.0);
                light * cover + paper * (1.0 - cover)
            })
            .collect(),
    };
    let transparent = picture.pixels().any(|pixel| pixel.0[1] < 255);
    Ok(if transparent { vec![on(1.0), on(0.0)] } else { vec![on(1.0)] })
}

/// Whether a JPEG's end is there: the decoder fills up with grey what is missing.
fn jpeg_ends(bytes: &[u8]) -> bool {
    const SCAN: u8 = 0xda;
    let mut rest = bytes.get(2..).unwrap_or(&[]);
    // Segments before the pixels say how long they are, and may hold a small image with an end of its own.
    while let [0xff, marker, high, low, ..] = rest
        && *marker != SCAN
    {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        rest = rest.get(2 + length..).unwrap_or(&[]);
    }
    rest.windows(2).any(|pair| pair == [0xff, 0xd9])
}

/// A page with one digit as the 784 values that a model takes; `None` if there is no ink on it. A page that
/// is one of MNIST's images by its size and its dark border stays as it is.
pub fn digit(page: &Grey) -> Option<Vec<f32>> {
    let strongest = page.levels.iter().copied().fold(0.0, f32::max);
    if (page.width, page.height) == (SIDE, SIDE)
        && strongest > 0.5
        && median(border(page).map(|(_, _, level)| level).collect()) <= FAINT
    {
        return Some(page.levels.clone());
    }
    frame(&ink(&shrunk(page))?)
}

/// The page with its longer side at most twice [`WORKING_SIDE`]: squares of pixels become their mean.
fn shrunk(page: &Grey) -> Grey {
    let by = (page.width.max(page.height) / WORKING_SIDE).max(1);
    if by == 1 {
        return page.clone();
    }
    let (width, height) = (page.width.div_ceil(by), page.height.div_ceil(by));
    let levels = averaged(page, (0..page.width, 0..page.height), (width, height));
    Grey { width, height, levels }
}

/// Where the pixels of the page's border are, as (-1 to 1, -1 to 1), and their levels.
fn border(page: &Grey) -> impl Iterator<Item = (f32, f32, f32)> {
    let (right, bottom) = (page.width - 1, page.height - 1);
    let place = |at: usize, last: usize| 2.0 * at as f32 / last.max(1) as f32 - 1.0;
    let rows = (0..page.width).flat_map(move |x| [(x, 0), (x, bottom)]);
    let columns = (0..page.height).flat_map(move |y| [(0, y), (right, y)]);
    rows.chain(columns)
        .map(move |(x, y)| (place(x, right), place(y, bottom), page.levels[y * page.width + x]))
}

/// The middle one of some numbers; 0 if there are none.
fn median(mut levels: Vec<f32>) -> f32 {
    levels.sort_by(f32::total_cmp);
    levels.get(levels.len() / 2).copied().unwrap_or(0.0)
}

/// What is written on a page: 0 where there is paper, 1 where there is full
/// ink, and only the digit's pieces; `None` if nothing is written there.
pub fn ink(page: &Grey) -> Option<Grey> {
    let mut ink = evenly_lit(page);
    let split = otsu(&ink.levels);
    let light = |levels: &mut dyn Iterator<Item = f32>| {
        let (lighter, all) = levels
            .fold((0, 0), |(lighter, all), level| (lighter + usize::from(level > split), all + 1));
        lighter as f32 / all as f32
    };
    // The border is paper. If it is half ink, there is less ink than paper.
    let mut paper_is_light = light(&mut border(&ink).map(|(_, _, l)| l));
    if (0.35..=0.65).contains(&paper_is_light) {
        paper_is_light = light(&mut ink.levels.iter().copied());
    }
    let sign = if paper_is_light > 0.5 { -1.0 } else { 1.0 };
    let is_ink = |level: f32| (level > split) == (sign > 0.0);
    let of = |kind| ink.levels.iter().copied().filter(|l| is_ink(*l) == kind).collect();
    let (paper, full) = (median(of(false)), median(of(true)));
    let contrast = sign * (full - paper);
    if contrast < CONTRAST {
        return None;
    }
    let stretched = |level: f32| (sign * (level - paper) / contrast).clamp(0.0, 1.0);
    let split = stretched(split);
    ink.levels.iter_mut().for_each(|level| *level = stretched(*level));
    keep_digit(&mut ink, split).then_some(ink)
}

/// The page without the slope that a lamp on one side leaves on it: a plane through the border's levels.
fn evenly_lit(page: &Grey) -> Grey {
    let middle = median(border(page).map(|(_, _, level)| level).collect());
    // Ink that touches the border must not tilt the plane much.
    let near = |level: f32| (level - middle).clamp(-0.2, 0.2);
    let (mut across, mut down) = ((0.0, 0.0), (0.0, 0.0));
    for (u, v, level) in border(page) {
        across = (across.0 + u * near(level), across.1 + u * u);
        down = (down.0 + v * near(level), down.1 + v * v);
    }
    let slope = |(sum, squares): (f32, f32)| sum / f32::max(squares, 1.0);
    let (across, down) = (slope(across), slope(down));
    let mut flat = page.clone();
    for (y, row) in flat.levels.chunks_exact_mut(page.width).enumerate() {
        let v = 2.0 * y as f32 / (page.height - 1).max(1) as f32 - 1.0;
        for (x, level) in row.iter_mut().enumerate() {
            let u = 2.0 * x as f32 / (page.width - 1).max(1) as f32 - 1.0;
            *level -= across * u + down * v;
        }
    }
    flat
}

/// The level that parts light from dark best: the variance between the two parts is the largest (Otsu,
/// *A threshold selection method from gray-level histograms*, 1979).
fn otsu(levels: &[f32]) -> f32 {
    let mut count = [0.0_f64; 256];
    for level in levels {
        count[(level * 255.0).round().clamp(0.0, 255.0) as usize] += 1.0;
    }
    let total: f64 = count.iter().sum();
    let sum: f64 = count.iter().enumerate().map(|(grey, n)| grey as f64 * n).sum();
    let (mut best, mut below, mut below_sum) = ((0.0, 127.0, 127.0), 0.0, 0.0);
    for (grey, n) in count.iter().enumerate() {
        below += n;
        below_sum += grey as f64 * n;
        let above = total - below;
        if below > 0.0 && above > 0.0 {
            let apart = below_sum / below - (sum - below_sum) / above;
            let between = below * above * apart * apart;
            // Between two heaps all levels are equally good: the middle is the safest.
            if between > best.0 * (1.0 + 1e-9) {
                best = (between, grey as f64, grey as f64);
            } else if between > best.0 * (1.0 - 1e-9) {
                best.2 = grey as f64;
            }
        }
    }
    ((f64::midpoint(best.1, best.2) + 0.5) / 255.0) as f32
}

/// Clears everything but the large pieces of ink above `split` and their soft edges. False if no piece is
/// large enough to be a digit.
fn keep_digit(ink: &mut Grey, split: f32) -> bool {
    let mut pieces = pieces(ink, split);
    let largest = pieces.iter().map(Vec::len).max().unwrap_or(0);
    pieces.retain(|piece| piece.len() as f32 >= SPECK * largest as f32);
    let mut kept: Vec<usize> = pieces.concat();
    let (columns, rows) = bounds(kept.iter().map(|at| (at % ink.width, at / ink.width)));
    let longer = columns.len().max(rows.len());
    if longer < 4.max(ink.width.max(ink.height) / 60) {
        return false;
    }
    let mut stays = vec![false; ink.levels.len()];
    for at in &kept {
        stays[*at] = true;
    }
    // The edge is as soft as one pixel of the result.
    for _ in 0..longer.div_ceil(BOX) {
        let edge = kept.iter().flat_map(|at| around(ink, *at)).collect::<Vec<_>>();
        kept = edge.into_iter().filter(|at| ink.levels[*at] > FAINT).collect();
        kept.retain(|at| !std::mem::replace(&mut stays[*at], true));
    }
    for (level, stays) in ink.levels.iter_mut().zip(&stays) {
        *level *= f32::from(u8::from(*stays));
    }
    true
}

/// The connected pieces above `split`: the offsets of their pixels.
fn pieces(ink: &Grey, split: f32) -> Vec<Vec<usize>> {
    let mut open: Vec<bool> = ink.levels.iter().map(|level| *level > split).collect();
    let mut pieces = Vec::new();
    for start in 0..open.len() {
        if !std::mem::replace(&mut open[start], false) {
            continue;
        }
        let (mut piece, mut next) = (vec![start], 0);
        while let Some(&at) = piece.get(next) {
            next += 1;
            piece.extend(around(ink, at).filter(|near| std::mem::replace(&mut open[*near], false)));
        }
        pieces.push(piece);
    }
    pieces
}

/// The offsets of a pixel and of the up to eight pixels around it.
fn around(ink: &Grey, at: usize) -> impl Iterator<Item = usize> + use<> {
    let (width, height) = (ink.width, ink.height);
    let (x, y) = (at % width, at / width);
    let columns = x.saturating_sub(1)..(x + 2).min(width);
    let rows = y.saturating_sub(1)..(y + 2).min(height);
    rows.flat_map(move |y| columns.clone().map(move |x| y * width + x))
}

/// The columns and the rows that contain all of these pixels.
fn bounds(places: impl Iterator<Item = (usize, usize)>) -> (Range<usize>, Range<usize>) {
    let with = |range: Option<Range<usize>>, at: usize| match range {
        Some(range) => Some(range.start.min(at)..range.end.max(at + 1)),
        None => Some(at..at + 1),
    };
    let (columns, rows) =
        places.fold((None, None), |(columns, rows), (x, y)| (with(columns, x), with(rows, y)));
    (columns.unwrap_or_default(), rows.unwrap_or_default())
}

/// Ink as MNIST frames it: the longer side of its box is 20 pixels, and its
/// centre of mass is in the middle of 28×28. `None` if there is no ink.
pub fn frame(ink: &Grey) -> Option<Vec<f32>> {
    let inked = |at: &usize| ink.levels[*at] > FAINT;
    let places = (0..ink.levels.len()).filter(inked);
    let (columns, rows) = bounds(places.map(|at| (at % ink.width, at / ink.width)));
    let longer = columns.len().max(rows.len());
    if longer == 0 {
        return None;
    }
    let scaled = |side: usize| ((side * BOX) as f32 / longer as f32).round().max(1.0) as usize;
    let (width, height) = (scaled(columns.len()), scaled(rows.len()));
    let small = averaged(ink, (columns, rows), (width, height));
    // A thin pen leaves grey when it is scaled down; MNIST's strokes are white.
    let strongest = small.iter().copied().fold(FAINT, f32::max);
    let mass: f32 = small.iter().sum();
    let mut centre = [0.0, 0.0];
    for (at, level) in small.iter().enumerate() {
        centre[0] += level / mass * ((at % width) as f32 + 0.5);
        centre[1] += level / mass * ((at / width) as f32 + 0.5);
    }
    // In MNIST's files the centre of mass is in pixel 14, counted from 0, of a row and of a column.
    let start = |centre: f32, side: usize| {
        (14.5 - centre).round().clamp(0.0, (SIDE - side) as f32) as usize
    };
    let (left, top) = (start(centre[0], width), start(centre[1], height));
    let mut picture = vec![0.0; PIXELS];
    for (y, row) in small.chunks_exact(width).enumerate() {
        for (x, level) in row.iter().enumerate() {
            picture[(top + y) * SIDE + left + x] = level / strongest;
        }
    }
    Some(picture)
}

/// A part of an image at another size: each new pixel is the mean of the area that it covers.
fn averaged(
    from: &Grey,
    (columns, rows): (Range<usize>, Range<usize>),
    (width, height): (usize, usize),
) -> Vec<f32> {
    let (across, down) = (shares(&columns, width), shares(&rows, height));
    let mut to = Vec::with_capacity(width * height);
    for line in &down {
        for column in &across {
            let mut sum = 0.0;
            for (y, high) in line {
                let row = &from.levels[y * from.width..][..from.width];
                sum += high * column.iter().map(|(x, wide)| wide * row[*x]).sum::<f32>();
            }
            to.push(sum);
        }
    }
    to
}

/// For each of `count` equal parts of a range of pixels: the pixels in it, each with its fraction of the part.
fn shares(range: &Range<usize>, count: usize) -> Vec<Vec<(usize, f32)>> {
    let length = range.len();
    (0..count)
        .map(|part| {
            // In units of 1/count of a pixel all borders are whole numbers.
            let (from, to) = (part * length, (part + 1) * length);
            (from / count..to.div_ceil(count))
                .map(|at| {
                    let inside = to.min((at + 1) * count) - from.max(at * count);
                    (range.start + at, inside as f32 / length as f32)
                })
                .collect()
        })
        .collect()
}

/// An image of 28 columns in letters, two for each pixel: what the model sees, for a terminal.
pub fn ascii(picture: &[f32]) -> String {
    const SHADES: &[u8; 10] = b" .:-=+*#%@";
    let shade = |level: &f32| char::from(SHADES[(level.clamp(0.0, 1.0) * 9.0).round() as usize]);
    let line = |row: &[f32]| {
        let line: String = row.iter().map(shade).flat_map(|shade| [shade, shade]).collect();
        line.trim_end().to_owned() + "\n"
    };
    picture.chunks(SIDE).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgba, RgbaImage, codecs::jpeg::JpegEncoder};
    use std::path::PathBuf;

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
        let exif = b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let turned = [&plain[..2], exif, &plain[2..]].concat();
        let path = files.file("turned.jpg", &turned);
        is_like(&read(&path, None).unwrap(), original, 0.06, "turned");
    }

    #[test]
    fn images_of_an_idx_file_have_a_number() {
        let files = Files::new();
        let split = lab::data::drawn(3, 0, 1).train;
        let header = [0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28];
        let bytes = [&header[..], &split.images].concat();
        let path = files.file("images", &bytes);
        let scaled = split.scaled();
        assert_eq!(read(&path, None).unwrap(), scaled[..PIXELS]);
        assert_eq!(read(&path, Some(2)).unwrap(), scaled[2 * PIXELS..]);
        assert!(said(&path, Some(3)).contains("the last one is --index 2"));
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
        let (mut sum, mut worst) = (0.0, 0.0_f32);
        for original in test.scaled().chunks_exact(PIXELS) {
            let page = pasted(original, 7, (100, 50), (400, 300), [YELLOW_PAPER, BLUE_PEN]);
            let far = apart(&read(&files.png(&page), None).unwrap(), original);
            sum += far;
            worst = worst.max(far);
        }
        let mean = sum / test.len() as f32;
        assert!(mean < 0.02 && worst < 0.12, "{mean} {worst}");
    }
}
