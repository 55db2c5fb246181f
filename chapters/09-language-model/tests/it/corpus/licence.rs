use language_model::corpus::licence::is_permissive;

#[test]
fn an_expression_is_permissive_if_one_way_through_it_is() {
    for yes in [
        "MIT",
        "MIT/Apache-2.0",
        "Apache-2.0 / MIT",
        "Unlicense OR MIT",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
        "(MIT OR (GPL-3.0 AND ISC)) AND Zlib",
    ] {
        assert!(is_permissive(yes), "{yes}");
    }
    for no in [
        "MPL-2.0",
        "GPL-3.0 OR LGPL-2.1",
        "(MPL-2.0 OR GPL-3.0) AND MIT",
        "CDLA-Permissive-2.0",
        "(MIT",
        ")(",
        " ",
    ] {
        assert!(!is_permissive(no), "{no}");
    }
}
