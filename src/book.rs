//! `book`: the book alone, without measuring or training.

use crate::{chapters, course, train::RUNS};
use anyhow::{Context, Result, bail};
use bookbinder::{
    Binder, links,
    process::{cargo, target},
    site::{Site, repository},
};
use clap::{Args, Subcommand};
use lab::{
    out::say,
    probe::tied,
    run::{Kind, MODEL, latest},
    serve::host_name,
};
use language_model::export::of_run;
use std::path::{Path, PathBuf};
use training::{
    Classifier,
    export::{self, Format},
};

/// What to do with the book.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cargo run -- book build            the book, in target/book
  cargo run -- book build --docs     the same, with the crates' documentation
  cargo run -- book build --site https://example.org/throughput/    to publish it there
  cargo run -- book check            whether every link in it leads somewhere
  cargo run -- book serve            on http://127.0.0.1:3000, built again when a page changes")]
pub enum Book {
    /// Build the book and print where it is
    Build(Build),
    /// Fail if a link of the built book leads nowhere or something would be fetched from outside
    Check(Check),
    /// Build the book, serve it on this machine alone, and build it again when something changes
    Serve(Serve),
}

/// The options of `book build`.
#[derive(Args)]
pub struct Build {
    #[command(flatten)]
    from: From,
    /// The address that the book will be published at: adds a site map and each page's own address
    #[arg(long, env = "THROUGHPUT_SITE", value_name = "URL")]
    site: Option<Site>,
    /// The address of the course's repository: every page links to it
    #[arg(long, env = "THROUGHPUT_REPOSITORY", value_name = "URL", value_parser = repository)]
    repository: Option<String>,
    /// Link each chapter to its PDF, which is made from the built book: node tests/book/pdf.mjs BOOK BOOK/pdf
    #[arg(long)]
    pdfs: bool,
}

/// The options of `book check`.
#[derive(Args)]
pub struct Check {
    /// The folder of the book [default: target/book]
    #[arg(value_name = "DIR")]
    book: Option<PathBuf>,
}

/// The options of `book serve`.
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    from: From,
    /// The port; the next free one if it is taken, any free one for 0
    #[arg(long, default_value_t = PORT, value_parser = crate::whole::<u16>(0..=65535))]
    port: u16,
    /// A name by which the server may be called, such as a proxy's, besides localhost and addresses; may be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = host_name)]
    hosts: Vec<String>,
}

/// What the book is made from, and where it goes.
#[derive(Args)]
pub struct From {
    /// The folder with the records of each machine [default: book/records]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// The folder for the book; one that exists is replaced [default: target/book]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also document the chapters' crates, and link each page to its crate's (takes minutes the first time)
    #[arg(long)]
    docs: bool,
}

/// Where the book is served unless the user chooses otherwise.
pub const PORT: u16 = 3000;

impl Book {
    /// Does it.
    pub fn run(self) -> Result<()> {
        match self {
            Self::Build(Build { from, site, repository, pdfs }) => {
                let mut binder = from.binder()?;
                (binder.site, binder.repository, binder.pdfs) = (site, repository, pdfs);
                say(&format!("the book is in {}", binder.build()?.display()));
                Ok(())
            }
            Self::Check(check) => {
                let book = match check.book {
                    Some(folder) => folder,
                    None => course::root()?.join("target/book"),
                };
                if !book.join("index.html").is_file() {
                    bail!("{} contains no book; run `cargo run -- book build`", book.display());
                }
                let wrong = links::check(&book)?;
                if !wrong.is_empty() {
                    bail!("the book has {} broken links:\n  {}", wrong.len(), wrong.join("\n  "));
                }
                say(&format!(
                    "every link in {} leads somewhere, and nothing is fetched from outside",
                    book.display()
                ));
                Ok(())
            }
            Self::Serve(serve) => serve.from.binder()?.serve(serve.port, &serve.hosts),
        }
    }
}

impl From {
    fn binder(self) -> Result<Binder> {
        let records = match self.records {
            Some(folder) if folder.is_dir() => folder,
            Some(folder) => bail!(
                "{} is no folder of records; name another with --records, or leave it out",
                folder.display()
            ),
            None => course::records()?,
        };
        let root = course::root()?;
        let mut binder = Binder::open(&root, chapters::all(), &records)?;
        if self.docs {
            binder.docs = Some(document(&root)?);
        }
        binder.files.extend(models(Path::new(RUNS))?);
        if let Some(out) = self.out {
            binder.put_into(&out)?;
        }
        Ok(binder)
    }
}

/// Lets cargo document the workspace's crates and returns the folder.
fn document(root: &Path) -> Result<PathBuf> {
    let done = tied(&mut cargo())
        .args(["doc", "--workspace", "--no-deps"])
        .current_dir(root)
        .status()
        .context("can't start cargo, which documents the crates")?;
    if !done.success() {
        bail!("cargo could not document the crates; its messages are above");
    }
    Ok(target(root).join("doc"))
}

/// The scripts with the models of the folder `runs` that pages compute with, and their paths in the book.
pub(crate) fn models(runs: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut scripts = digit_model(runs)?;
    scripts.push((GPT.into(), gpt_model(runs)));
    Ok(scripts)
}

/// Where `book/theme/gpt-prompt.js` looks for its model.
const GPT: &str = "09-language-model/gpt-model.js";

/// The script of the latest language model that a page can take. One that can't be read counts as none.
fn gpt_model(runs: &Path) -> String {
    let found = latest(runs, Some(Kind::Text), of_run).map(|(_, script)| script);
    // The pages then explain how to get one.
    found.unwrap_or_else(|| "globalThis.gptModel = null;\n".to_owned())
}

/// The scripts with the model that pages classify digits with, one for each format of its weights, and their paths in the
/// book: the latest run's in the folder `runs` whose model the pages can compute. A model that can't be read counts as none.
fn digit_model(runs: &Path) -> Result<Vec<(PathBuf, String)>> {
    let found = latest(runs, Some(Kind::Digits), |run| {
        let file = run.join(MODEL);
        let model = Classifier::load(&file)?;
        let page =
            format!("{}: the book's pages do not compute a {}", file.display(), model.kind());
        export::known(model.kind()).then_some(model).ok_or(training::Error::Config(page))
    });
    let Some((_, model)) = found else {
        // The pages then explain how to get one.
        return Ok(vec![(script_path(Format::Int8), "globalThis.digitModel = null;\n".to_owned())]);
    };
    let script =
        |format| -> Result<_> { Ok((script_path(format), export::export(&model, format)?.script)) };
    Format::ALL.into_iter().map(script).collect()
}

/// Where `book/theme/digit-canvas.js` looks for the model in a format.
fn script_path(format: Format) -> PathBuf {
    format!("04-training/digit-model-{}.js", format.bits()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use training::Model;

    #[test]
    fn the_page_gets_the_latest_language_model_that_fits() {
        use language_model::{Config, Tokenizer, generate::TOKENIZER};
        let runs = tempfile::tempdir().unwrap();
        let script = || models(runs.path()).unwrap().pop().unwrap();
        let none = (PathBuf::from(GPT), "globalThis.gptModel = null;\n".to_owned());
        assert_eq!(script(), none);
        let tokenizer = Tokenizer::train(&[b"fn main() {}"], 257).unwrap();
        for (name, width) in [("1 good", 16), ("2 large", 1024)] {
            let run = runs.path().join(name);
            std::fs::create_dir(&run).unwrap();
            let config =
                Config { vocabulary: 257, context: 8, width, heads: 2, layers: 1, hidden: 8 };
            let mut model = language_model::Model::new(config, 1).unwrap();
            model.tokenizer = tokenizer.digest();
            model.save(&run.join(MODEL)).unwrap();
            tokenizer.save(&run.join(TOKENIZER)).unwrap();
            assert!(script().1.contains("\"width\":16"), "{name}");
        }
        std::fs::write(runs.path().join("1 good").join(MODEL), b"no").unwrap();
        assert_eq!(script(), none);
    }

    #[test]
    fn the_page_gets_the_latest_model_that_it_knows() {
        let runs = tempfile::tempdir().unwrap();
        let scripts = || digit_model(runs.path()).unwrap();
        let script = || scripts().swap_remove(0).1;
        assert_eq!(script(), "globalThis.digitModel = null;\n");
        for (at, kind) in Model::ALL.into_iter().enumerate() {
            let run = runs.path().join(at.to_string());
            std::fs::create_dir(&run).unwrap();
            Classifier::random(kind, 1).unwrap().save(&run.join(MODEL)).unwrap();
            let latest = if export::known(kind) { kind } else { Model::Cnn };
            assert!(script().contains(&format!("\"model\":\"{latest}\"")), "{kind}");
        }
        lab::testing::put(&runs.path().join("broken"), MODEL, "no");
        assert!(script().contains("\"model\":\"cnn\""));
        let paths: Vec<String> = scripts().iter().map(|(p, _)| p.display().to_string()).collect();
        assert_eq!(paths, [8, 16, 32].map(|bits| format!("04-training/digit-model-{bits}.js")));
    }
}
