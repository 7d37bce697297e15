//! Tests of whom the first replica names where others say nothing.

use kato_test_needs::wait_until;

use super::*;

/// Replicas that never say anything, of which one is stopped, and what keeps them from having ended.
fn one_is_stopped(n: usize, stopped: usize) -> (ReplicaProcesses, Sender<(usize, String)>) {
    let children: Vec<Child> = (1..n)
        .map(|_| {
            Command::new("sleep")
                .arg("1000")
                .spawn()
                .expect("`sleep` is there")
        })
        .collect();
    let process = children[stopped - 1].id();
    let sent = Command::new("kill")
        .args(["-STOP", &process.to_string()])
        .status();
    assert!(sent.expect("`kill` is there").success());
    wait_until("the process is stopped", || is_stopped(process));
    let (sender, words) = channel();
    let processes = ReplicaProcesses {
        children,
        words,
        limit: Duration::ZERO,
    };
    (processes, sender)
}

#[test]
fn of_those_that_are_waited_for_too_long_the_stopped_one_is_named() {
    for (stopped, others) in [
        (1, OtherReplicas::OneGone),
        (2, OtherReplicas::OneGone),
        (3, OtherReplicas::Through),
    ] {
        let (processes, _sender) = one_is_stopped(4, stopped);
        let expected = processes.children[stopped - 1].id();
        let error = processes.finish(others).unwrap_err();
        let named = matches!(error, ReplicaError::Silent { rank, process, .. } if (rank, process) == (stopped, expected));
        assert!(named, "{error}");
    }
}

#[test]
fn one_that_has_failed_is_named_before_one_that_is_stopped() {
    let (mut processes, sender) = one_is_stopped(3, 1);
    processes.children[1].kill().unwrap();
    sender.send((2, "enough".to_owned())).unwrap();
    let error = processes.finish(OtherReplicas::OneGone).unwrap_err();
    let named = matches!(error, ReplicaError::Failed { rank: 2, .. });
    assert!(named, "{error}");
}

#[test]
fn where_none_is_stopped_the_first_is_named() {
    let (processes, _sender) = one_is_stopped(4, 1);
    assert_eq!(processes.silent_of([2, 3]), Some(2));
    assert_eq!(processes.silent_of([]), None);
    processes.finish(OtherReplicas::Needless).unwrap();
}
