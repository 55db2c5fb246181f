//! Text that goes into a page as HTML: escaped so that neither Markdown nor the browser reads it.

use percent_encoding::percent_decode_str;

/// What Markdown could take for its own.
const MARKS: &str = "*_`[]\\'\"-.~|$!:^{}";

/// A character as an entity.
fn entity(c: char) -> String {
    format!("&#{};", c as u32)
}

/// `text` with what HTML takes for its own as names, and each of `more` as a number; on one line.
fn escaped(text: &str, more: &str) -> String {
    let one = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\n' | '\r' => " ".to_owned(),
        _ if more.contains(c) => entity(c),
        _ => c.to_string(),
    };
    text.chars().map(one).collect()
}

/// `text` between tags. Every character that Markdown could take for its own becomes an entity.
pub fn text(text: &str) -> String {
    escaped(text, &format!("{MARKS}#"))
}

/// `text` inside an attribute's double quotes.
pub fn attribute(text: &str) -> String {
    escaped(text, "|{").replace('"', "&quot;")
}

/// Text as [`text`] has it; one of several lines is code, whose lines and indentation stay.
pub fn lines(words: &str) -> String {
    if !words.contains('\n') {
        return text(words);
    }
    let line = |line: &str| {
        let rest = line.trim_start();
        "&nbsp;".repeat(line.chars().count() - rest.chars().count()) + &text(rest)
    };
    let all: Vec<String> = words.lines().map(line).collect();
    format!("<code class=\"lines\">{}</code>", all.join("<br>"))
}

/// HTML on one line, so that no blank line ends it in Markdown. Text in it must not need its breaks.
pub fn one_line(html: &str) -> String {
    html.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Text of tags and their contents, made safe inside a paragraph of Markdown: what is between tags
/// goes through the same escapes as [`text`], entities stay.
pub fn inline(html: &str) -> String {
    let (mut out, mut tag) = (String::with_capacity(html.len()), false);
    for c in html.chars() {
        match c {
            '<' => tag = true,
            '>' if tag => {
                tag = false;
                out.push(c);
                continue;
            }
            _ => {}
        }
        match c {
            '\n' | '\r' => out.push(' '),
            _ if c == '|' || !tag && MARKS.contains(c) => out += &entity(c),
            _ => out.push(c),
        }
    }
    out
}

/// The path that an address names (RFC 3986, section 2.1): `%41` becomes `A`; `None` if that is not UTF-8. What is no escape
/// stays.
pub fn decoded(text: &str) -> Option<String> {
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

/// An anchor's name: letters, digits, `-` and `_`, in lower case, as mdBook makes them for headings.
pub fn slug(text: &str) -> String {
    text.trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        })
        .collect()
}

/// An anchor for a record's value: `matmul.ladder n=1024` becomes `matmul-ladder-n-1024`.
pub fn value_anchor(name: &str) -> String {
    name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser would read in `html`, through the Markdown parser.
    fn read(markdown: &str) -> Vec<pulldown_cmark::Event<'_>> {
        pulldown_cmark::Parser::new(markdown).collect()
    }

    #[test]
    fn escaped_text_is_text_to_markdown() {
        let wild = "a*b*c `d` [e](f) <g> & \"h\" | i_j_";
        let escaped = text(wild);
        let plain: String = read(&escaped)
            .into_iter()
            .filter_map(|event| match event {
                pulldown_cmark::Event::Text(text) => Some(text.into_string()),
                pulldown_cmark::Event::Start(pulldown_cmark::Tag::Paragraph)
                | pulldown_cmark::Event::End(pulldown_cmark::TagEnd::Paragraph) => None,
                other => panic!("{other:?} in {escaped}"),
            })
            .collect();
        assert_eq!(plain, wild);
    }

    #[test]
    fn attributes_cannot_be_left() {
        let escaped = attribute("\" onclick=\"x|y\">");
        assert!(!escaped.contains(['"', '>', '|']), "{escaped}");
    }

    #[test]
    fn lines_keep_their_breaks_and_indentation() {
        assert_eq!(lines("a < b"), text("a < b"));
        let code = lines("fn a() {\n    b|c;\n}");
        let inside = "fn a() &#123;<br>&nbsp;&nbsp;&nbsp;&nbsp;b&#124;c;<br>&#125;";
        assert_eq!(code, format!("<code class=\"lines\">{inside}</code>"));
    }

    #[test]
    fn one_line_has_no_break_and_loses_no_word() {
        assert_eq!(one_line("<svg>\n\n  <g>\n</g>\n</svg>\n"), "<svg> <g> </g> </svg>");
    }

    #[test]
    fn inline_keeps_tags_and_entities() {
        let html = inline("<mi class=\"a_b\">x</mi><mo>*</mo><mtext>a &lt; b</mtext>");
        assert_eq!(html, "<mi class=\"a_b\">x</mi><mo>&#42;</mo><mtext>a &lt; b</mtext>");
    }

    #[test]
    fn slugs_are_those_of_mdbook() {
        assert_eq!(slug(" Cache line (CPU) "), "cache-line-cpu");
        assert_eq!(value_anchor("matmul.ladder n=1024"), "matmul-ladder-n-1024");
    }
}
