//! The pages of one machine: what it is with a list of its runs, and each run with its values.

use super::{
    machine::{GPUS, listed, part_name, parts, run_anchor, short},
    number::strip,
};
use crate::html;
use lab::{
    Records, Unit,
    record::{Run, Skipped, Value, name},
    units::percent,
};
use std::fmt::Write as _;

/// The page, as Markdown.
pub fn machine_page(records: &Records) -> String {
    let mut out = format!("# Records of {}\n\n", records.name);
    if records.contributed {
        out.push_str(
            "A reader measured these numbers and sent them in. They passed the checks of `measure --receive`; no one \
             has measured them again.\n\n",
        );
    }
    out.push_str(&facts(records));
    for (chapter, record) in &records.chapters {
        let _ = write!(out, "## {chapter}\n\n<ul>");
        for run in &record.runs {
            let _ = write!(out, "<li id=\"{}\">", run_anchor(run));
            for part in 0..parts(run).len() {
                let (name, page) = (html::text(&run.experiment), part_name(run, part));
                let _ = match part {
                    0 => write!(
                        out,
                        "<a data-records=\"{page}\" href=\"{}/{page}.html\">{name}</a>",
                        records.name
                    ),
                    _ => write!(
                        out,
                        ", <a href=\"{}/{page}.html\">part {}</a>",
                        records.name,
                        part + 1
                    ),
                };
            }
            let day = run.date.split('T').next().unwrap_or_default();
            let count = run.values.len();
            let noun = if count == 1 { "value" } else { "values" };
            let _ = write!(out, ": {count} {noun}, {}</li>", html::text(day));
        }
        out.push_str("</ul>\n\n");
    }
    out
}

/// The pages of a run, a part each: its name, its title and its HTML.
pub fn run_pages(records: &Records, run: &Run) -> Vec<(String, String, String)> {
    let all = parts(run);
    let pages = all.iter().enumerate().map(|(at, part)| {
        let name = part_name(run, at);
        let of = if all.len() > 1 {
            format!(", part {} of {}", at + 1, all.len())
        } else {
            String::new()
        };
        let title = format!("{} on {}{of}", run.experiment, records.name);
        let mut out = format!(
            "<h1 id=\"{}\">{}</h1>\n<p><a href=\"../{}.html\">All records of {}</a>. ",
            run_anchor(run),
            html::text(&title),
            records.name,
            html::text(&records.name)
        );
        for other in (0..all.len()).filter(|other| *other != at) {
            // An address of a value leads on until its part is found.
            let next = if other == at + 1 {
                format!(" data-records=\"{}\"", html::value_anchor(&run.experiment))
            } else {
                String::new()
            };
            let _ = write!(
                out,
                "<a{next} href=\"{}.html\">Part {}</a>. ",
                part_name(run, other),
                other + 1
            );
        }
        let _ = write!(
            out,
            "The file with the samples: <a href=\"{name}.json\">{name}.json</a>.</p>\n{}",
            of_run(run, &run.values[part.clone()], at + 1 == all.len())
        );
        (name, title, out)
    });
    pages.collect()
}

/// What the machine is.
fn facts(records: &Records) -> String {
    let machine = &records.machine;
    let named = |text: &Option<String>| text.as_deref().map(short).unwrap_or_default();
    let facts = [
        ("CPU", short(&machine.cpu)),
        ("Cores", machine.cores.to_string()),
        ("Instruction sets", listed(&machine.features, 64)),
        ("Memory", Unit::Bytes.format(machine.memory as f64)),
        ("GPU", listed(&machine.gpus, GPUS)),
        ("Driver", named(&machine.driver)),
        ("CUDA toolkit", named(&machine.cuda)),
        ("System", short(&machine.os)),
    ];
    let mut out = "<div class=\"table-wrapper\"><table><tbody>".to_owned();
    for (what, value) in facts {
        let value = if value.is_empty() { "none".to_owned() } else { html::text(&value) };
        let _ = write!(out, "<tr><th scope=\"row\">{what}</th><td>{value}</td></tr>");
    }
    out + "</tbody></table></div>\n\n"
}

/// How a run came about, and these of its values as a table; what it skipped comes at the `last` one's end.
fn of_run(run: &Run, values: &[Value], last: bool) -> String {
    let mut out = format!(
        "<p>Run on {} at commit <code>{}</code>, budget {}, with <code>{}</code>, {}{}. To repeat it: \
         <code>{}</code></p>\n",
        html::text(&run.date),
        html::text(&run.commit),
        html::text(&run.budget),
        html::text(&run.rustc),
        html::text(&run.flags),
        if run.unfinished { "; it was cut off before its end" } else { "" },
        html::text(&run.command)
    );
    out.push_str(
        "<div class=\"table-wrapper\"><table class=\"values\"><thead><tr><th \
         scope=\"col\">Value</th><th scope=\"col\">Median</th><th scope=\"col\">Half of the \
         samples lie between</th><th scope=\"col\">Samples</th><th scope=\"col\">Of its \
         limit</th></tr></thead><tbody>",
    );
    for value in values {
        out.push_str(&row(value));
    }
    for Skipped { key, params, why } in run.skipped.iter().filter(|_| last) {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td colspan=\"4\">not measured: {}</td></tr>",
            html::text(&name(key, params)),
            html::text(why),
        );
    }
    out + "</tbody></table></div>\n\n"
}

fn row(value: &Value) -> String {
    let what = name(&value.key, &value.params);
    let limit = match (&value.limit, value.of_limit()) {
        (Some(limit), Some(share)) => format!("{} of {}", percent(share), limit.name),
        _ => String::new(),
    };
    let bars = strip(&value.samples.0).map(|(_, bars, _)| format!(" data-strip=\"{bars}\""));
    format!(
        "<tr id=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td>{} and {}</td><td{}>{}</td>\
         <td>{}</td></tr>",
        html::value_anchor(&what),
        html::text(&what),
        html::text(&value.text()),
        html::text(&value.unit.format(value.low)),
        html::text(&value.unit.format(value.high)),
        bars.unwrap_or_default(),
        value.count(),
        html::text(&limit),
    )
}
