//! A reader's own image of a digit, made into what the model learned from.
//!
//! MNIST's images were made from scans: ink bright on dark, the digit scaled into 20×20 pixels with its
//! aspect kept, then placed in 28×28 so that its centre of mass is the centre of the image (`LeCun` et al.,
//! *Gradient-based learning applied to document recognition*, 1998, section III.A). A model that has seen
//! nothing else classifies other images badly, so each page goes the same way first: [`page::ink`] finds what is
//! written on it, [`Form::frame`] scales and centres it. An image of an IDX file goes in as it is, as in training.

use crate::{
    Error, Result,
    runner::{
        form::{Form, SIDE},
        page::{self, NO_INK},
    },
};
use flate2::read::MultiGzDecoder;
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, metadata::Orientation,
};
use lab::{Unit, data::idx, files::open_regular};
use std::{
    io::{Cursor, Read},
    path::Path,
};

pub use crate::runner::grey::Grey;

/// The largest image that is read, in pixels.
const LARGEST: u64 = 64_000_000;
/// The memory to unpack one, in bytes: up to eight for each pixel, and some more.
const ROOM: u64 = 10 * LARGEST;
/// The largest file that is read, in bytes: MNIST's training images are a tenth of it.
const LARGEST_FILE: u64 = 512 << 20;

/// Reads an image as the 784 values from 0 to 1 of a model's training images, which look like `form`: a PNG or JPEG file
/// of any size and background, or image `index` of an IDX file, plain or gzip, which need not be named where it is the only one.
///
/// # Errors
/// [`lab::Error::Damaged`] if the file can't be read, is no image, is too large, or what it shows can't be one digit.
pub fn read(path: &Path, index: Option<usize>, form: &Form) -> Result<Vec<f32>> {
    let refuse = |why: String| Error::Lab(lab::Error::damaged(path, why));
    let bytes = bytes(path).map_err(refuse)?;
    let pages = match (&bytes[..], index) {
        ([0, 0, 8, 1 | 3, ..], _) => return of_idx(&bytes, index, form).map_err(refuse),
        (_, Some(_)) => return Err(refuse("--index is for IDX files, and this is none".into())),
        (_, None) => of_image(&bytes).map_err(refuse)?,
    };
    let mut said = Vec::new();
    for page in &pages {
        match digit(page, form) {
            Ok(image) => return Ok(image),
            Err(why) => said.push(why),
        }
    }
    Err(refuse(said.into_iter().find(|why| why != NO_INK).unwrap_or(NO_INK.to_owned())))
}

/// A page with one digit as an image of this form; one that has it already stays as it is.
fn digit(page: &Grey, form: &Form) -> Result<Vec<f32>, String> {
    let same_size = (page.height, page.width) == (form.rows, form.cols);
    if form.has(page) || form.turn.is_none() && same_size {
        return Ok(page.levels.clone());
    }
    if form.turn.is_none() {
        return Err(format!(
            "this model learned from images that are not digits as people write them ({}); \
             give it one of {SIDE}×{SIDE} pixels like those",
            form.source
        ));
    }
    form.frame(&page::ink(page)?).ok_or_else(|| NO_INK.to_owned())
}

/// Ink as MNIST frames it: the longer side of its box is 20 pixels, and its
/// centre of mass is in the middle of 28×28. `None` if there is no ink.
pub fn frame(ink: &Grey) -> Option<Vec<f32>> {
    Form::default().frame(ink)
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

/// Image `index` of an IDX file, or the only one, as it is.
fn of_idx(bytes: &[u8], index: Option<usize>, form: &Form) -> Result<Vec<f32>, String> {
    let (header, data) = idx::images(bytes).map_err(|fault| format!("it {fault}"))?;
    let (rows, cols) = (header.rows, header.cols);
    if (rows, cols) != (form.rows, form.cols) {
        return Err(format!(
            "its images have {rows}×{cols} pixels, and the model learned from {}×{}",
            form.rows, form.cols
        ));
    }
    let last = header.count - 1;
    let Some(index) = index.or((last == 0).then_some(0)).filter(|index| *index <= last) else {
        return Err(format!("choose one of its images, from --index 0 to --index {last}"));
    };
    let greys = &bytes[data][index * rows * cols..][..rows * cols];
    Ok(greys.iter().map(|grey| f32::from(*grey) / 255.0).collect())
}

/// A PNG or JPEG on white paper; if parts of it are transparent, also on black paper.
fn of_image(bytes: &[u8]) -> Result<Vec<Grey>, String> {
    let broken = |e| format!("the image is damaged ({e}); save it again");
    let unread = |e| match e {
        ImageError::Limits(_) => {
            let most = Unit::Bytes.format(ROOM as f64);
            format!(
                "to unpack it takes more than the {most} that are given to it; shrink the image first"
            )
        }
        ImageError::Unsupported(_) => {
            "this is neither a PNG nor a JPEG image; convert it to one".to_owned()
        }
        e => broken(e.to_string()),
    };
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
    limits.max_alloc = Some(ROOM);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(unread)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > LARGEST {
        return Err(format!(
            "{width}×{height} pixels are more than the {} million that are read; shrink the image first",
            LARGEST / 1_000_000
        ));
    }
    // A telephone stores how it was held next to the pixels.
    let turned = match turned(bytes) {
        Some(turned) => turned,
        None => decoder.orientation().map_err(unread)?,
    };
    let mut picture = DynamicImage::from_decoder(decoder).map_err(unread)?;
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

/// How a PNG is to be turned, if its EXIF part says so: the decoder looks for that in a JPEG alone.
fn turned(bytes: &[u8]) -> Option<Orientation> {
    let mut rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let exif = loop {
        let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        if rest.get(4..8)? == b"eXIf" {
            break rest.get(8..8 + length)?;
        }
        rest = rest.get(12 + length..)?; // a length, a name, the data, a check sum
    };
    // A TIFF header, whose first two letters say in which order bytes are; then a list of entries.
    let number = |at: usize, bytes: usize| {
        let part = exif.get(at..at + bytes)?;
        let add = |sum: usize, byte: &u8| (sum << 8) | usize::from(*byte);
        let big = match exif.get(..2)? {
            b"MM" => true,
            b"II" => false,
            _ => return None,
        };
        Some(if big { part.iter().fold(0, add) } else { part.iter().rev().fold(0, add) })
    };
    let list = number(4, 4)?;
    let mut entries = (0..number(list, 2)?).map(|entry| list + 2 + 12 * entry);
    let orientation = entries.find(|entry| number(*entry, 2) == Some(0x112))?;
    Orientation::from_exif(number(orientation + 8, 2)?.try_into().ok()?)
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
