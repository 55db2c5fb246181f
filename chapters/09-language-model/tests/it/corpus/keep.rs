use language_model::corpus::keep::{Reason, left_out};

#[test]
fn each_rule_has_its_reason() {
    let code = "//! Some code.\n\nfn main() {\n    println!(\"{}\", 12);\n}\n";
    let of = |krate: &str, text: &str| left_out(krate, "MIT", text.as_bytes());
    assert_eq!(of("some", code), None);
    assert_eq!(left_out("some", "MPL-2.0", code.as_bytes()), Some(Reason::Licence));
    assert_eq!(of("some-sys", code), Some(Reason::Bindings));
    assert_eq!(of("libc", code), Some(Reason::Bindings));
    assert_eq!(of("some", " \n\t\n"), Some(Reason::Empty));
    assert_eq!(of("some", ""), Some(Reason::Empty));
    assert_eq!(left_out("some", "MIT", b"fn \xff"), Some(Reason::NotText));
    assert_eq!(of("some", "fn a() {}\0"), Some(Reason::NotText));
    assert_eq!(of("some", &code.repeat(10_000)), Some(Reason::Large));
    assert_eq!(of("some", &format!("// {}", "x".repeat(2000))), Some(Reason::LongLine));
    assert_eq!(
        of("some", &format!("// This file is AUTO-GENERATED.\n{code}")),
        Some(Reason::Generated)
    );
    // Far below it is the name of something.
    assert_eq!(of("some", &format!("{}// @generated\n", code.repeat(9))), None);
    assert_eq!(of("some", &"    0x1234, 0x5678,\n".repeat(30)), Some(Reason::Table));
    assert_eq!(of("some", &"pub const SOME_NAME: T = T::new();\n".repeat(30)), Some(Reason::Table));
    assert_eq!(of("some", "const A: u8 = 1;\n"), None);
    assert_eq!(of("some", &"x".repeat(2 << 20)), Some(Reason::Large));
}

#[test]
fn names_are_those_of_all_reasons() {
    let mut names = Reason::ALL.map(Reason::name).to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Reason::ALL.len());
}
