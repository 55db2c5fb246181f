//! Tables as data: rows, and for each column what it shows of a row.
//!
//! ```
//! # use lab::{Key, Unit, table::{Grid, Entry}};
//! # const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["who"]);
//! # fn make(records: &lab::Records) -> lab::Result<lab::TableData> {
//! Grid::new([("ours", "this crate"), ("theirs", "a library")])
//!     .column("who", |(_, name)| *name)
//!     .column("rate", |(who, _)| Entry::OrWhy(RATE.at(&[("who", who)])))
//!     .table(records, "Who is faster.")
//! # }
//! ```

use crate::{Error, Records, Result, TableData, key::Quantity};

/// What a cell shows.
#[derive(Clone, Debug)]
pub enum Entry {
    /// These words.
    Words(String),
    /// The value as text; a dash where there is none.
    Value(Quantity),
    /// The value as text; where it was left out, the reason.
    OrWhy(Quantity),
    /// The value as text; where it was left out, these words.
    Or(Quantity, String),
}

impl From<&str> for Entry {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

impl From<String> for Entry {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<Quantity> for Entry {
    fn from(quantity: Quantity) -> Self {
        Self::Value(quantity)
    }
}

impl Entry {
    /// The cell's text, and the error if it has no value.
    fn text(&self, records: &Records) -> Result<(String, Option<Error>)> {
        let quantity = match self {
            Self::Words(words) => return Ok((words.clone(), None)),
            Self::Value(quantity) | Self::OrWhy(quantity) | Self::Or(quantity, _) => quantity,
        };
        match (self, records.get(quantity)) {
            (_, Ok(value)) => Ok((value.text(), None)),
            (Self::OrWhy(_), Err(Error::Skipped { why, what })) => {
                Ok((why.clone(), Some(Error::Skipped { why, what })))
            }
            (Self::Or(_, words), Err(error @ Error::Skipped { .. })) => {
                Ok((words.clone(), Some(error)))
            }
            (_, Err(error @ (Error::Skipped { .. } | Error::Key(_)))) => {
                Ok(("–".to_owned(), Some(error)))
            }
            (_, Err(error)) => Err(error),
        }
    }
}

/// A column: its head, and what it shows of a row.
type Column<'c, R> = (String, Box<dyn Fn(&R) -> Entry + 'c>);

/// Rows of any kind, and columns that show something of each.
pub struct Grid<'c, R> {
    rows: Vec<R>,
    columns: Vec<Column<'c, R>>,
}

impl<'c, R> Grid<'c, R> {
    /// A table with these rows and no columns yet.
    pub fn new(rows: impl IntoIterator<Item = R>) -> Self {
        Self { rows: rows.into_iter().collect(), columns: Vec::new() }
    }

    /// The same with one more column at the right. The first one names the rows.
    #[must_use]
    pub fn column<E: Into<Entry>>(
        mut self,
        head: impl Into<String>,
        shows: impl Fn(&R) -> E + 'c,
    ) -> Self {
        self.columns.push((head.into(), Box::new(move |row| shows(row).into())));
        self
    }

    /// The table with this caption.
    ///
    /// # Errors
    /// [`Error::NotMeasured`] if the experiment of a cell did not run; if no cell has a value, why the first one has none.
    pub fn table(&self, records: &Records, caption: impl Into<String>) -> Result<TableData> {
        let (mut found, mut missing) = (false, None);
        let mut rows = Vec::new();
        for row in &self.rows {
            let mut texts = Vec::new();
            for (_, shows) in &self.columns {
                let entry = shows(row);
                let (text, error) = entry.text(records)?;
                found |= error.is_none() && !matches!(entry, Entry::Words(_));
                missing = missing.or(error);
                texts.push(text);
            }
            rows.push(texts);
        }
        match missing {
            Some(error) if !found => Err(error),
            _ => {
                let head = self.columns.iter().map(|(head, _)| head.clone()).collect();
                Ok(TableData { caption: caption.into(), head, rows })
            }
        }
    }
}

impl TableData {
    /// The same without the columns of which a machine has nothing: dashes from top to bottom.
    #[must_use]
    pub fn filled(mut self) -> Self {
        let has = |at: usize| self.rows.iter().any(|row| row[at] != "–");
        let keep: Vec<bool> = (0..self.head.len()).map(has).collect();
        for row in self.rows.iter_mut().chain([&mut self.head]) {
            let mut kept = keep.iter();
            row.retain(|_| kept.next() == Some(&true));
        }
        self
    }
}
