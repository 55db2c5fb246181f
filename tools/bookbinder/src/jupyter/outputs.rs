//! What a cell printed: whether it failed, and what of it is kept.

use crate::{
    directive::diagram::unescaped,
    notebook::{joined, lines},
};
use console::strip_ansi_codes;
use serde_json::{Map, Value, json};
use std::{env, path::Path};

/// What went wrong in a cell: the compiler's message, a panic's, or that of an error behind a `?`.
pub fn failure(outputs: &[Value]) -> Option<String> {
    let errors: Vec<String> = outputs
        .iter()
        .filter(|output| output["output_type"] == "error")
        .map(|output| {
            let lines = output["traceback"].as_array().into_iter().flatten();
            let lines: Vec<_> = lines.filter_map(Value::as_str).map(strip_ansi_codes).collect();
            let value = output["evalue"].as_str().unwrap_or("an error without a message");
            if lines.is_empty() { strip_ansi_codes(value).into_owned() } else { lines.join("\n") }
        })
        .collect();
    (!errors.is_empty()).then(|| errors.join("\n").trim().to_owned())
}

/// The kinds of a result that are kept.
const KINDS: [&str; 4] = ["image/svg+xml", "image/png", "text/html", "text/plain"];

/// Outputs as they are kept: neighbouring prints joined, no colours of a terminal, no numbers that count
/// executions, no paths of this machine.
pub fn tidied(outputs: Vec<Value>, root: &Path) -> Vec<Value> {
    let places = Places::of(root);
    let mut kept: Vec<Value> = Vec::new();
    for output in outputs {
        match output["output_type"].as_str() {
            Some("stream") => print(&mut kept, &output["name"], &places.hidden(&output["text"])),
            Some("execute_result" | "display_data") => {
                kept.extend(result(&output["data"], &places));
            }
            Some("error") => {
                let lines = output["traceback"].as_array().cloned().unwrap_or_default();
                let lines: Vec<String> = lines.iter().map(|line| places.hidden(line)).collect();
                kept.push(json!({
                    "ename": places.hidden(&output["ename"]), "evalue": places.hidden(&output["evalue"]),
                    "output_type": "error", "traceback": lines,
                }));
            }
            _ => {}
        }
    }
    for output in kept.iter_mut().filter(|output| output["output_type"] == "stream") {
        output["text"] = json!(lines(output["text"].clone().as_str().unwrap_or_default()));
    }
    kept.retain(|output| output["output_type"] != "stream" || output["text"] != json!([]));
    kept
}

/// Adds what was printed to what was printed before it.
fn print(kept: &mut Vec<Value>, name: &Value, text: &str) {
    match kept.last_mut() {
        Some(last) if last["output_type"] == "stream" && last["name"] == *name => {
            let joined = last["text"].as_str().unwrap_or_default().to_owned() + text;
            last["text"] = Value::String(joined);
        }
        _ => kept.push(json!({"name": name, "output_type": "stream", "text": text})),
    }
}

/// A result, kept as something shown: all that it has more is a count of executions.
fn result(data: &Value, places: &Places) -> Option<Value> {
    let mut shown = Map::new();
    for kind in KINDS {
        if !data[kind].is_null() {
            shown.insert(kind.to_owned(), json!(lines(&places.hidden(&data[kind]))));
        }
    }
    // `()`, the value of a loop, shows nothing. Behind a drawing it stands in the place of the drawing's words.
    let unit = shown.get("text/plain") == Some(&json!(["()"]));
    let nothing = unit && shown.len() == 1;
    if let Some(words) = in_words(&joined(&data["text/html"])).filter(|_| unit) {
        shown.insert("text/plain".to_owned(), json!(lines(&words)));
    }
    let output = json!({"data": shown, "metadata": {}, "output_type": "display_data"});
    (!nothing).then_some(output)
}

/// The captions of drawings and images, and the text for who does not see them.
fn in_words(html: &str) -> Option<String> {
    let between =
        |html: &str, start, end| Some(unescaped(html.split_once(start)?.1.split_once(end)?.0));
    let captions =
        html.split("<figure").filter_map(|one| between(one, "<figcaption>", "</figcaption>"));
    let words: Vec<String> = captions.chain(between(html, "aria-label=\"", "\"")).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}

/// The folders of this machine that a notebook must not name, each with what stands for it.
struct Places(Vec<(String, &'static str)>);

impl Places {
    fn of(root: &Path) -> Self {
        // As cells are told it.
        let data = env::var_os("MNIST_DIR").and_then(|data| std::path::absolute(data).ok());
        Self::named(data.as_deref(), root, env::home_dir().as_deref())
    }

    /// The reader's data set may lie in one of the others, so it comes first.
    fn named(data: Option<&Path>, root: &Path, home: Option<&Path>) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let inner = format!("{}/", text(root));
        let data = data.map(|data| (text(data), "$MNIST_DIR"));
        let home = home.map(|home| (text(home), "~"));
        let all = [data, Some((inner, "")), Some((text(root), ".")), home];
        Self(all.into_iter().flatten().filter(|(place, _)| place.len() > 1).collect())
    }

    /// Text without them and without colours.
    fn hidden(&self, text: &Value) -> String {
        let text = joined(text);
        let text = strip_ansi_codes(&text).into_owned();
        self.0.iter().fold(text, |text, (place, short)| text.replace(place, short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_block_is_no_words_for_a_drawing() {
        let places = Places::named(None, Path::new("/"), None);
        let html = r#"<figure><svg aria-label="Bars. 1 &lt; 2."></svg><figcaption>Two &amp; one.</figcaption>"#;
        let data = json!({"text/html": html, "text/plain": "()"});
        let words = &result(&data, &places).unwrap()["data"]["text/plain"];
        assert_eq!(*words, json!(["Two & one.\n", "Bars. 1 < 2."]));
        let html = "<figure><figcaption>7</figcaption></figure><figure><figcaption>1</figcaption></figure>";
        let data = json!({"text/html": html, "text/plain": "()"});
        assert_eq!(result(&data, &places).unwrap()["data"]["text/plain"], json!(["7\n", "1"]));
        assert_eq!(result(&json!({"text/plain": "()"}), &places), None);
    }

    #[test]
    fn folders_of_this_machine_are_hidden() {
        let [root, home] = ["/home/ann/course", "/home/ann"].map(Path::new);
        for data in ["/disk/mnist", "/home/ann/course/mnist", "/home/ann/mnist"] {
            let places = Places::named(Some(Path::new(data)), root, Some(home));
            let text =
                json!(format!("{data} /home/ann/course/src/a.rs /home/ann/course /home/ann/b"));
            assert_eq!(places.hidden(&text), "$MNIST_DIR src/a.rs . ~/b");
        }
        let few = Places::named(None, root, Some(Path::new("/")));
        assert_eq!(few.hidden(&json!("/a/home/ann/course")), "/a.");
    }

    #[test]
    fn outputs_lose_what_is_only_of_one_run() {
        let root = Path::new("/home/somebody/course");
        let outputs = vec![
            json!({"output_type": "stream", "name": "stdout", "text": "a\n"}),
            json!({"output_type": "stream", "name": "stdout", "text": "\u{1b}[31m/home/somebody/course/x.rs\u{1b}[0m\n"}),
            json!({"output_type": "execute_result", "execution_count": 7, "metadata": {"a": 1},
                   "data": {"text/plain": "3", "image/svg+xml": "<svg>\n</svg>", "application/x-secret": "no"}}),
            json!({"output_type": "execute_result", "data": {"text/plain": "()"}}),
            json!({"output_type": "status"}),
        ];
        assert_eq!(
            tidied(outputs, root),
            [
                json!({"output_type": "stream", "name": "stdout", "text": ["a\n", "x.rs\n"]}),
                json!({"output_type": "display_data", "metadata": {},
                       "data": {"text/plain": ["3"], "image/svg+xml": ["<svg>\n", "</svg>"]}}),
            ]
        );
    }

    #[test]
    fn an_error_is_a_failure_and_what_is_printed_is_not() {
        let printed = |text: &str| json!({"output_type": "stream", "name": "stderr", "text": text});
        assert_eq!(failure(&[printed("a warning\n"), printed("thread 'x' panicked at y")]), None);
        let error = json!({"output_type": "error", "ename": "Error", "evalue": "mismatched types",
                           "traceback": ["\u{1b}[31m[E0308] Error:\u{1b}[0m mismatched types", "  let x: u8 = \"\";"]});
        let found = failure(&[printed("a\n"), error]).unwrap();
        assert_eq!(found, "[E0308] Error: mismatched types\n  let x: u8 = \"\";");
    }
}
