use cpu_gpu::counters::{
    Counter, CounterValues, Target, asked, fields, launch, number, parse, profile, run_if_asked,
    simulated, trouble,
};
use cpu_gpu::simt;
use std::fs;
use std::path::{Path, PathBuf};

/// A table as Nsight Compute's documentation describes it, with the columns of version 2023 and later.
const TABLE: &str = r#"==PROF== Connected to process 4242 (/home/reader/throughput/target/debug/throughput)
==PROF== Profiling "naive" - 0: 0%....50%....100% - 4 passes
==PROF== Disconnected from process 4242
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4242","throughput","127.0.0.1","naive(const float *, const float *, float *, unsigned int, unsigned int, unsigned int)","1","13","(32, 32, 1)","(8, 8, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","17,301,504"
"0","4242","throughput","127.0.0.1","naive(const float *, const float *, float *, unsigned int, unsigned int, unsigned int)","1","13","(32, 32, 1)","(8, 8, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","","1,048,576"
"0","4242","throughput","127.0.0.1","naive(const float *, const float *, float *, unsigned int, unsigned int, unsigned int)","1","13","(32, 32, 1)","(8, 8, 1)","0","9.0","Command line profiler metrics","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","inst","16777216"
"0","4242","throughput","127.0.0.1","naive(const float *, const float *, float *, unsigned int, unsigned int, unsigned int)","1","13","(32, 32, 1)","(8, 8, 1)","0","9.0","Command line profiler metrics","l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum","","0"
"0","4242","throughput","127.0.0.1","naive(const float *, const float *, float *, unsigned int, unsigned int, unsigned int)","1","13","(32, 32, 1)","(8, 8, 1)","0","9.0","Command line profiler metrics","smsp__sass_branch_targets_threads_divergent.sum","","n/a"
"1","4242","throughput","127.0.0.1","other","1","13","(32, 32, 1)","(8, 8, 1)","0","9.0","Command line profiler metrics","l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum","","7"
"#;

#[test]
fn the_table_is_read_as_documented() {
    let counts = parse(TABLE, "naive").unwrap();
    assert_eq!(
        counts,
        CounterValues::from([
            (Counter::LoadSectors, 17_301_504.0),
            (Counter::LoadRequests, 1_048_576.0),
            (Counter::Fma, 16_777_216.0),
            (Counter::BankConflicts, 0.0),
        ])
    );
    assert_eq!(
        parse(TABLE, "other").unwrap(),
        CounterValues::from([(Counter::BankConflicts, 7.0)])
    );
    assert!(parse(TABLE, "none").is_err());
    assert!(parse("==PROF== Connected\n", "naive").unwrap_err().to_string().contains("no table"));
    let odd = TABLE.replace("\"17,301,504\"", "\"many\"");
    assert!(parse(&odd, "naive").unwrap_err().to_string().contains("many sector"));
    let percent = TABLE.replace("\"sector\"", "\"%\"");
    assert!(parse(&percent, "naive").is_err());
}

#[test]
fn columns_may_come_in_any_order_and_more_of_them() {
    let table = "\"Metric Value\",\"Kernel Name\",\"New, here\",\"Metric Unit\",\"Metric Name\"\n\
                 \"2.5\",\"k\",\"a \"\"b\"\", c\",\"K\",\"no_such_metric.sum\"\n\
                 \"3\",\"k\",\"a \"\"b\"\", c\",\"Ksector\",\"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum\"\n";
    assert_eq!(parse(table, "k").unwrap(), CounterValues::from([(Counter::StoreSectors, 3000.0)]));
    assert_eq!(fields(r#""a, b","c ""d""",e,"""#), ["a, b", "c \"d\"", "e", ""]);
}

#[test]
fn a_number_is_read_as_any_country_writes_it() {
    for (text, wanted) in [
        ("0", Some(0.0)),
        ("16777216", Some(16_777_216.0)),
        ("16,777,216", Some(16_777_216.0)),
        ("16.777.216", Some(16_777_216.0)),
        ("16 777 216", Some(16_777_216.0)),
        ("1,024", Some(1024.0)),
        ("16,777,216.00", Some(16_777_216.0)),
        ("16777216.00", Some(16_777_216.0)),
        ("12.5", None),
        ("0.125", None),
        ("", None),
        ("-3", None),
        ("1,02", None),
        ("nan", None),
        ("inf", None),
    ] {
        assert_eq!(number(text), wanted, "{text}");
    }
}

#[test]
fn troubles_are_one_sentence_with_the_way_out() {
    let text = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance \
                Counters on the target device 0. For instructions on enabling permissions and to get more \
                information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n==WARNING== No kernels were \
                profiled.";
    let why = trouble(text).unwrap();
    assert!(
        why.contains("administrator") && why.contains("as root") && !why.contains('\n'),
        "{why}"
    );
    let why =
        trouble("error: this machine has no device cuda\n==WARNING== No kernels were profiled.\n")
            .unwrap();
    assert!(why.contains("no device cuda") && why.contains("doctor"), "{why}");
    let why = trouble("==ERROR== Failed to find metric x").unwrap();
    assert_eq!(why, "`ncu` failed: Failed to find metric x");
    assert_eq!(trouble(TABLE), None);
}

#[test]
fn the_program_is_told_what_to_launch() {
    assert_eq!(asked("warp_tiles:256").unwrap(), ("warp_tiles", 256));
    for words in ["", "naive", "naive:", "naive:-1", "naive:1:2"] {
        let error = asked(words).unwrap_err().to_string();
        assert!(error.contains("RUNG:N"), "{error}");
    }
    assert!(launch("no-such-rung", 8).unwrap_err().to_string().contains("no rung"));
    assert!(!run_if_asked().unwrap(), "not asked");
}

#[test]
fn the_simulator_counts_under_the_hardwares_names() {
    let counts = simulated(&simt::Counts {
        load_requests: 1,
        load_sectors: 2,
        store_requests: 3,
        store_sectors: 4,
        shared_passes: 5,
        shared_ideal: 3,
        flops: 14,
        divergences: 9,
        ..simt::Counts::default()
    });
    let wanted = [1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 7.0, 9.0];
    assert_eq!(counts, Counter::ALL.into_iter().zip(wanted).collect());
}

#[test]
fn names_are_all_different() {
    for of in [Counter::name, Counter::metric] {
        let names: std::collections::HashSet<_> = Counter::ALL.map(of).into_iter().collect();
        assert_eq!(names.len(), Counter::ALL.len());
    }
}

#[cfg(unix)]
mod with_a_fake_ncu {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// A script instead of ncu. It checks what it is asked, runs the target, and writes `table`.
    fn fake(body: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let ncu = folder.path().join("ncu");
        fs::write(&ncu, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&ncu, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, ncu)
    }

    fn target(script: &str) -> Target {
        Target { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
    }

    #[test]
    fn a_launch_is_counted_from_the_command_line_to_the_number() {
        let metrics: Vec<&str> = Counter::ALL.iter().map(|c| c.metric()).collect();
        let metrics = metrics.join(",");
        // Everything up to the log's name is as documented; what follows is the target, which must see the
        // variable. The table is made from what it prints.
        let (_folder, ncu) = fake(&format!(
            r#"[ "$*" != "${{*#--clock-control none --csv --print-units base --launch-count 1 --kernel-name shared --metrics {metrics} --log-file }}" ] || exit 9
[ "$LC_ALL" = C ] || exit 8
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
said=$("$@") || exit 7
{{
echo '==PROF== Connected to process 1'
echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
echo "\"0\",\"shared\",\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\",\"\",\"$said\""
}} > "$log""#
        ));
        let counts = profile(
            &ncu,
            &target("[ $THROUGHPUT_COUNTERS_RUN = shared:64 ] && echo 1,234"),
            "shared",
            64,
        )
        .unwrap();
        assert_eq!(counts, CounterValues::from([(Counter::SharedPasses, 1234.0)]));
        let error = profile(&ncu, &target("exit 1"), "shared", 64).unwrap_err().to_string();
        assert!(error.contains("ended with"), "{error}");
    }

    #[test]
    fn a_refusal_is_told_wherever_it_is_printed() {
        for to in ["", ">&2"] {
            let (_folder, ncu) = fake(&format!(
                "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' {to}; exit 1"
            ));
            let error = profile(&ncu, &target("true"), "naive", 8).unwrap_err().to_string();
            assert!(error.contains("administrator"), "{error}");
        }
        let error = profile(Path::new("/no/such/ncu"), &target("true"), "naive", 8).unwrap_err();
        assert!(error.to_string().contains("does not start"), "{error}");
    }
}
