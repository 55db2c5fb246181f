//! The page of one machine: what it is, and every run with its values.

use super::machine::{GPUS, listed, short};
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
        let _ = write!(
            out,
            "## {chapter}\n\nThe file: <a href=\"{}/{chapter}.json\">{chapter}.json</a>, with the \
             samples.\n\n",
            records.name
        );
        for run in &record.runs {
            out.push_str(&of_run(run));
        }
    }
    out
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

/// How a run came about, and its values as a table.
fn of_run(run: &Run) -> String {
    let mut out = format!(
        "### {} {{#run-{}}}\n\nRun on {} at commit <code>{}</code>, budget {}, with \
         <code>{}</code>, {}. To repeat it: <code>{}</code>\n\n",
        html::text(&run.experiment),
        html::value_anchor(&run.experiment),
        html::text(&run.date),
        html::text(&run.commit),
        html::text(&run.budget),
        html::text(&run.rustc),
        html::text(&run.flags),
        html::text(&run.command)
    );
    out.push_str(
        "<div class=\"table-wrapper\"><table class=\"values\"><thead><tr><th \
         scope=\"col\">Value</th><th scope=\"col\">Median</th><th scope=\"col\">Half of the \
         samples lie between</th><th scope=\"col\">Samples</th><th scope=\"col\">Of its \
         limit</th></tr></thead><tbody>",
    );
    run.values.iter().for_each(|value| out.push_str(&row(value)));
    for Skipped { key, params, why } in &run.skipped {
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
    format!(
        "<tr id=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td>{} and {}</td><td>{}</td>\
         <td>{}</td></tr>",
        html::value_anchor(&what),
        html::text(&what),
        html::text(&value.text()),
        html::text(&value.unit.format(value.low)),
        html::text(&value.unit.format(value.high)),
        value.count(),
        html::text(&limit),
    )
}
