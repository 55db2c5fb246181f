//! Whether a crate may be used under a permissive licence.

/// Licences that allow any use in return for a notice, or for nothing.
const PERMISSIVE: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression (`MIT OR Apache-2.0`, the older `MIT/Apache-2.0`) can be met by permissive licences alone:
/// one side of each `OR`, both sides of each `AND`. Inner parentheses bind first, then `AND`, then `OR`. What is not
/// understood is not permissive.
///
/// ```
/// use language_model::corpus::licence::is_permissive;
/// assert!(is_permissive("MIT OR GPL-3.0"));
/// assert!(is_permissive("(MIT OR Apache-2.0) AND Unicode-3.0"));
/// assert!(!is_permissive("MPL-2.0") && !is_permissive("MIT AND CC-BY-4.0") && !is_permissive(""));
/// ```
pub fn is_permissive(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    // The innermost parentheses first: they become a licence that is permissive or not.
    if let Some(close) = expression.find(')')
        && let Some(open) = expression[..close].rfind('(')
    {
        let inner = if is_permissive(&expression[open + 1..close]) { "MIT" } else { "not" };
        let (before, after) = (&expression[..open], &expression[close + 1..]);
        return is_permissive(&format!("{before}{inner}{after}"));
    }
    let known = |name: &str| {
        PERMISSIVE.contains(&name.split_whitespace().collect::<Vec<_>>().join(" ").as_str())
    };
    expression.split(" OR ").any(|all| all.split(" AND ").all(known))
}
