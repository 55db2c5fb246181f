//! The page's calculator has the crate's data and calculates as the crate does. It runs on Node.js.

use hardware::{Market, Options, Reader, buy, page};
use serde_json::Value;
use std::{env, fs, io::ErrorKind, path::PathBuf, process::Command};

fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../book/theme/card-calculator.js")
}

/// The line of the script that holds the data.
fn line() -> String {
    format!("{}{};", page::BEGINS, page::data().unwrap())
}

#[test]
fn the_page_has_the_table_of_the_crate() {
    let text = fs::read_to_string(script()).unwrap();
    let found = text.lines().find(|line| line.starts_with(page::BEGINS)).unwrap();
    if env::var_os("UPDATE").is_some() {
        fs::write(script(), text.replace(found, &line())).unwrap();
    } else {
        assert!(
            found == line(),
            "card-calculator.js has another table; UPDATE=1 cargo test -p hardware --test card_calculator writes it"
        );
    }
}

#[test]
fn the_page_calculates_as_the_crate_does() {
    let program = "const page = require(process.argv[1]); \
         console.log(JSON.stringify(page.DATA.jobs.map(({ job, cards }) => \
         page.calculate(job, cards, page.DATA.electricity).map(({ card, ...rest }) => ({ card: card.id, ...rest })))));";
    let ran = Command::new("node").arg("-e").arg(program).arg(script()).output();
    let out = match ran {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: no Node.js here to run the page's script");
            return;
        }
        ran => ran.unwrap(),
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let found: Vec<Vec<Value>> = serde_json::from_slice(&out.stdout).unwrap();
    let market = Market::load().unwrap();
    for (reader, lines) in Reader::ALL.into_iter().zip(found) {
        let options = Options { only: vec![], ..reader.options().unwrap() };
        let report = buy(&market, &options).unwrap();
        let able: Vec<&Value> = lines.iter().filter(|line| line["why"].is_null()).collect();
        assert_eq!(able.len(), report.lines.len(), "{reader}");
        for (ours, theirs) in report.lines.iter().zip(able) {
            assert_eq!(theirs["card"], ours.card, "{reader}");
            let close = |key: &str, wanted: Option<[f64; 2]>| {
                let Some(wanted) = wanted else {
                    return assert!(theirs[key].is_null(), "{reader} {}: {key}", ours.card);
                };
                for (at, wanted) in wanted.into_iter().enumerate() {
                    let found = theirs[key][at].as_f64().unwrap();
                    assert!((found / wanted - 1.0).abs() < 1e-9, "{reader} {}: {key}", ours.card);
                }
            };
            let ends = |range: hardware::calculator::Range| [range.low, range.high];
            close("hours", Some(ends(ours.hours)));
            close("kwh", ours.kwh.map(ends));
            close("rent", ours.rent.map(ends));
            close("breakEven", ours.break_even.map(ends));
        }
    }
}
