//! Where a page's links lead from a notebook, and its images.

use crate::{
    markdown::{Heading, code_ranges, headings},
    page::{Page, is_opener, tidy},
    picture,
};
use anyhow::{Context, Result, bail};
use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

/// The pages, from the notebooks' folder.
const PAGES: &str = "../book/src";

/// What a page's links lead to.
pub(super) struct Site<'a> {
    root: &'a Path,
    /// The folders whose pages make a notebook.
    with_cells: HashSet<String>,
    /// For each page its anchors, and the ones that Jupyter gives to the same headings.
    anchors: HashMap<PathBuf, HashMap<String, String>>,
    /// The anchor that Jupyter gives to a section's title.
    titles: HashMap<PathBuf, String>,
}

impl<'a> Site<'a> {
    /// What the links of these pages lead to.
    pub fn new(root: &'a Path, pages: &[Page]) -> Self {
        let has_cells = |page: &&Page| code_ranges(&page.markdown).iter().any(|code| code.cell);
        let with_cells =
            pages.iter().filter(has_cells).filter_map(|page| folder(&page.path)).collect();
        let (mut anchors, mut titles) = (HashMap::new(), HashMap::new());
        for page in pages {
            let (path, all) = (tidy(&page.path), headings(&page.markdown));
            let title = all.iter().find(|heading| heading.title && !is_opener(&path));
            titles.extend(title.map(|title| (path.clone(), title.in_jupyter())));
            let named = |heading: Heading| (heading.in_jupyter(), heading.anchor);
            let named = all.into_iter().map(named).map(|(in_jupyter, anchor)| (anchor, in_jupyter));
            anchors.insert(path, named.collect());
        }
        Self { root, with_cells, anchors, titles }
    }

    /// The notebook that a page is a part of, by name.
    pub fn notebook_of(&self, page: &Path) -> Option<String> {
        folder(page).filter(|name| self.with_cells.contains(name))
    }

    /// Where a link leads from a notebook, if not to where it led from the page.
    pub fn link(&self, page: &Page, link: &str) -> Option<String> {
        let (file, fragment) =
            link.split_once('#').map_or((link, None), |(file, f)| (file, Some(f)));
        if file.contains("://") || file.starts_with("mailto:") || file.starts_with("data:") {
            return None;
        }
        let own = tidy(&page.path);
        let from_here = tidy(&Path::new(PAGES).join(&own).with_file_name("").join(file));
        let inside = from_here.strip_prefix(PAGES).map(Path::to_owned);
        let target = match inside {
            _ if file.is_empty() => own.clone(),
            Ok(page) => page,
            Err(_) => {
                let fragment = fragment.map_or(String::new(), |fragment| format!("#{fragment}"));
                return Some(slashed(&from_here) + &fragment);
            }
        };
        let jupyter = fragment.map(|fragment| {
            let known = self.anchors.get(&target).and_then(|anchors| anchors.get(fragment));
            format!("#{}", known.map_or(fragment, String::as_str))
        });
        let title = || self.titles.get(&target).map(|title| format!("#{title}"));
        let jupyter = jupyter.or_else(title).unwrap_or_default();
        let new = match folder(&target) {
            _ if file.is_empty() => jupyter,
            // Another section of the same notebook.
            Some(name)
                if !jupyter.is_empty()
                    && Some(&name) == folder(&own).as_ref()
                    && self.with_cells.contains(&name) =>
            {
                jupyter
            }
            Some(name) if self.with_cells.contains(&name) && is_page(&target) => {
                format!("{name}.ipynb{jupyter}")
            }
            _ => format!("{PAGES}/{}{jupyter}", slashed(&target)),
        };
        (new != link).then_some(new)
    }

    /// An image of the page's own as a part of the notebook, so that the notebook can travel alone.
    pub fn picture(&self, page: &Page, address: &str) -> Result<Option<String>> {
        if address.is_empty() || address.contains(':') {
            return Ok(None);
        }
        let file = self.root.join("book/src").join(&page.path).with_file_name("").join(address);
        let kind = match file.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("webp") => "image/webp",
            _ => bail!("the image `{address}` is neither SVG nor PNG, JPEG or WebP"),
        };
        let bytes =
            fs::read(&file).with_context(|| format!("can't read the image {}", file.display()))?;
        Ok(Some(picture::address(kind, &bytes)))
    }
}

/// The folder of a page: `01-matmul` for `01-matmul/README.md`. The book's own pages have none.
fn folder(page: &Path) -> Option<String> {
    let parent = page.parent()?.to_str()?;
    (!parent.is_empty()).then(|| parent.replace(['/', '\\'], "-"))
}

/// Whether a file is a page of the book.
fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// A path as an address has it.
pub(super) fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
