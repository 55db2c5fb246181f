//! The test of the exercise `attention-tiles`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::State;
use lab::check::{SplitMix64, near, pairs};

const SIZE: usize = 5;

struct Case {
    query: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Case {
    /// `keys` keys whose scores reach about `far`.
    fn new(keys: usize, far: f64, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let (query, values) = (random.normals(SIZE, 1.0), random.normals(keys * SIZE, 1.0));
        Self { query, keys: random.normals(keys * SIZE, far), values }
    }

    /// The formula in f64.
    fn wanted(&self) -> Vec<f64> {
        let dot = |key: &[f32]| {
            self.query.iter().zip(key).map(|(q, k)| q * k).sum::<f32>() // the score as the state has it
        };
        let scores: Vec<f64> = self.keys.chunks(SIZE).map(|key| f64::from(dot(key))).collect();
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        let column = |at: usize| {
            let values = self.values.chunks(SIZE).zip(&powers);
            values.map(|(value, power)| power / sum * f64::from(value[at])).sum()
        };
        (0..SIZE).map(column).collect()
    }

    /// The state after the keys in `rows`, in blocks of `block`.
    fn state(&self, rows: std::ops::Range<usize>, block: usize) -> State {
        let mut state = State::new(SIZE);
        for first in rows.clone().step_by(block) {
            let part = first * SIZE..(first + block).min(rows.end) * SIZE;
            state.block(&self.query, &self.keys[part.clone()], &self.values[part]);
        }
        state
    }

    #[track_caller]
    fn agrees(&self, state: State, how: &str) {
        near(state.finish(), self.wanted(), 1e-4, how);
    }
}

#[test]
fn any_blocks_give_the_same_result() {
    for ((seed, far), keys) in pairs((1..).zip([0.0, 1.0, 20.0, 500.0]), [1, 2, 7, 100]) {
        let case = Case::new(keys, far, seed);
        for block in [1, 2, 3, 64, 1000] {
            let how = format!("{keys} keys in blocks of {block}, scores up to about {far}");
            case.agrees(case.state(0..keys, block), &how);
        }
    }
}

#[test]
fn two_states_join() {
    let case = Case::new(50, 30.0, 9);
    for cut in [0, 1, 25, 50] {
        let (left, right) = (case.state(0..cut, 8), case.state(cut..50, 8));
        case.agrees(left.clone().join(&right), &format!("joined at {cut}"));
        case.agrees(right.join(&left), &format!("joined at {cut}, the other way"));
    }
}

#[test]
fn an_empty_block_changes_nothing() {
    let case = Case::new(6, 3.0, 4);
    let mut state = State::new(SIZE);
    state.block(&case.query, &[], &[]);
    state.block(&case.query, &case.keys, &case.values);
    state.block(&case.query, &[], &[]);
    case.agrees(state, "empty blocks before and after");
}

#[test]
fn memory_does_not_grow_with_the_keys() {
    let case = Case::new(4096, 1.0, 5);
    let (few, many) = (case.state(0..64, 64).held(), case.state(0..4096, 64).held());
    assert_eq!(few, many, "numbers held after 64 keys and after 4,096");
    assert!(many <= 2 * SIZE + 4, "{many} numbers for a query of {SIZE}");
}
