//! What the simulated machine does: the figures run the kernels and draw what they do.

use crate::simt::{
    BANKS, Event, Machine, WARP,
    lessons::{self, SIDE},
    memory::Space,
};
use lab::{Drawing, Error, Figure, Records, Result};
use std::fmt::Write as _;

/// The figures of this file.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "cpu_gpu.lessons.sectors", draw: draw_sectors },
        Figure { key: "cpu_gpu.lessons.divergence", draw: draw_divergence },
        Figure { key: "cpu_gpu.lessons.banks", draw: draw_banks },
        Figure { key: "cpu_gpu.counts.reads", draw: draw_reads },
    ]
}

/// An SVG of `width`×`height` units in the theme's colours.
fn picture(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"inherit\" \
         font-size=\"13\" fill=\"currentColor\">\n{body}</svg>\n"
    )
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
fn failed(fault: crate::simt::KernelFault) -> Error {
    Error::message(fault.to_string())
}

/// The words that the first instruction on global memory touches.
fn touched(events: &[Event]) -> Vec<usize> {
    let global = events.iter().find_map(|event| match event.touched {
        Some((Space::Global(_), words)) => Some(words),
        _ => None,
    });
    global.into_iter().flatten().flatten().collect()
}

/// One row of memory: each sector a box, filled where a word in it is wanted.
fn strip(body: &mut String, top: f64, label: &str, words: &[usize], cells: usize, width: f64) {
    let cell = width / cells as f64;
    let _ = writeln!(body, "<text x=\"0\" y=\"{:.1}\">{label}</text>", top - 7.0);
    // One path for all boxes of a kind: hundreds of boxes with the same attributes would weigh more than the page.
    let (mut moved, mut still, mut wanted) = (String::new(), String::new(), String::new());
    for sector in 0..cells / 8 {
        let boxes =
            if words.iter().any(|word| word / 8 == sector) { &mut moved } else { &mut still };
        let (x, wide) = (sector as f64 * 8.0 * cell, 8.0 * cell);
        let _ = write!(boxes, "M{x:.2} {top:.1}h{wide:.2}v18h-{wide:.2}z");
    }
    for word in words.iter().filter(|word| **word < cells) {
        let _ = write!(wanted, "M{:.2} {:.1}v14", (*word as f64 + 0.5) * cell, top + 2.0);
    }
    let _ = writeln!(
        body,
        "<g fill-opacity=\"0.3\" stroke=\"currentColor\" stroke-opacity=\"0.4\">\n<path d=\"{still}\" \
         fill=\"none\"/>\n<path d=\"{moved}\" fill=\"var(--series-2)\"/>\n</g>\n<path d=\"{wanted}\" \
         stroke=\"var(--series-1)\" stroke-width=\"{:.2}\"/>",
        0.7 * cell
    );
}

fn draw_sectors(_: &Records) -> Result<Drawing> {
    const WIDTH: f64 = 480.0;
    let mut body = String::new();
    let mut facts = Vec::new();
    for (row, stride) in [1_usize, 2, 4, 8].into_iter().enumerate() {
        let mut gpu = Machine::new(1);
        gpu.watch([0, 0], 0);
        let (counts, _) =
            lessons::launch_strided(&mut gpu, &vec![0.0; 32 * stride]).map_err(failed)?;
        let words = touched(gpu.events());
        let label = format!("stride {stride}: {} sectors", counts.load_sectors);
        strip(&mut body, 22.0 + 50.0 * row as f64, &label, &words, 256, WIDTH);
        facts.push(format!("{} for a stride of {stride}", counts.load_sectors));
    }
    Ok(Drawing {
        svg: picture(WIDTH, 200.0, &body),
        caption: format!(
            "The further apart the 32 words of a warp's load are, the more sectors move: {}. Thin bars are \
             the words, filled boxes the sectors of 32 bytes that move for them.",
            facts.join(", ")
        ),
        alt: format!("Four rows of memory. The sectors that move: {}.", facts.join(", ")),
        ..Drawing::default()
    })
}

/// Which lanes take part in each instruction of a warp, from top to bottom.
fn timeline(body: &mut String, left: f64, title: &str, events: &[Event], cell: f64) {
    // A lane is a short thick line: all that work are one path, and so are all that wait.
    let (mut working, mut waiting) = (String::new(), String::new());
    for (row, event) in events.iter().enumerate() {
        for lane in 0..WARP {
            let lanes = if event.lanes >> lane & 1 == 1 { &mut working } else { &mut waiting };
            let (x, y) = (left + lane as f64 * cell, row as f64 * (cell + 1.0));
            let _ = write!(lanes, "M{x} {y}h{}", cell - 1.0);
        }
    }
    let _ = writeln!(
        body,
        "<text x=\"{left:.1}\" y=\"12\">{title}</text>\n<g stroke-width=\"{:.1}\" \
         transform=\"translate(0 {:.2})\">\n<path d=\"{working}\" stroke=\"var(--series-1)\"/>\n\
         <path d=\"{waiting}\" stroke=\"currentColor\" stroke-opacity=\"0.1\"/>\n</g>",
        cell - 0.5,
        22.0 + (cell - 0.5) / 2.0
    );
}

fn draw_divergence(_: &Records) -> Result<Drawing> {
    const CELL: f64 = 7.0;
    let run = |kernel: &str| {
        let mut gpu = Machine::new(1);
        gpu.watch([0, 0], 0);
        let launched = lessons::launch_sum(&mut gpu, kernel, &[1.0; 32], 32);
        launched.map(|(counts, _)| (counts, gpu.events().to_vec())).map_err(failed)
    };
    let ((far, one), (near, two)) = (run("sum_divergent")?, run("sum")?);
    let mut body = String::new();
    timeline(&mut body, 0.0, "far apart", &one, CELL);
    timeline(&mut body, 250.0, "neighbours", &two, CELL);
    let rows = one.len().max(two.len()) as f64;
    Ok(Drawing {
        svg: picture(480.0, 26.0 + rows * (CELL + 1.0), &body),
        caption: format!(
            "Within one warp, threads far apart waste as many lanes as neighbours do. Of {} lane slots {} \
             do work, and with neighbours {} of {}. Columns are the 32 lanes, rows the instructions of a sum, from \
             the top, and active lanes are filled. The difference begins with more warps, where neighbours leave \
             whole warps free.",
            32 * far.instructions,
            far.active_lanes,
            near.active_lanes,
            32 * near.instructions
        ),
        alt: "Two grids of 32 columns. In both, ever fewer columns are filled from top to bottom: on the left every \
              second, fourth, eighth, on the right the leftmost half, quarter, eighth."
            .to_owned(),
        ..Drawing::default()
    })
}

/// The word that each lane of the first warp reads where a tile is transposed through shared memory.
fn read_back(kernel: &str) -> Result<[Option<usize>; WARP]> {
    let mut gpu = Machine::new(1);
    gpu.watch([0, 0], 0);
    lessons::launch_transpose(&mut gpu, kernel, &vec![1.0; SIDE * SIDE]).map_err(failed)?;
    let load = gpu.events().iter().find_map(|event| match event.touched {
        Some((Space::Shared(_), words)) if !event.store => Some(words),
        _ => None,
    });
    load.ok_or_else(|| Error::message("the transpose reads no shared memory"))
}

/// An empty square of this size, with its title above.
fn square(body: &mut String, [left, top]: [f64; 2], title: &str, size: f64) {
    let _ = writeln!(
        body,
        "<text x=\"{left}\" y=\"{:.1}\">{title}</text>\n<rect x=\"{left}\" y=\"{top}\" width=\"{size:.1}\" \
         height=\"{size:.1}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.4\"/>",
        top - 8.0
    );
}

/// A filled cell of such a square, its numbers with so many digits.
fn mark(body: &mut String, digits: usize, corner: [f64; 2], cell: f64, at: [usize; 2]) {
    let [x, y] = [0, 1].map(|axis| corner[axis] + at[axis] as f64 * cell + 0.6);
    let side = cell - 1.2;
    let _ = writeln!(
        body,
        "<rect x=\"{x:.digits$}\" y=\"{y:.digits$}\" width=\"{side:.digits$}\" height=\"{side:.digits$}\" \
         fill=\"var(--series-1)\"/>"
    );
}

fn draw_banks(_: &Records) -> Result<Drawing> {
    const CELL: f64 = 6.6;
    let mut body = String::new();
    let mut worst = Vec::new();
    for (kernel, left, title) in
        [("transpose_32", 0.0, "rows 32 words apart"), ("transpose_33", 250.0, "33 words apart")]
    {
        let mut load = [0; BANKS];
        square(&mut body, [left, 22.0], title, CELL * BANKS as f64);
        for (lane, word) in read_back(kernel)?.into_iter().enumerate() {
            let Some(word) = word else { continue };
            load[word % BANKS] += 1;
            mark(&mut body, 1, [left, 22.0], CELL, [word % BANKS, lane]);
        }
        worst.push(load.into_iter().max().unwrap_or(0));
    }
    let y = 22.0 + CELL * BANKS as f64 + 17.0;
    for left in [0.0, 250.0] {
        let _ = writeln!(body, "<text x=\"{left}\" y=\"{y:.1}\">32 banks →</text>");
    }
    Ok(Drawing {
        svg: picture(480.0, y + 8.0, &body),
        caption: format!(
            "Without padding one bank serves {} lanes one after the other; with one unused word at the end of each \
             row no bank serves more than {}. A warp reads a column of a tile in shared memory: lanes from top to \
             bottom, the bank that each wants from left to right.",
            worst[0], worst[1]
        ),
        alt: "Two squares of 32 lanes by 32 banks. On the left all marks are in one column; on the right they lie on \
              a diagonal."
            .to_owned(),
        ..Drawing::default()
    })
}

/// The words of A and of B that the first warp of a rung reads in the first round of its inner loop, n = 32.
fn first_reads(rung: &str) -> Result<[Vec<usize>; 2]> {
    let shape = matmul::Shape::square(32);
    let mut gpu = Machine::new(1);
    let (a, b) = (gpu.array(&vec![1.0; 1024]), gpu.array(&vec![1.0; 1024]));
    let c = gpu.unwritten(1024);
    gpu.watch([0, 0], 0);
    let matrices = crate::simt::ladder::Matrices { a, b, c, shape };
    if let Some(Err(fault)) = crate::simt::ladder::launch(&mut gpu, rung, matrices) {
        return Err(failed(fault));
    }
    let mut loads = gpu.events().iter().filter(|event| !event.store).map(|event| {
        let words = event.touched.iter().flat_map(|(_, words)| words);
        let mut words: Vec<usize> = words.copied().flatten().collect();
        words.sort_unstable();
        words.dedup();
        words
    });
    Ok([loads.next().unwrap_or_default(), loads.next().unwrap_or_default()])
}

/// A matrix of 32×32 with the words that are wanted, and the sectors that move for them.
fn reads(body: &mut String, corner: [f64; 2], cell: f64, wanted: &[usize], moved: &[usize]) {
    let [left, top] = corner;
    for sector in moved {
        let _ = writeln!(
            body,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"var(--series-2)\" \
             fill-opacity=\"0.35\"/>",
            left + (sector % 4) as f64 * 8.0 * cell,
            top + (sector / 4) as f64 * cell,
            8.0 * cell,
            cell
        );
    }
    for word in wanted {
        mark(body, 2, corner, cell, [word % 32, word / 32]);
    }
}

fn draw_reads(_: &Records) -> Result<Drawing> {
    const WIDTH: f64 = 480.0;
    let cell = (WIDTH - 270.0) / 32.0;
    let mut body = String::new();
    let mut facts = Vec::new();
    for (row, rung) in ["naive", "coalesced"].into_iter().enumerate() {
        for (which, (name, wanted)) in ["A", "B"].into_iter().zip(first_reads(rung)?).enumerate() {
            let corner = [250.0 * which as f64, 26.0 + 262.0 * row as f64];
            let mut moved: Vec<usize> = wanted.iter().map(|word| word / 8).collect();
            moved.dedup();
            let plural = if moved.len() == 1 { "" } else { "s" };
            let title = format!("{rung}, {name}: {} sector{plural}", moved.len());
            square(&mut body, corner, &title, cell * 32.0);
            reads(&mut body, corner, cell, &wanted, &moved);
            facts.push(format!("{rung} {name} {}", moved.len()));
        }
    }
    Ok(Drawing {
        svg: picture(WIDTH, 510.0, &body),
        caption: format!(
            "Coalesced, a warp's first round of the inner loop moves the fewer sectors: {}. Dark are the words that \
             it wants of two matrices of 32×32, light the sectors that move.",
            facts.join(", ")
        ),
        alt: format!(
            "Four squares, the matrices A and B for two kernels. Sectors that move: {}.",
            facts.join(", ")
        ),
        ..Drawing::default()
    })
}
