//! The list of experiments: what each shows, where, and which machines have measured it.

use super::words::with_code;
use crate::{
    html,
    mention::Mention,
    quote::{Quotes, machine::run_place, owner},
};
use lab::{Chapter, Experiment};
use std::fmt::Write as _;

/// An experiment's item.
pub(super) fn item(
    experiment: &Experiment,
    chapter: &Chapter,
    quotes: Quotes,
    mentions: &[Mention],
    up: &str,
) -> String {
    let mut out = format!(
        "<span id=\"experiment-{}\"></span>**`{}`**: {}.",
        html::value_anchor(experiment.key),
        experiment.key,
        with_code(experiment.shows)
    );
    if let Some(place) = shown(experiment, chapter, quotes.chapters, mentions) {
        let _ = write!(out, " Shown in {}", place.last(up));
    }
    let full = if experiment.quick { "" } else { " --budget full" };
    let _ = write!(out, " Run: `measure {}{full}`.", experiment.key);
    let measured: Vec<String> = quotes
        .records
        .iter()
        .filter_map(|records| {
            let run = records.runs().find(|run| run.experiment == experiment.key)?;
            let link = format!("[{}]({up}{})", records.name, run_place(experiment.key, records));
            let nothing =
                if run.values.is_empty() { " (nothing that it could measure)" } else { "" };
            Some(link + nothing)
        })
        .collect();
    if measured.is_empty() {
        out.push_str(" Not measured yet.");
    } else {
        let _ = write!(out, " Record: {}.", measured.join(", "));
    }
    out
}

/// The first location that shows what an experiment measured: a figure or a table before a number, and its own
/// chapter before any other.
fn shown<'m>(
    experiment: &Experiment,
    chapter: &Chapter,
    chapters: &[Chapter],
    mentions: &'m [Mention],
) -> Option<&'m Mention> {
    let rank = |mention: &Mention| {
        let key = mention.first();
        let number = match mention.name.as_str() {
            "figure" | "table"
                if owner(chapters, key).is_some_and(|found| found.key == experiment.key) =>
            {
                false
            }
            "measure" if experiment.declared(key).is_some() => true,
            _ => return None,
        };
        Some((!mention.page.starts_with(chapter.folder()), number))
    };
    let ranked = mentions.iter().filter_map(|mention| Some((rank(mention)?, mention)));
    // Of the equally good ones, `min_by_key` takes the first.
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, mention)| mention)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::mentions;
    use lab::{Key, Unit};
    use std::path::Path;

    const X: Key = Key::measured("a.x", Unit::Count, &[]);
    const Y: Key = Key::measured("a.x.y", Unit::Count, &[]);

    #[test]
    fn a_figure_of_the_own_chapter_comes_before_a_number_and_before_other_chapters() {
        let experiments = lab::experiments! {
            quick X.name => &[X], |_| Ok(()), "it";
            quick Y.name => &[Y], |_| Ok(()), "it";
        };
        let chapters =
            [Chapter { experiments, ..Chapter::of(1, "a", "", []) }, Chapter::of(2, "b", "", [])];
        let all = [
            mentions(Path::new("02-b/README.md"), "## Else\n\n{{#table a.x}}\n"),
            mentions(
                Path::new("01-a/README.md"),
                "## Number\n\n{{#measure a.x}}\n\n## Other\n\n{{#figure a.x.y.z}}\n\n## Figure\n\n\
                 {{#figure a.x.part}}\n",
            ),
        ]
        .concat();
        let place = |at: usize| {
            let experiment = &chapters[0].experiments[at];
            shown(experiment, &chapters[0], &chapters, &all).unwrap().heading.clone()
        };
        assert_eq!((place(0).as_str(), place(1).as_str()), ("Figure", "Other"));
    }
}
