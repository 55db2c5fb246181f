//! Recitation: the longest part of a text that stands word for word in another.
//!
//! The training text is large and what the model wrote is small, so the index is made of the latter: a suffix automaton, which
//! accepts every part of the written texts and has at most two states a byte (Blumer and others 1985). The training text runs
//! through it once, byte by byte. Memory is bounded by what the model wrote, whatever it was trained on.

use crate::{Error, Result};

/// The largest amount of text that is indexed: the automaton takes some hundred times as much memory.
pub const MOST: usize = 1 << 20;

/// Lies between two texts: no byte.
const BETWEEN: u16 = 256;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// The longest copy in each written text, in bytes.
    pub lengths: Vec<usize>,
    /// The longest of all.
    pub longest: Vec<u8>,
    /// In which training text it ends first, counted from 0.
    pub source: usize,
}

/// The longest parts of `written` that `training` contains.
///
/// # Errors
/// [`Error::Config`] if more than a mebibyte was written.
pub fn copies(
    written: &[impl AsRef<[u8]>],
    training: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Result<Copies> {
    // ANCHOR: search
    let mut automaton = Automaton::of(written)?;
    let mut found = Copies::default();
    for (source, text) in training.into_iter().enumerate() {
        let (mut state, mut length) = (0, 0);
        for (end, byte) in text.as_ref().iter().enumerate() {
            (state, length) = automaton.follow(state, length, u16::from(*byte));
            automaton.met[state] = automaton.met[state].max(length);
            if length as usize > found.longest.len() {
                let from = end + 1 - length as usize;
                found.longest = text.as_ref()[from..=end].to_vec();
                found.source = source;
            }
        }
    }
    // ANCHOR_END: search
    automaton.spread();
    found.lengths = written.iter().map(|text| automaton.longest_in(text.as_ref())).collect();
    Ok(found)
}

/// A suffix automaton. A state stands for parts of the text that end at the same places; the longest of them has `length`
/// bytes, and `link` is the state of their longest common suffix that ends elsewhere too.
struct Automaton {
    length: Vec<u32>,
    link: Vec<usize>,
    edges: Vec<Vec<(u16, usize)>>,
    /// The edges of state 0, by byte: it has many and is asked often.
    first: Vec<usize>,
    /// The longest part of the state that the training text contains.
    met: Vec<u32>,
}

/// No state.
const NONE: usize = usize::MAX;

impl Automaton {
    fn of(texts: &[impl AsRef<[u8]>]) -> Result<Self> {
        let bytes: usize = texts.iter().map(|text| text.as_ref().len() + 1).sum();
        if bytes > MOST {
            let why = format!("{bytes} bytes are too many to look for; take at most {MOST}");
            return Err(Error::Config(why));
        }
        let first = vec![NONE; usize::from(BETWEEN) + 1];
        let mut all = Self {
            length: vec![0],
            link: vec![NONE],
            edges: vec![Vec::new()],
            first,
            met: Vec::new(),
        };
        let mut last = 0;
        for text in texts {
            for byte in text.as_ref() {
                last = all.extend(last, u16::from(*byte));
            }
            last = all.extend(last, BETWEEN);
        }
        all.met = vec![0; all.length.len()];
        Ok(all)
    }

    fn edge(&self, state: usize, symbol: u16) -> usize {
        if state == 0 {
            return self.first[usize::from(symbol)];
        }
        let found = self.edges[state].iter().find(|(other, _)| *other == symbol);
        found.map_or(NONE, |(_, to)| *to)
    }

    fn set_edge(&mut self, state: usize, symbol: u16, to: usize) {
        if state == 0 {
            self.first[usize::from(symbol)] = to;
        } else if let Some(edge) = self.edges[state].iter_mut().find(|(s, _)| *s == symbol) {
            edge.1 = to;
        } else {
            self.edges[state].push((symbol, to));
        }
    }

    fn add(&mut self, length: u32, link: usize, edges: Vec<(u16, usize)>) -> usize {
        self.length.push(length);
        self.link.push(link);
        self.edges.push(edges);
        self.length.len() - 1
    }

    /// One symbol more behind the text whose state is `last`. Returns its state.
    fn extend(&mut self, last: usize, symbol: u16) -> usize {
        let new = self.add(self.length[last] + 1, 0, Vec::new());
        let mut state = last;
        while state != NONE && self.edge(state, symbol) == NONE {
            self.set_edge(state, symbol, new);
            state = self.link[state];
        }
        if state == NONE {
            return new;
        }
        let next = self.edge(state, symbol);
        let length = self.length[state] + 1;
        if self.length[next] == length {
            self.link[new] = next;
            return new;
        }
        // Some parts of `next` now end here too: they get a state of their own.
        let copy = self.add(length, self.link[next], self.edges[next].clone());
        while state != NONE && self.edge(state, symbol) == next {
            self.set_edge(state, symbol, copy);
            state = self.link[state];
        }
        self.link[next] = copy;
        self.link[new] = copy;
        new
    }

    /// The longest part that ends with this symbol, after one of `length` bytes in `state`.
    fn follow(&self, mut state: usize, mut length: u32, symbol: u16) -> (usize, u32) {
        loop {
            let next = self.edge(state, symbol);
            if next != NONE {
                return (next, length + 1);
            }
            if state == 0 {
                return (0, 0);
            }
            state = self.link[state];
            length = self.length[state];
        }
    }

    /// What contains a part contains its suffixes; and where a state's parts were not met, the longest suffix that was counts.
    fn spread(&mut self) {
        let mut order: Vec<usize> = (1..self.length.len()).collect();
        order.sort_unstable_by_key(|state| self.length[*state]);
        for &state in order.iter().rev() {
            let link = self.link[state];
            if self.met[state] > 0 {
                self.met[link] = self.length[link];
            }
        }
        for &state in &order {
            if self.met[state] == 0 {
                self.met[state] = self.met[self.link[state]];
            }
        }
    }

    /// After [`Automaton::spread`]: the longest copy in one of the texts.
    fn longest_in(&self, text: &[u8]) -> usize {
        let (mut state, mut longest) = (0, 0);
        for byte in text {
            state = self.edge(state, u16::from(*byte));
            longest = longest.max(self.met[state]);
        }
        longest as usize
    }
}
