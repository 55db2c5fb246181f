use cpu_gpu::gpu::testing;
use cpu_gpu::trial::{Tiles, Trial, VARIABLE, asked, one, run_if_asked};
use std::{collections::BTreeMap, time::Duration};

#[test]
fn the_program_is_told_what_to_try() {
    let (device, tiles, names) = asked("cuda:1:all:naive,wgmma").unwrap();
    assert_eq!((device, tiles, names), ("cuda:1", Tiles::All, vec!["naive", "wgmma"]));
    assert_eq!(asked("cuda:first:naive").unwrap().1, Tiles::First);
    for words in ["", "cuda", "cuda:naive", "cuda:some:naive"] {
        assert!(asked(words).unwrap_err().to_string().contains("DEVICE:all"), "{words}");
    }
    assert!(!run_if_asked().unwrap(), "not asked");
}

#[test]
fn a_rung_is_run_and_judged() {
    let Some(gpu) = testing::opencl() else { return };
    one(&*gpu, "tile2d", Tiles::First).unwrap();
    assert!(one(&*gpu, "no-such-rung", Tiles::First).is_err());
    // For CUDA alone: nothing to try here.
    one(&*gpu, "wgmma", Tiles::All).unwrap();
}

#[cfg(unix)]
mod with_a_script_for_a_program {
    use super::*;

    const RUNGS: [&str; 4] = ["naive", "shared", "wmma", "wgmma"];

    /// Tries [`RUNGS`] with a program that does `body` for each name.
    fn faults(body: &str, limit: u64) -> BTreeMap<&'static str, String> {
        let script = format!(
            "echo the words of others; for name in $(echo ${{{VARIABLE}##*:}} | tr , ' '); do \
             echo some trial: begins $name; {body}; echo trial: passed $name; done"
        );
        let arguments = vec!["-c".into(), script];
        let trial =
            Trial { program: "/bin/sh".into(), arguments, limit: Duration::from_millis(limit) };
        trial.faults("cuda", Tiles::First, &RUNGS)
    }

    #[test]
    fn one_failing_rung_costs_one_rung() {
        assert!(faults("true", 5000).is_empty());
        let failed =
            faults("[ $name != shared ] || { echo trial: failed shared: why; exit; }", 5000);
        assert_eq!(failed, BTreeMap::from([("shared", "why".to_owned())]));
        let killed = faults("[ $name != naive -a $name != wmma ] || kill -9 $$", 5000);
        assert_eq!(killed.keys().copied().collect::<Vec<_>>(), ["naive", "wmma"]);
        assert!(killed["wmma"].contains("ended with signal: 9"), "{killed:?}");
    }

    #[test]
    fn a_rung_that_does_not_end_costs_the_limit() {
        let stuck = faults("[ $name != wgmma ] || exec sleep 60", 1500);
        assert_eq!(stuck.keys().copied().collect::<Vec<_>>(), ["wgmma"]);
        assert!(stuck["wgmma"].contains("did not end in"), "{stuck:?}");
    }

    #[test]
    fn a_program_that_does_not_start_says_nothing_of_any_rung() {
        let trial = |program: &str| Trial {
            program: program.into(),
            arguments: Vec::new(),
            limit: Duration::from_secs(5),
        };
        for program in ["/no/such/program", "/bin/false"] {
            assert!(trial(program).faults("cuda", Tiles::All, &RUNGS).is_empty());
        }
    }
}
