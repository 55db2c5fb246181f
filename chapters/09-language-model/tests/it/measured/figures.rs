use lab::record::ParamList;
use lab::testing::{MadeUp, are_drawn};
use language_model::measured::experiments::cost::{
    CARD, ELECTRICITY, FRACTION, HOURS, KWH, RENT, trainings,
};
use language_model::measured::experiments::devices::{JOBS, PLAN};
use language_model::measured::experiments::learning::{
    ASKED, ERROR, EXPONENT, FACTOR, FITTED, FOUND, PREDICTED, SCALING,
};
use language_model::{measured::figures::learning, scaling::PowerLaw};

#[test]
fn every_figure_and_table_is_made_from_records() {
    let mut made = MadeUp::default();
    for (side, share) in [("low", 0.3), ("high", 0.5)] {
        made.add(FRACTION.at(&[("card", &CARD), ("side", &side)]), share);
        for (training, place) in trainings().iter().flat_map(|t| [(t, "here"), (t, CARD)]) {
            let list: ParamList = &[("model", &training.name), ("where", &place), ("side", &side)];
            for key in [HOURS, KWH, RENT, ELECTRICITY] {
                made.add(key.at(list), share);
            }
        }
    }
    for (model, ..) in JOBS {
        made.add(PLAN.at(&[("model", &model)]), 1e-3);
    }
    let law = PowerLaw { factor: 20.0, exponent: 0.18 };
    made.add(FACTOR.at(&[]), law.factor).add(EXPONENT.at(&[]), law.exponent);
    let sizes = [26e3, 43e3, 80e3, 139e3, 270e3];
    for (width, size) in FITTED.into_iter().chain([ASKED]).zip(sizes) {
        let list: ParamList = &[("width", &width), ("parameters", &size)];
        made.add(SCALING.at(list).with("tokens", 20.0 * size), law.at(size));
    }
    let list: ParamList = &[("width", &ASKED), ("parameters", &270_000)];
    made.add(PREDICTED.at(list), law.at(270e3)).add(FOUND.at(list), 1.02 * law.at(270e3));
    made.add(ERROR.at(&[("width", &ASKED)]), -0.02);
    let chapter = language_model::chapter();
    let records = made.records(&chapter);
    are_drawn(&chapter.figures, &chapter.tables, &records);
    let drawing = (learning::figures()[0].draw)(&records).unwrap();
    assert!(drawing.caption.contains("off by 2.00%"));
    let table = (learning::tables()[0].make)(&records).unwrap();
    assert_eq!(table.rows[4][..3], ["96", "270,000", "5,400,000"]);
}
