use lab::run::METRICS;
use std::{path::Path, process::Command};
use training::measured::command::{program, train};

/// A `train` made of a line of the shell, which is given the folder as `$1`.
fn line(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_whole_run_is_timed_and_its_epochs_are_read() {
    let epoch =
        r#"{"epoch":1,"seconds":0.5,"images_per_second":10,"learning_rate":1,"train_loss":1,"#
            .to_owned()
            + r#""train_accuracy":0.5,"test_loss":1,"test_accuracy":0.75}"#;
    let script = format!(
        "mkdir $1 && echo head >$1/{METRICS} && echo '{epoch}' >>$1/{METRICS} && sleep 0.02"
    );
    let done = train(line(&script), None).unwrap();
    assert_eq!(done.epochs.iter().map(|epoch| epoch.test_accuracy).collect::<Vec<_>>(), [0.75]);
    assert!(done.seconds >= 0.02, "{}", done.seconds);
}

#[test]
fn a_run_that_fails_says_why() {
    let why = |script| train(line(script), Some(Path::new("/data"))).unwrap_err().to_string();
    assert!(why("echo $2 $3 is empty >&2; exit 1").contains("--data /data is empty"));
    assert!(why("exit 0").contains(METRICS), "it left no metrics");
    assert!(program().is_none(), "a test is another program");
}
