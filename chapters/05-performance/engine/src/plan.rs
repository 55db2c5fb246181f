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

/// From a temporary's first group to its last, and whether it is seen in rows alone.
#[derive(Clone, Copy, Debug)]
struct Life {
    first: usize,
    last: usize,
    rows: bool,
}

impl Plan {
    /// The plan of a program. `fuse`: whether a block of rows goes through several calls, one after the other.
    pub fn new(program: &Program, fuse: bool) -> Self {
        let groups = groups(program, fuse);
        let lives = lives(program, &groups);
        let mut slots = vec![Slot::Arena(0); lives.len()];
        let (mut scratch, mut used) = (0, vec![0; groups.len()]);
        for (id, life) in lives.iter().enumerate().filter(|(_, life)| life.first < groups.len()) {
            let call = &program.calls[groups[life.first].start];
            if let (true, true, Work::Rows(rows)) =
                (fuse && life.rows, life.first == life.last, &call.work)
            {
                let words = program.temporaries[id] / rows.units * block_of(rows.units);
                slots[id] = Slot::Scratch(used[life.first]);
                used[life.first] += words.next_multiple_of(ALIGN);
                scratch = scratch.max(used[life.first]);
            }
        }
        let arena = pack(&program.temporaries, &lives, &mut slots);
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
    let mut lives =
        vec![Life { first: usize::MAX, last: 0, rows: true }; program.temporaries.len()];
    for (group, calls) in groups.iter().enumerate() {
        for call in &program.calls[calls.clone()] {
            for operand in call.reads().iter().chain(&call.writes()) {
                if let Place::Temporary(id) = operand.tensor.place {
                    let life = &mut lives[id as usize];
                    (life.first, life.last) = (life.first.min(group), life.last.max(group));
                    // A part of its rows is another range for each block than all of them.
                    let all = operand.tensor.words() == program.temporaries[id as usize];
                    life.rows &= operand.cut == Cut::Rows && all;
                }
            }
        }
    }
    for output in &program.outputs {
        if let Place::Temporary(id) = output.place {
            (lives[id as usize].last, lives[id as usize].rows) = (groups.len(), false);
        }
    }
    lives
}

/// Finds places in the arena, the largest tensors first: the lowest one that no tensor has that lives at the same time.
fn pack(words: &[usize], lives: &[Life], slots: &mut [Slot]) -> usize {
    let used = |id: &usize| slots[*id] == Slot::Arena(0) && lives[*id].first != usize::MAX;
    let mut order: Vec<usize> = (0..words.len()).filter(used).collect();
    order.sort_by_key(|id| std::cmp::Reverse(words[*id]));
    let mut placed: Vec<(usize, Range<usize>)> = Vec::new();
    for id in order {
        let life = lives[id];
        let meets =
            |other: &usize| lives[*other].first <= life.last && life.first <= lives[*other].last;
        // ANCHOR: place
        let mut taken: Vec<Range<usize>> = placed
            .iter()
            .filter(|(other, _)| meets(other))
            .map(|(_, range)| range.clone())
            .collect();
        taken.sort_by_key(|range| range.start);
        let len = words[id].next_multiple_of(ALIGN);
        let start = taken.iter().fold(0, |start, range| {
            if start + len <= range.start { start } else { start.max(range.end) }
        });
        slots[id] = Slot::Arena(start);
        placed.push((id, start..start + len));
        // ANCHOR_END: place
    }
    placed.iter().map(|(_, range)| range.end).max().unwrap_or(0)
}
