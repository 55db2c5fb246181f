//! The page's warps cost what the simulator counts. The page's script runs on Node.js.

use cpu_gpu::simt::{Counts, Machine, WARP};
use lab::testing;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// What an expression on the page's script (`page`) comes to; `None` where there is no Node.js.
fn run_script<T: DeserializeOwned>(expression: &str) -> Option<T> {
    let found = testing::node("warp-viewer.js", &format!("() => {expression}"), &Value::Null)?;
    Some(serde_json::from_value(found).unwrap())
}

/// One load of a warp, and what the page says of it.
#[derive(Deserialize)]
struct Load<Said> {
    name: String,
    /// Bytes for each thread.
    bytes: usize,
    /// The byte at which each thread begins.
    starts: Vec<usize>,
    said: Said,
}

/// Every pattern of a memory, every position of its knob, every type.
fn loads<Said: DeserializeOwned>(memory: &str) -> Option<Vec<Load<Said>>> {
    run_script(&format!(
        "page.PATTERNS.{memory}.flatMap((pattern) => {{ \
           const {{ least, most }} = pattern.knob ?? {{ least: 0, most: 0 }}; \
           const knobs = Array.from({{ length: most - least + 1 }}, (_, at) => least + at); \
           return knobs.flatMap((knob) => page.TYPES.map((type) => {{ \
             const starts = page.starts(pattern, knob, type); \
             const name = `${{pattern.id}} ${{knob}} ${{type.id}}`; \
             const said = page.{memory}Load(starts, type.bytes); \
             return {{ name, bytes: type.bytes, starts, said }}; }})); }})"
    ))
}

impl<Said> Load<Said> {
    /// The word at which each thread begins. Two values of two bytes share one.
    fn words(&self) -> Vec<usize> {
        self.starts.iter().map(|start| start / 4).collect()
    }

    /// What the simulator counts for it, in shared memory or in global memory.
    fn count(&self, shared: bool) -> Counts {
        let words = &self.words();
        let len = words.iter().max().unwrap() + 4;
        let mut machine = Machine::unchecked(0); // what is loaded was never written
        let global = machine.unwritten(len);
        let load = |t: cpu_gpu::simt::Thread| async move {
            let word = words[t.index[0]];
            let [tile] = t.shared([if shared { len } else { 0 }]);
            match (shared, self.bytes == 16) {
                (true, true) => drop(t.load4(tile, word).await),
                (true, false) => drop(t.load(tile, word).await),
                (false, true) => drop(t.load4(global, word).await),
                (false, false) => drop(t.load(global, word).await),
            }
        };
        machine.launch(&self.name, [1, 1], [WARP, 1], load).unwrap()
    }
}

#[derive(Deserialize)]
struct GlobalLoad {
    sectors: Vec<usize>,
    lines: Vec<usize>,
    useful: u64,
    moved: u64,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct SharedLoad {
    passes: u64,
    ideal: u64,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    words: Vec<usize>,
    lanes: Vec<usize>,
}

#[test]
fn the_page_fetches_the_sectors_that_the_simulator_counts() {
    let Some(all) = loads::<GlobalLoad>("global") else { return };
    assert!(all.len() > 300, "{}", all.len());
    for load in all {
        let (Load { name, said, .. }, counts) = (&load, load.count(false));
        assert_eq!(said.sectors.len() as u64, counts.load_sectors, "{name}");
        assert_eq!((said.moved, said.steps.len()), (counts.moved_bytes(), said.sectors.len()));
        // The simulator counts words, and may not see that half a word is enough.
        if load.bytes >= 4 {
            assert_eq!(said.useful, counts.useful_bytes, "{name}");
        }
        assert!(said.useful <= counts.useful_bytes && said.useful <= said.moved, "{name}");
        let mut lines: Vec<usize> = said.sectors.iter().map(|sector| sector / 4).collect();
        lines.dedup();
        assert_eq!(said.lines, lines, "{name}");
        // Each thread is served by one sector, the one that has its first byte.
        for (lane, start) in load.starts.iter().enumerate() {
            let by = said.steps.iter().filter(|step| step.lanes.contains(&lane));
            let words: Vec<&[usize]> = by.map(|step| &step.words[..]).collect();
            assert_eq!(words.len(), 1, "{name}: thread {lane}");
            assert!(words[0].contains(&(start / 4)), "{name}: thread {lane}");
        }
    }
}

#[test]
fn the_page_takes_the_passes_that_the_simulator_counts() {
    let Some(all) = loads::<SharedLoad>("shared") else { return };
    assert!(all.len() > 150, "{}", all.len());
    for load in all {
        let (Load { name, said, .. }, counts) = (&load, load.count(true));
        assert_eq!(said.passes, counts.shared_passes, "{name}");
        assert_eq!(said.ideal, counts.shared_ideal, "{name}");
        assert_eq!(said.steps.len() as u64, said.passes, "{name}");
        // A bank gives at most one word per wavefront, and at the end all lanes have all their words.
        let mut given = vec![Vec::new(); WARP];
        for step in &said.steps {
            let mut banks: Vec<usize> = step.words.iter().map(|word| word % 32).collect();
            banks.sort_unstable();
            banks.dedup();
            assert_eq!(banks.len(), step.words.len(), "{name}");
            step.lanes.iter().for_each(|lane| given[*lane].extend(&step.words));
        }
        for (first, given) in load.words().into_iter().zip(given) {
            let wanted = first..first + (load.bytes / 4).max(1);
            assert!(wanted.clone().all(|word| given.contains(&word)), "{name}: {wanted:?}");
        }
    }
}
