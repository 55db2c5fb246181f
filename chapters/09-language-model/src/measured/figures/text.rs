//! The text and its tokens, as tables and a figure.

use crate::{
    corpus::keep::Reason,
    measured::experiments::text::{
        BYTES, CRATES, FILES, KEPT, PEER, PEER_RATE, PER_TOKEN, RACERS, WORK,
    },
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData,
    drawing::{Limits, Lines},
    plot::{Axis, Scale},
    table::{Entry, Grid},
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "language_model.text.vocabulary", draw: draw_vocabulary }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "language_model.text", make: table_text },
        Table { key: "language_model.text.peer", make: table_peer },
    ]
}

fn draw_vocabulary(records: &Records) -> Result<Drawing> {
    let of = |vocabulary: usize| records.text(PER_TOKEN.at(&[("vocabulary", &vocabulary)]));
    let caption = format!(
        "Bytes that a token stands for, in crates from which the tokenizer has not learned: {} with a vocabulary of 1,024, \
         {} with one of 2,048.",
        of(1024)?,
        of(2048)?
    );
    Lines {
        over: "vocabulary",
        x: Axis::new("tokens in the vocabulary", Scale::Log),
        y: Axis::new("bytes a token", Scale::Linear),
        lines: vec![("bytes a token".to_owned(), PER_TOKEN.at(&[]))],
        limits: Limits::None,
        ..Lines::default()
    }
    .draw(records, caption)
}

/// Why a file was left out, in words.
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Licence => "no permissive licence",
        Reason::Bindings => "bindings of another language",
        Reason::Empty => "empty",
        Reason::NotText => "no text",
        Reason::Large => "too large",
        Reason::LongLine => "a line too long",
        Reason::Generated => "written by a program",
        Reason::Table => "a table",
        Reason::Duplicate => "nearly the same as another",
    }
}

fn table_text(records: &Records) -> Result<TableData> {
    let kept = KEPT.into_iter().zip(["to learn from", "to be tested on"]);
    let left_out = Reason::ALL.map(|why| (why.name(), words(why)));
    let rows: Vec<(&str, String)> = kept
        .map(|(part, name)| (part, name.to_owned()))
        .chain(left_out.map(|(part, name)| (part, format!("left out: {name}"))))
        .collect();
    let of = |key: Key| move |(part, _): &(&str, String)| key.at(&[("part", part)]);
    let caption = format!(
        "The text: {} of Rust to learn from, and {} of other crates to be tested on.",
        records.text(BYTES.at(&[("part", &KEPT[0])]))?,
        records.text(BYTES.at(&[("part", &KEPT[1])]))?
    );
    Grid::new(rows)
        .column("files", |(_, name)| name.clone())
        .column("crates", of(CRATES))
        .column("how many", of(FILES))
        .column("bytes", of(BYTES))
        .table(records, caption)
}

fn table_peer(records: &Records) -> Result<TableData> {
    let rate = |who: &'static str| {
        move |(work, _): &(&str, &str)| Entry::OrWhy(PEER_RATE.at(&[("work", work), ("who", &who)]))
    };
    let caption = format!(
        "A tokenizer trained on all threads, and text encoded on one, on {}. Both learn the same merges.",
        records.machine.in_words()
    );
    Grid::new(WORK.into_iter().zip(["training", "encoding"]))
        .column("work", |(_, name)| *name)
        .column("this course", rate(RACERS[0]))
        .column("the library tokenizers", rate(RACERS[1]))
        .column("its time over ours", |(work, _)| Entry::Value(PEER.at(&[("work", work)])))
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::experiments::text::{VOCABULARIES, experiments};
    use lab::{
        Chapter, Part,
        testing::{MadeUp, are_drawn},
    };

    #[test]
    fn every_figure_and_table_is_made_from_records() {
        let mut made = MadeUp::default();
        for part in KEPT.into_iter().chain(Reason::ALL.map(Reason::name)) {
            made.add(BYTES.at(&[("part", &part)]), 3e6).add(FILES.at(&[("part", &part)]), 20.0);
        }
        for part in KEPT {
            made.add(CRATES.at(&[("part", &part)]), 4.0);
        }
        for (size, bytes) in VOCABULARIES.into_iter().zip([1.0, 2.0, 2.5, 3.0, 3.5]) {
            made.add(PER_TOKEN.at(&[("vocabulary", &size)]), bytes);
        }
        for work in WORK {
            made.add(PEER_RATE.at(&[("work", &work), ("who", &RACERS[0])]), 5e7);
            made.skip(PEER_RATE.at(&[("work", &work), ("who", &RACERS[1])]), "it was not built");
            made.skip(PEER.at(&[("work", &work)]), "it was not built");
        }
        let part = Part { experiments: experiments(), ..Part::default() };
        let records = made.records(&Chapter::of(9, "language_model", "A test", [part]));
        are_drawn(&figures(), &tables(), &records);
        let rows = table_text(&records).unwrap().rows;
        assert_eq!(rows.len(), 11);
        assert_eq!(rows[1][..2], ["to be tested on", "4"]);
        assert_eq!(rows[10][..3], ["left out: nearly the same as another", "–", "20"]);
        assert_eq!(table_peer(&records).unwrap().rows[0][2..], ["it was not built", "–"]);
    }
}
