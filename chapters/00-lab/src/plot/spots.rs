//! Where labels go: off each other, off lines and off points.

use super::canvas::{Area, LINE, text_width};

/// A position for a label, how little it is liked, and the line that leads from it to what it names.
#[derive(Clone, Debug)]
pub struct Spot {
    pub area: Area,
    pub lines: Vec<String>,
    pub leader: Vec<(f64, f64)>,
    dislike: f64,
}

impl Spot {
    pub fn new(left: f64, middle: f64, lines: &[String], dislike: f64) -> Self {
        let half = 0.5 * LINE * lines.len() as f64;
        let area = [left, middle - half, left + widest(lines), middle + half];
        Self { area, lines: lines.to_vec(), leader: Vec::new(), dislike }
    }
}

/// The width of the widest line.
pub fn widest(lines: &[String]) -> f64 {
    lines.iter().map(|line| text_width(line)).fold(0.0, f64::max)
}

/// What labels keep off.
#[derive(Clone, Debug, Default)]
pub struct Busy {
    /// Points, each with the room around it.
    dots: Vec<(f64, f64, f64)>,
    edges: Vec<(f64, f64)>,
    taken: Vec<Area>,
}

impl Busy {
    /// A line.
    pub fn line(&mut self, line: &[(f64, f64)]) {
        self.dots.extend(sampled(line).into_iter().map(|(x, y)| (x, y, 2.5)));
    }

    /// Markers.
    pub fn marks(&mut self, points: &[(f64, f64)]) {
        self.dots.extend(points.iter().map(|&(x, y)| (x, y, 7.0)));
    }

    /// The edge of a band, which a label may lie on if need be.
    pub fn edge(&mut self, line: &[(f64, f64)]) {
        self.edges.extend(sampled(line));
    }

    /// A text.
    pub fn text(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// A label with its leader.
    pub fn label(&mut self, spot: &Spot) {
        self.text(spot.area);
        self.line(&spot.leader);
    }

    /// Whether nothing that must stay visible is below.
    fn leaves(&self, area: Area) -> bool {
        let [left, top, right, bottom] = area;
        // The letters do not fill their line.
        let ink = [left, top + 2.0, right, bottom - 2.0];
        self.dots.iter().all(|&(x, y, r)| !within((x, y), grown(ink, r)))
            && self.taken.iter().all(|&other| apart(grown(area, 1.5), other))
    }

    fn edges_below(&self, area: Area) -> f64 {
        self.edges.iter().filter(|&&p| within(p, area)).count() as f64
    }

    /// How much a leader crosses; nothing if it would cross a text.
    fn crossed(&self, leader: &[(f64, f64)]) -> Option<f64> {
        let points = sampled(leader);
        let free = |&p: &(f64, f64)| self.taken.iter().all(|&area| !within(p, area));
        let near = |&&(x, y): &&(f64, f64)| {
            self.dots.iter().any(|&(a, b, _)| (a - x).abs() < 2.0 && (b - y).abs() < 2.0)
        };
        points.iter().all(free).then(|| points.iter().filter(near).count() as f64)
    }
}

fn grown([left, top, right, bottom]: Area, by: f64) -> Area {
    [left - by, top - by, right + by, bottom + by]
}

fn apart(a: Area, b: Area) -> bool {
    a[0] >= b[2] || b[0] >= a[2] || a[1] >= b[3] || b[1] >= a[3]
}

/// Whether a point is in a box, or on its rim.
pub fn within((x, y): (f64, f64), [left, top, right, bottom]: Area) -> bool {
    x >= left - 0.5 && x <= right + 0.5 && y >= top - 0.5 && y <= bottom + 0.5
}

/// Points along a line, some four units apart.
pub fn sampled(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    line.windows(2)
        .flat_map(|pair| {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let steps = ((x1 - x0).hypot(y1 - y0) / 4.0).ceil().clamp(1.0, 1e3);
            (0..=steps as usize).map(move |i| {
                let t = i as f64 / steps;
                (x0 + t * (x1 - x0), y0 + t * (y1 - y0))
            })
        })
        .collect()
}

/// Positions around a point.
pub fn around((x, y): (f64, f64), lines: &[String]) -> Vec<Spot> {
    let wide = widest(lines);
    let up = 0.5 * LINE * lines.len() as f64 + 6.0;
    [
        (x + 9.0, y, 0.0),
        (x - 9.0 - wide, y, 0.2),
        (x - 0.5 * wide, y - up, 0.1),
        (x - 0.5 * wide, y + up, 0.1),
        (x + 5.0, y - up, 0.3),
        (x + 5.0, y + up, 0.3),
        (x - 5.0 - wide, y - up, 0.4),
        (x - 5.0 - wide, y + up, 0.4),
    ]
    .map(|(left, middle, dislike)| Spot::new(left, middle, lines, dislike))
    .into()
}

/// Positions next to a point of a line: above and below it, and to either side.
pub fn beside((x, y): (f64, f64), lines: &[String]) -> Vec<Spot> {
    let wide = widest(lines);
    let up = 0.5 * LINE * lines.len() as f64 + 3.0;
    let more = 0.2 * (lines.len() as f64 - 1.0);
    [
        (x, y - up, 0.0),
        (x - wide, y - up, 0.0),
        (x, y + up, 0.3),
        (x - wide, y + up, 0.3),
        (x + 7.0, y, 0.5),
        (x - 7.0 - wide, y, 0.5),
    ]
    .map(|(left, middle, dislike)| Spot::new(left, middle, lines, dislike + more))
    .into()
}

/// The best of these positions that covers nothing and lies in the box, if there is one.
pub fn quiet_spot(spots: &[Spot], busy: &Busy, box_: Area) -> Option<Spot> {
    let inside = |spot: &&Spot| {
        let [left, top, right, bottom] = spot.area;
        left >= box_[0] && top >= box_[1] && right <= box_[2] && bottom <= box_[3]
    };
    let cost = |spot: &Spot| spot.dislike + 0.15 * busy.edges_below(spot.area);
    let free = spots.iter().filter(inside).filter(|spot| busy.leaves(spot.area));
    free.min_by(|a, b| cost(a).total_cmp(&cost(b))).cloned()
}

/// A free position anywhere in the box, with a line that leads to the nearest of the points that it may name.
pub fn far_spot(targets: &[(f64, f64)], lines: &[String], busy: &Busy, box_: Area) -> Option<Spot> {
    const FARTHEST: f64 = 130.0;
    let (wide, high) = (widest(lines), LINE * lines.len() as f64);
    let [left, top, right, bottom] = box_;
    let every = targets.len().div_ceil(40).max(1);
    let targets: Vec<(f64, f64)> = targets.iter().step_by(every).copied().collect();
    let mut best: Option<Spot> = None;
    let columns = ((right - left - wide) / 10.0).floor().clamp(-1.0, 200.0) as i32;
    let rows = ((bottom - top - high) / 7.0).floor().clamp(-1.0, 200.0) as i32;
    for row in 0..=rows {
        for column in 0..=columns {
            let from = (left + 10.0 * f64::from(column), top + 7.0 * f64::from(row));
            let mut spot = Spot::new(from.0, from.1 + 0.5 * high, lines, 0.0);
            let [l, t, r, b] = spot.area;
            let rim = |&(x, y): &(f64, f64)| (x.clamp(l, r), y.clamp(t + 3.0, b - 3.0));
            let long = |p: &(f64, f64)| {
                let (x, y) = rim(p);
                (x - p.0).hypot(y - p.1)
            };
            let &target = targets.iter().min_by(|a, b| long(a).total_cmp(&long(b)))?;
            let length = long(&target);
            let least = best.as_ref().map_or(f64::INFINITY, |best| best.dislike);
            if !(9.0..FARTHEST).contains(&length) || length >= least || !busy.leaves(spot.area) {
                continue;
            }
            // It ends before the point, and begins beside the letters.
            let (x, y) = rim(&target);
            let part = |k: f64| (x + k * (target.0 - x), y + k * (target.1 - y));
            let leader = vec![part(3.0 / length), part(1.0 - 4.0 / length)];
            let Some(crossed) = busy.crossed(&leader) else { continue };
            spot.dislike = length + 12.0 * crossed + 0.5 * busy.edges_below(spot.area);
            if spot.dislike < least {
                spot.leader = leader;
                best = Some(spot);
            }
        }
    }
    best
}

/// Moves sorted middles apart by as little as keeps labels of these heights from overlapping, between
/// `top` and `bottom`.
pub fn spread_apart(middles: &mut [f64], heights: &[f64], top: f64, bottom: f64) {
    // Relaxation: a few rounds of pushing both neighbours, then two passes that hold for certain.
    for _ in 0..50 {
        for i in 1..middles.len() {
            let lack = 0.5 * (heights[i - 1] + heights[i]) - (middles[i] - middles[i - 1]);
            if lack > 0.0 {
                middles[i - 1] -= 0.5 * lack;
                middles[i] += 0.5 * lack;
            }
        }
    }
    let mut ceiling = top;
    for (middle, height) in middles.iter_mut().zip(heights) {
        *middle = middle.max(ceiling + 0.5 * height);
        ceiling = *middle + 0.5 * height;
    }
    let mut floor = bottom;
    for (middle, height) in middles.iter_mut().zip(heights).rev() {
        *middle = middle.min(floor - 0.5 * height);
        floor = *middle - 0.5 * height;
    }
}
