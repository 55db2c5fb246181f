//! The page of one machine: what it is, and how each of its runs came about, with the files that have their samples.

use super::machine::{GPUS, listed, run_anchor, short};
use crate::html;
use lab::{Records, Unit, record::Run};
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
            "## {chapter}\n\nThe samples: [{chapter}.json]({}/{chapter}.json)\n\n<ul>",
            records.name
        );
        for run in &record.runs {
            out.push_str(&of_run(run));
        }
        out.push_str("</ul>\n\n");
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

/// How a run came about.
fn of_run(run: &Run) -> String {
    let count = run.values.len();
    format!(
        "<li id=\"{}\">{}: {count} {}, {}{}, at commit <code>{}</code>, budget {}, with <code>{}</code>, {}. To \
         repeat it: <code>{}</code></li>",
        run_anchor(run),
        html::text(&run.experiment),
        if count == 1 { "value" } else { "values" },
        html::text(run.date.split('T').next().unwrap_or_default()),
        if run.unfinished { ", cut off before its end" } else { "" },
        html::text(&run.commit),
        html::text(&run.budget),
        html::text(&run.rustc),
        html::text(&run.flags),
        html::text(&run.command)
    )
}
