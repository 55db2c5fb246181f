//! A verdict: `{{#verdict ✔ RULE [@MACHINE]}}`, by the records of that machine or of the first reference machine that has
//! what the rule compares, whatever machine the reader chooses.
//!
//! The page says how it comes out, `✔`, `✗` or, where no reference machine has measured it, `○`: the sentence beside it is
//! written for that. Where the records say otherwise, the build stops.

use super::{
    fences::key,
    machine::{is_reference, run_place},
    quotes::{Found, Quotes},
};
use crate::{html, page::Flavour};
use anyhow::{Result, bail};
use lab::fence::Rule;

impl Quotes<'_> {
    /// The mark, with what was compared behind it. `up` leads from the page to the book's root (`../`).
    ///
    /// # Errors
    /// If the rule can't be read, names what no experiment declares, or comes out otherwise than the page says.
    pub fn verdict(self, said: &str, rule: &str, up: &str, flavour: Flavour) -> Result<String> {
        let (rule, on) = rule.rsplit_once(" @").map_or((rule, None), |(rule, on)| (rule, Some(on)));
        self.has_reference(on)?;
        let read = Rule::read(rule, &|name| key(self.chapters, name))?;
        let compared = self.each(&format!("`{rule}`"), |records| read.compare(records))?;
        let first = compared.into_iter().find_map(|(records, found)| match found {
            Found::Yes(all) if is_reference(records) && on.is_none_or(|on| on == records.name) => {
                Some((records, all))
            }
            _ => None,
        });
        let Some((records, all)) = first else {
            if said != "○" && self.records.iter().any(is_reference) {
                bail!("the page says {said}, and no reference machine has measured `{rule}`");
            }
            return Ok(said.to_owned());
        };
        let words: Vec<&str> = all.iter().map(|(_, words)| words.as_str()).collect();
        let words = format!("On {}: {}", records.name, words.join("; "));
        let holding = all.iter().filter(|(holds, _)| *holds).count();
        let found = match holding {
            0 => "✗",
            _ if holding == all.len() => "✔",
            _ => bail!("some of it holds and some does not; give each its own verdict. {words}"),
        };
        if found != said {
            bail!(
                "the page says {said}, and by the record it is {found}: change the sentence. {words}"
            );
        }
        let Some(key) = read.key().filter(|_| flavour == Flavour::Html) else {
            return Ok(found.to_owned());
        };
        let (place, words) = (run_place(key.name, records), html::attribute(&words));
        Ok(format!(
            "<a class=\"measured verdict\" href=\"{up}{place}\" title=\"{words}\">{found}</a>"
        ))
    }
}
