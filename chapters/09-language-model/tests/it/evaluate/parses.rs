use language_model::evaluate::parses::{self, LONGEST, Verdict, closed, first_lines};

fn verdict(text: &str) -> Verdict {
    parses::verdict(text).unwrap()
}

#[test]
fn items_and_statements_are_rust_and_comments_alone_are_not() {
    for text in ["fn main() {}", "use std::fmt;\n//! x", "let x = 5;", "a + b", "struct A;\n"] {
        let wanted = text != "use std::fmt;\n//! x";
        assert_eq!(verdict(text).whole, wanted, "{text}");
    }
    for text in ["", "\n\n", "// only\n//! comments", "fn fn", "let x = ", "}", "\0", "'"] {
        assert_eq!(verdict(text), Verdict::default(), "{text}");
    }
}

#[test]
fn what_is_cut_off_can_be_closed() {
    for (text, wanted) in [
        ("fn a() {\n    if x {\n        b(", "fn a() {\n    if x {\n        b(\n)}}"),
        ("f(\"a{", "f(\"a{\")"),
        ("f(\"a\\\"b(", "f(\"a\\\"b(\")"),
        ("f(\"a\\", "f(\"a\\\\\")"),
        ("f(r#\"a\"b(", "f(r#\"a\"b(\"#)"),
        ("f(br\"a\\", "f(br\"a\\\")"),
        ("[/* ( /* [ ", "[/* ( /* [ */*/]"),
        ("{ // (", "{ // (\n}"),
        ("('(', '\\'', '\\u{7d}', \"}\", b'{'", "('(', '\\'', '\\u{7d}', \"}\", b'{'\n)"),
        ("impl<'a> A<'a> { x: &'a [u8]", "impl<'a> A<'a> { x: &'a [u8]\n}"),
        ("for\"(\" {", "for\"(\" {\n}"),
        ("größe('→', \"🦀", "größe('→', \"🦀\")"),
        (")(", ")(\n)"),
    ] {
        assert_eq!(closed(text), wanted);
    }
    let function = "fn a() {\n    let x = 5;\n    if x > 3 {\n        b();\n";
    assert_eq!(verdict(function), Verdict { whole: false, closed: true });
    // Up to a quarter of the lines may be unfinished.
    let lines = "    b();\n".repeat(6);
    let text = format!("fn a() {{\n{lines}    let y = match\n");
    assert_eq!(verdict(&text), Verdict { whole: false, closed: true });
    let text = format!("fn a() {{\n{lines}    let y = match\n 5 5\n 5 5\n 5 5\n");
    assert_eq!(verdict(&text), Verdict::default());
}

#[test]
fn no_text_is_too_much_for_it() {
    for piece in [
        "(", "[", "{", "!", "&", "-", "*", "<", "||", "if a {", "a(", "/*", "\"\\", "'", "r#",
        "else ",
    ] {
        let text = piece.repeat(LONGEST / piece.len());
        verdict(&text);
    }
    assert_eq!(verdict(&"a;\n".repeat(100_000)), Verdict::default());
    let mut random = lab::random::SplitMix64::new(1);
    let pieces =
        ["{", "}", "(", ")", "\"", "'", "\\", "/*", "*/", "//", "\n", "r#\"", "a", "ß", "b"];
    for _ in 0..300 {
        let text: String = (0..30).map(|_| pieces[random.below(pieces.len())]).collect();
        closed(&text);
        verdict(&text);
    }
}

#[test]
fn lines_are_cut_with_their_ends() {
    assert_eq!(first_lines("a\nb\nc", 2), "a\nb\n");
    assert_eq!(first_lines("a\nb\nc", 3), "a\nb\nc");
    assert_eq!((first_lines("a", 0), first_lines("", 5)), ("", ""));
}
