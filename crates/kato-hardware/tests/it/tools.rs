//! Tools of graphics processors that are missing, fail, lie or hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use kato_hardware::facts::Gpus;
use kato_hardware::figure::Finding;

use crate::support::short;

/// What is found with this script in the place of `nvidia-smi`.
fn with_tool(script: Option<&str>) -> Gpus {
    let data = tempfile::tempdir().unwrap();
    let tools = tempfile::tempdir().unwrap();
    if let Some(script) = script {
        let path = tools.path().join("nvidia-smi");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let analyzer = short(data.path())
        .with_gpu_tools(tools.path())
        .build()
        .unwrap();
    analyzer.analyze_full().gpus
}

#[test]
fn a_tool_that_works_is_believed() {
    let gpus = with_tool(Some("echo 'NVIDIA L4, 23034, 570.133.20'"));
    let nvidia = gpus.nvidia.known().unwrap();
    assert_eq!(nvidia[0].memory_bytes, Finding::Known(23_034 << 20));
}

#[test]
fn without_tools_every_vendor_is_unknown() {
    let gpus = with_tool(None);
    for (found, tool) in [
        (&gpus.nvidia, "nvidia-smi"),
        (&gpus.apple, "system_profiler"),
    ] {
        let reason = found.reason().unwrap();
        assert!(
            reason.contains(tool) && reason.contains("not there"),
            "{reason}"
        );
    }
    // The kernel may tell of AMD's without a tool.
    assert!(gpus.amd.known().is_none_or(|found| !found.is_empty()));
}

#[test]
fn tools_that_fail_or_talk_nonsense_are_unknown() {
    let cases = [
        (
            "echo 'driver/library version mismatch' >&2; exit 18",
            "version mismatch",
        ),
        ("echo '<html>'", "not understood"),
        ("exit 0", "not understood"),
        (
            "echo 'NVIDIA L4, 99999999999999999999999, 1'; kill -9 $$",
            "failed",
        ),
    ];
    for (script, expected) in cases {
        let gpus = with_tool(Some(script));
        let reason = gpus.nvidia.reason().unwrap();
        assert!(reason.contains(expected), "{script}: {reason}");
    }
}

#[test]
fn a_tool_that_hangs_is_ended_within_the_limit() {
    let start = Instant::now();
    let gpus = with_tool(Some("exec sleep 60"));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert!(gpus.nvidia.reason().is_some());
}
