//! Elements of the book's scripts in a notebook, which runs none.

use crate::markdown::code_ranges;

/// `text` without the lines that are the tag of an element of the book's scripts (its name has a hyphen):
/// the content of such an element is for readers without them.
pub(super) fn without(text: &str) -> String {
    let code = code_ranges(text);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let tag = line.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let name = tag.map(|tag| tag.trim_start_matches('/').split(' ').next().unwrap_or(""));
        let own = name.is_some_and(|name| {
            name.contains('-') && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        });
        if !own
            || name.is_some_and(|name| name.starts_with('-'))
            || code.iter().any(|code| code.range.contains(&start))
        {
            out.push_str(line);
        }
    }
    out
}
