//! This chapter's figures and tables that are more than their page declares, made from one machine's records.

use super::experiments::{FOOLING, RIGHT, WRONG};
use crate::{
    Drawing, Figure, Key, Records, Result, Samples, Table, TableData, Unit,
    drawing::{Bars, Limits},
    fooling::Mistake,
    key::Quantity,
    plot::{Axis, Scale},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "lab.fooling", draw: draw_fooling }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "lab.fooling", make: table_fooling }]
}

fn of(key: Key, mistake: Mistake) -> Quantity {
    key.at(&[("mistake", &mistake.name())])
}

fn draw_fooling(records: &Records) -> Result<Drawing> {
    let medians = Mistake::ALL.map(|mistake| Ok(records.get(of(FOOLING, mistake))?.median));
    let medians = Samples(medians.into_iter().collect::<Result<_>>()?);
    let caption = format!(
        "Six wrong ways to time a small job: from {} times too little to {} times too much.",
        Unit::Count.format((1.0 / medians.quantile(0.0)).round()),
        Unit::Number.format(medians.quantile(1.0)),
    );
    let bar = |mistake: Mistake| (mistake.label().to_owned(), of(FOOLING, mistake));
    Bars {
        axis: Axis::new("reported time ÷ true time", Scale::Log).from(1.0),
        bars: Mistake::ALL.map(bar).into(),
        limits: Limits::These(vec![("true time".to_owned(), 1.0)]),
        ..Bars::default()
    }
    .draw(records, caption)
}

fn table_fooling(records: &Records) -> Result<TableData> {
    let caption = "The same job, measured wrongly and correctly. In the last row both contenders are the same \
                   function, and the values are how much longer the second one seems to take.";
    Grid::new(Mistake::ALL)
        .column("mistake", |mistake| mistake.label())
        .column("wrong", |mistake| of(WRONG, *mistake))
        .column("right", |mistake| of(RIGHT, *mistake))
        .column("wrong ÷ right", |mistake| of(FOOLING, *mistake))
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chapter, testing};

    #[test]
    fn all_are_drawn_from_what_the_experiments_leave() {
        let mut made_up = testing::MadeUp::default();
        for mistake in Mistake::ALL {
            made_up.add(of(FOOLING, mistake), 0.25).add(of(WRONG, mistake), 1e-6);
            made_up.add(of(RIGHT, mistake), 4e-6);
        }
        let records = made_up.records(&chapter());
        testing::are_drawn(&figures(), &tables(), &records);
        let caption = draw_fooling(&records).unwrap().caption;
        assert!(caption.contains("4 times too little"), "{caption}");
    }
}
