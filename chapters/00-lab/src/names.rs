//! What a reader names: whole or by its beginning, and a sentence with the nearest names where nothing is meant.

use crate::{Error, Result};
use std::{env, ffi::OsString};

/// So many names are listed whole; of more, the nearest.
const FEW: usize = 10;

/// The place in `names` of the one that is called `name`, or that alone begins with it. Upper case and `_` for `-` are the
/// same name.
///
/// # Errors
/// If there is none or the beginning is that of several, in a sentence with the names: `kind` says what they are.
pub fn named(kind: &str, name: &str, names: &[&str]) -> Result<usize> {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let wanted = plain(name);
    if let Some(at) = names.iter().position(|known| plain(known) == wanted) {
        return Ok(at);
    }
    let begun = |at: &usize| !wanted.is_empty() && plain(names[*at]).starts_with(&wanted);
    let begun: Vec<usize> = (0..names.len()).filter(begun).collect();
    match *begun.as_slice() {
        [at] => return Ok(at),
        [] => {}
        _ => {
            let meant: Vec<&str> = begun.iter().map(|at| names[*at]).collect();
            return Err(Error::Message(format!("`{name}` may be {}", list(&meant, "or"))));
        }
    }
    let mut nearest = names.to_vec();
    if names.len() > FEW {
        let distance = |known: &&str| strsim::damerau_levenshtein(&plain(known), &wanted);
        nearest.sort_by_cached_key(distance);
        nearest.truncate(3);
    }
    let told = match nearest.len() {
        0 => "there is none at all".to_owned(),
        _ if names.len() > FEW => format!("the nearest are {}", list(&nearest, "and")),
        _ => format!("choose {}", list(&nearest, "or")),
    };
    Err(Error::Message(format!("there is no {kind} `{name}`; {told}")))
}

/// A variable of the environment. An empty one is one that is not set.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// [`variable`], where it is text.
pub fn text_of(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// The place of the chapter that `name` means, among folders such as `02-cpu-gpu`: `2`, `02-cpu-gpu`, `cpu_gpu`, or the
/// beginning of one.
///
/// # Errors
/// As [`named`].
pub fn chapter(kind: &str, name: &str, folders: &[&str]) -> Result<usize> {
    let own = name.trim_start_matches(|c: char| c.is_ascii_digit());
    match &name[..name.len() - own.len()] {
        "" => {
            let owns =
                folders.iter().map(|folder| folder.split_once('-').map_or(*folder, |(_, own)| own));
            named(kind, own, &owns.collect::<Vec<_>>())
        }
        number => {
            let padded = format!("{number:0>2}{own}");
            named(kind, &padded, folders).or_else(|_| named(kind, name, folders))
        }
    }
}

/// Words as a sentence has them: `a, b or c`.
fn list(words: &[&str], joint: &str) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} {joint} {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// An enum whose variants have names: `Display` writes a name, `FromStr` takes one or its beginning (see [`named`]), and `ALL`
/// has the variants in their order. `enum Model("model") { Mlp = "mlp" }`: the word in brackets says what they are. A name that a
/// variant had before stands behind a bar and is still read: `Dfdx = "dfdx" | "plain"`.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident($kind:literal) {
        $($(#[$of:meta])* $Variant:ident = $name:literal $(| $old:literal)?,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Enum {
            $($(#[$of])* $Variant,)+
        }

        #[allow(dead_code, reason = "not each of these enums is gone through")]
        impl $Enum {
            /// All of them, in the order of the page.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// Its name: what a reader types, and what records have.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $Enum {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                $($(if text == $old {
                    return Ok(Self::$Variant);
                })?)+
                Ok(Self::ALL[$crate::names::named($kind, text, &Self::ALL.map(Self::name))?])
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A whole name is itself whatever else begins with it; a beginning is one name's, or all whose it is are told;
        /// and what is nobody's beginning gets a sentence with true names.
        #[test]
        fn a_name_is_found_or_names_are_told(
            names in prop::collection::btree_set("[a-c]{1,4}(-[a-c]{1,3})?", 1..14),
            wanted in "[a-cA-C_-]{0,6}",
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let plain = wanted.to_lowercase().replace('_', "-");
            let begun: Vec<&&str> = names.iter().filter(|name| name.starts_with(&plain)).collect();
            match named("thing", &wanted, &names) {
                Ok(at) => prop_assert!(names[at] == plain || begun == [&names[at]]),
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(!names.contains(&plain.as_str()) && (wanted.is_empty() || begun.len() != 1));
                    let told = if begun.is_empty() || wanted.is_empty() { 3 } else { begun.len() };
                    let named = names.iter().filter(|name| error.contains(**name));
                    prop_assert!(named.count() >= names.len().min(told));
                }
            }
        }
    }

    #[test]
    fn a_slip_of_the_finger_names_the_nearest() {
        let many = "mlp cnn rnn resnet linear transformer gpt wide deep tall flat";
        let many: Vec<&str> = many.split(' ').collect();
        let error = named("model", "transfromer", &many).unwrap_err().to_string();
        assert!(
            error.starts_with("there is no model `transfromer`; the nearest are transformer, "),
            "{error}"
        );
        assert_eq!(
            named("model", "x", &many[..2]).unwrap_err().to_string(),
            "there is no model `x`; choose mlp or cnn"
        );
        assert_eq!(named("model", "r", &many).unwrap_err().to_string(), "`r` may be rnn or resnet");
    }
}
