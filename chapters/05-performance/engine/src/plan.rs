//! A plan: which calls run as one, and where each temporary lies. All of it follows from what the calls read and write; no
//! operation says anything about memory.

use crate::{
    program::{Program, Work, block_of},
    tensor::{Cut, Place},
};
use std::ops::Range;

/// Where a temporary lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the arena that all threads share, from this word on.
    Arena(usize),
    /// In each thread's scratch memory: only a block of its rows exists at a time.
    Scratch(usize),
}

/// What runs as one, and where everything lies.
#[derive(Debug)]
pub struct Plan {
    /// Calls that each block of rows goes through one after the other, or single ones.
    pub groups: Vec<Range<usize>>,
    /// Where each temporary lies.
    pub slots: Vec<Slot>,
    /// Words of the arena.
    pub arena: usize,
    /// Words of a thread's scratch memory.
    pub scratch: usize,
}

/// Tensors begin at multiples of this many words.
const ALIGN: usize = 16;

/// From a temporary's first group and call to its last, and whether it is seen in rows alone.
#[derive(Clone, Copy, Debug)]
struct Life {
    groups: Span,
    calls: Span,
    rows: bool,
}

/// The first and the last.
type Span = (usize, usize);

impl Plan {
    /// The plan of a program. `fuse`: whether a block of rows goes through several calls, one after the other.
    pub fn new(program: &Program, fuse: bool) -> Self {
        let groups = groups(program, fuse);
        let lives = lives(program, &groups);
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        for (id, life) in lives.iter().enumerate().filter(|(_, life)| life.calls.0 != usize::MAX) {
            let words = program.temporaries[id];
            match &program.calls[life.calls.0].work {
                Work::Rows(rows) if fuse && life.rows && life.groups.0 == life.groups.1 => {
                    own.push((id, words / rows.units * block_of(rows.units), life.calls));
                }
                _ => shared.push((id, words, life.groups)),
            }
        }
        let mut slots = vec![Slot::Arena(0); lives.len()];
        let arena = pack(shared, |id, at| slots[id] = Slot::Arena(at));
        let scratch = pack(own, |id, at| slots[id] = Slot::Scratch(at));
        Self { groups, slots, arena, scratch }
    }
}

/// A call joins the group before it if it may follow each of the group's calls.
fn groups(program: &Program, fuse: bool) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, call) in program.calls.iter().enumerate() {
        match groups.last_mut() {
            Some(group)
                if fuse && program.calls[group.clone()].iter().all(|other| call.follows(other)) =>
            {
                group.end = at + 1;
            }
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

fn lives(program: &Program, groups: &[Range<usize>]) -> Vec<Life> {
    let unborn = Life { groups: (usize::MAX, 0), calls: (usize::MAX, 0), rows: true };
    let mut lives = vec![unborn; program.temporaries.len()];
    let longer = |(first, last): Span, at: usize| (first.min(at), last.max(at));
    for (group, calls) in groups.iter().enumerate() {
        for (at, call) in program.calls.iter().enumerate().take(calls.end).skip(calls.start) {
            for operand in call.reads().iter().chain(&call.writes()) {
                if let Place::Temporary(id) = operand.tensor.place {
                    let life = &mut lives[id as usize];
                    (life.groups, life.calls) =
                        (longer(life.groups, group), longer(life.calls, at));
                    // A part of its rows is another range for each block than all of them.
                    let all = operand.tensor.words() == program.temporaries[id as usize];
                    life.rows &= operand.cut == Cut::Rows && all;
                }
            }
        }
    }
    for output in &program.outputs {
        if let Place::Temporary(id) = output.place {
            (lives[id as usize].groups.1, lives[id as usize].rows) = (groups.len(), false);
            if program.apart {
                lives[id as usize] = unborn; // it lies elsewhere
            }
        }
    }
    lives
}

/// Finds places for tensors of so many words, the largest first: the lowest one that no tensor has that lives at the same
/// time. Returns the words of all together.
fn pack(mut tensors: Vec<(usize, usize, Span)>, mut put: impl FnMut(usize, usize)) -> usize {
    tensors.sort_by_key(|(_, words, _)| std::cmp::Reverse(*words));
    let mut placed: Vec<(Span, Range<usize>)> = Vec::new();
    for (id, words, life) in tensors {
        let meets = |other: &Span| other.0 <= life.1 && life.0 <= other.1;
        // ANCHOR: place
        let mut taken: Vec<Range<usize>> = placed
            .iter()
            .filter(|(other, _)| meets(other))
            .map(|(_, range)| range.clone())
            .collect();
        taken.sort_by_key(|range| range.start);
        let len = words.next_multiple_of(ALIGN);
        let start = taken.iter().fold(0, |start, range| {
            if start + len <= range.start { start } else { start.max(range.end) }
        });
        put(id, start);
        placed.push((life, start..start + len));
        // ANCHOR_END: place
    }
    placed.iter().map(|(_, range)| range.end).max().unwrap_or(0)
}
