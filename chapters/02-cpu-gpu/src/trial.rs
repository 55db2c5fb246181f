//! Each rung in a program of its own, before it runs in this one.
//!
//! A kernel that reads outside of its memory ends more than itself: CUDA gives up all that the program has on that GPU, and
//! every call that follows fails with the same code. So this program starts itself once more with [`VARIABLE`] set, and
//! that one ([`run_if_asked`]) runs each rung on small products and says which are right. A rung that takes it down, or does
//! not end, is left out here; the others are tried by the next.

use crate::{
    Error, Result,
    gpu::{self, Gpu},
    ladder,
    tensor_cores::{self, CudaRung, CudaTiles},
    verify::{Problem, Verdict, verify},
};
use lab::probe::within;
use matmul::Shape;
use std::{
    collections::BTreeMap,
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The environment variable that turns this program into a trial: `DEVICE:all:RUNG,RUNG…`, or `first` for each rung's
/// first tiles alone.
pub const VARIABLE: &str = "THROUGHPUT_TRY_RUNGS";

/// Lengths that fit no tile, that fit some, and several blocks of each kind.
const SHAPES: [(usize, usize, usize); 3] = [(131, 77, 259), (256, 64, 512), (300, 256, 700)];
/// For each choice of tiles: some blocks inside, some at an edge.
const OF_TILES: Shape = Shape { m: 517, k: 260, n: 1028 };

/// Tries the rungs that [`VARIABLE`] names, if it does, and prints what comes of each. Returns whether there were any.
///
/// # Errors
/// If the variable is not of its form, or the device does not start.
pub fn run_if_asked() -> Result<bool> {
    let Ok(words) = env::var(VARIABLE) else { return Ok(false) };
    let (device, tiles, names) = asked(&words)?;
    let gpu = gpu::open(device)?;
    for name in names {
        say(&format!("begins {name}"));
        if let Err(why) = one(&*gpu, name, tiles) {
            // What follows might fail for this one's fault: the next program tries it.
            say(&format!("failed {name}: {}", why.to_string().replace('\n', " ")));
            break;
        }
        say(&format!("passed {name}"));
    }
    Ok(true)
}

/// One line for the program that waits. Nobody may be there any more.
fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{MARK}{words}").and_then(|()| out.flush());
}

/// What such a line has before its words, wherever it begins.
const MARK: &str = "trial: ";

/// `DEVICE:all:RUNG,RUNG…`; a device's name may have a colon itself.
///
/// # Errors
/// If it has another form.
pub fn asked(words: &str) -> Result<(&str, Tiles, Vec<&str>)> {
    let parts = || {
        let (rest, names) = words.rsplit_once(':')?;
        let (device, tiles) = rest.rsplit_once(':')?;
        let tiles = match tiles {
            "all" => Tiles::All,
            "first" => Tiles::First,
            _ => return None,
        };
        Some((device, tiles, names.split(',').filter(|name| !name.is_empty()).collect()))
    };
    parts().ok_or_else(|| {
        Error::message(format!("{VARIABLE}={words} is not of the form DEVICE:all:RUNG,RUNG"))
    })
}

/// Which of a rung's tiles are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// Those that it has without tuning.
    First,
    /// All that a tuner would launch.
    All,
}

/// Runs one rung, and says what is wrong with it.
///
/// # Errors
/// If its product is wrong, or the device fails.
pub fn one(gpu: &dyn Gpu, name: &str, tiles: Tiles) -> Result<()> {
    let right = |what: &str, verdict: Verdict| match verdict {
        Ok(_) => Ok(()),
        Err(fault) => Err(Error::message(format!("its product is wrong ({what}): {fault}"))),
    };
    let shapes = SHAPES.map(|(m, k, n)| Shape::new(m, k, n));
    if let Some(rung) = CudaRung::ALL.into_iter().find(|rung| rung.name() == name) {
        let Some(cuda) = gpu.as_cuda() else { return Ok(()) };
        let shared = gpu.about().shared_memory;
        let rung = rung.fitting(shared);
        // What this GPU can't run is said where it is measured.
        if rung.runs_on(cuda.capability()).is_err() {
            return Ok(());
        }
        for shape in shapes {
            let problem = if rung.bf16() {
                Problem::random_bf16(shape, 5)
            } else {
                Problem::random(shape, 5)
            };
            right(&shape_name(shape), tensor_cores::check(cuda, rung, &problem)?)?;
        }
        if tiles == Tiles::All && matches!(rung, CudaRung::AsyncCopy(_)) {
            let problem = Problem::random(OF_TILES, 6);
            for tiles in CudaTiles::fitting(shared) {
                let verdict = tensor_cores::check(cuda, CudaRung::AsyncCopy(tiles), &problem)?;
                right(&tiles.name(), verdict)?;
            }
        }
        return Ok(());
    }
    let rung = ladder::rung(name)?;
    for shape in shapes {
        let compiled = rung.compile(gpu, shape)?;
        let problem = Problem::random(shape, 5);
        let verdict = verify(gpu, &problem, |abc| compiled.launch(gpu, abc, shape))?;
        right(&shape_name(shape), verdict)?;
    }
    if tiles == Tiles::All {
        let problem = Problem::random(OF_TILES, 6);
        for tiles in rung.candidates(gpu.about()) {
            let compiled = rung.compile_with(gpu, tiles, true)?;
            let verdict = verify(gpu, &problem, |abc| compiled.launch(gpu, abc, OF_TILES))?;
            right(tiles.name, verdict)?;
        }
    }
    Ok(())
}

fn shape_name(Shape { m, k, n }: Shape) -> String {
    format!("{m}×{k} and {k}×{n}")
}

/// How to try rungs.
pub struct Trial {
    /// The program to start; with its arguments it must come to [`run_if_asked`].
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long one such program may take.
    pub limit: Duration,
}

impl Trial {
    /// By this program, with the arguments that lead it to `experiment`; it leaves no record in `records`.
    ///
    /// # Errors
    /// If the system does not say which program this is.
    pub fn by_this(experiment: &str, records: &Path, limit: Duration) -> Result<Self> {
        let program = env::current_exe().map_err(|e| {
            Error::message(format!("the system does not say which program this is ({e})"))
        })?;
        let records = records.display().to_string();
        let arguments = ["measure", experiment, "--records", &records].map(str::to_owned).to_vec();
        Ok(Self { program, arguments, limit })
    }

    /// The rungs that failed on this device, and why. None where no program could be started: then nothing is known.
    pub fn faults(
        &self,
        device: &str,
        tiles: Tiles,
        names: &[&'static str],
    ) -> BTreeMap<&'static str, String> {
        let mut faults = BTreeMap::new();
        let mut left = names.to_vec();
        while !left.is_empty() {
            let (said, end) = self.start(device, tiles, &left);
            // What the program said last of each.
            let lines = said.lines().filter_map(|line| {
                let (what, rest) = line.split_once(MARK)?.1.split_once(' ')?;
                let (name, why) = rest.split_once(": ").unwrap_or((rest, ""));
                Some((name, (what, why)))
            });
            let came: BTreeMap<&str, (&str, &str)> = lines.collect();
            let before = left.len();
            left.retain(|&name| {
                let fault = match came.get(name) {
                    None => return true,
                    Some(("passed", _)) => return false,
                    Some(("failed", why)) => (*why).to_owned(),
                    Some(_) => format!("the program that tried it {end}"),
                };
                faults.insert(name, fault);
                false
            });
            if left.len() == before {
                break; // it does not come to its work
            }
        }
        faults
    }

    /// What one program printed, and how it ended.
    fn start(&self, device: &str, tiles: Tiles, names: &[&str]) -> (String, String) {
        let tiles = if tiles == Tiles::All { "all" } else { "first" };
        let mut program = Command::new(&self.program);
        program
            .args(&self.arguments)
            .env(VARIABLE, format!("{device}:{tiles}:{}", names.join(",")));
        match within(self.limit, &mut program) {
            Some((said, Some(status))) => (said, format!("ended with {status}")),
            Some((said, None)) => {
                (said, format!("did not end in {:.0} s", self.limit.as_secs_f64()))
            }
            None => (String::new(), "did not start".to_owned()),
        }
    }
}
