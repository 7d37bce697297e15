//! Trees of files as Linux shows them, and what is read from them.

use super::*;

/// A tree of files as Linux shows it.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn mounts_and_groups_may_have_blanks_in_their_names() {
    let root = tree(&[
        ("proc/self/cgroup", "0::/my group/job\n"),
        (
            "proc/self/mountinfo",
            "30 24 0:26 /my\\040group /mnt/c\\040g rw - cgroup2 cgroup2 rw\n",
        ),
        ("mnt/c g/job/memory.max", "4096\n"),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(groups.memory_limit(), Some(4096));
}

#[test]
fn version_2_takes_the_smallest_limit_on_the_way_up() {
    let root = tree(&[
        ("proc/self/cgroup", "0::/user.slice/job\n"),
        (
            "proc/self/mountinfo",
            "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        ),
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
        ("sys/fs/cgroup/user.slice/memory.max", "4294967296\n"),
        ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/user.slice/job/memory.max", "max\n"),
        ("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n"),
        (
            "sys/fs/cgroup/user.slice/job/cpu.stat",
            "throttled_usec 0\n",
        ),
        (
            "sys/fs/cgroup/user.slice/job/cpuset.cpus.effective",
            "0-3,8\n",
        ),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(groups.memory_limit(), Some(4 << 30));
    assert_eq!(groups.cpu_quota(), Some(1.5));
    assert_eq!(groups.cpuset(), Some(5));
    assert_eq!(groups.version(), "v2");
    assert!(groups.cpu_stat().unwrap().ends_with("job/cpu.stat"));
}

#[test]
fn version_1_has_a_hierarchy_a_controller() {
    let root = tree(&[
        (
            "proc/self/cgroup",
            "4:memory:/docker/abc\n3:cpuset:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
        ),
        (
            "proc/self/mountinfo",
            "31 1 0:1 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
             32 1 0:2 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n\
             33 1 0:3 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n\
             34 1 0:4 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n",
        ),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpuset/cpuset.cpus", "1\n"),
        ("sys/fs/cgroup/unified/cgroup.controllers", "\n"),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(groups.memory_limit(), Some(512 << 20));
    assert_eq!(groups.cpu_quota(), Some(0.5));
    assert_eq!(groups.cpuset(), Some(1));
    assert_eq!(groups.version(), "v1");
}

#[test]
fn no_limit_is_none() {
    let root = tree(&[
        ("proc/self/cgroup", "4:memory:/\n2:cpu:/\n"),
        (
            "proc/self/mountinfo",
            "31 1 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             32 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        ),
        (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(groups.memory_limit(), None);
    assert_eq!(groups.cpu_quota(), None);
    assert!(Cgroups::of_process(root.path().join("nowhere")).is_none());
}

#[test]
fn lists_of_processors_are_counted() {
    let cases = [
        ("0-3,8\n", Some(5)),
        ("7", Some(1)),
        ("0", Some(1)),
        ("", None),
        ("3-1", None),
        ("0-18446744073709551615", None),
        ("a", None),
    ];
    for (list, count) in cases {
        assert_eq!(count_cpus(list), count, "{list}");
    }
}

#[test]
fn both_versions_count_throttling() {
    let v2 = "usage_usec 10\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1500000\n";
    let v1 = "nr_periods 4\nnr_throttled 2\nthrottled_time 1500000000\n";
    assert_eq!(parse_throttled(v2), Some(1.5));
    assert_eq!(parse_throttled(v1), Some(1.5));
    assert_eq!(parse_throttled("usage_usec 10\n"), None);
}

#[test]
fn version_2_tells_what_is_used_and_held_back() {
    let root = tree(&[
        ("proc/self/cgroup", "0::/a/b\n"),
        (
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        ),
        ("sys/fs/cgroup/a/b/cgroup.controllers", "cpu memory"),
        ("sys/fs/cgroup/a/cgroup.controllers", "cpu memory"),
        ("sys/fs/cgroup/a/b/memory.current", "5000\n"),
        (
            "sys/fs/cgroup/a/b/memory.stat",
            "anon 1\ninactive_file 1000\n",
        ),
        ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ("sys/fs/cgroup/a/memory.max", "9000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
        (
            "sys/fs/cgroup/a/b/cpu.stat",
            "usage_usec 7\nthrottled_usec 2500000\n",
        ),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(
        (groups.memory_used(), groups.memory_limit()),
        (Some(4000), Some(9000))
    );
    assert_eq!(groups.cpu_quota(), Some(1.5));
    assert_eq!(groups.throttled_seconds(), Some(2.5));
    assert!(groups.unified().unwrap().ends_with("a/b"));
}

#[test]
fn version_1_tells_what_is_used_and_the_limit_above_the_mount() {
    let root = tree(&[
        ("proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/x\n0::/\n"),
        (
            "proc/self/mountinfo",
            "35 31 0:31 / /cg/memory rw - cgroup cgroup rw,memory\n\
             32 31 0:29 /x /cg/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n",
        ),
        ("cg/memory/x/memory.usage_in_bytes", "700\n"),
        (
            "cg/memory/x/memory.stat",
            "hierarchical_memory_limit 1000\ntotal_inactive_file 200\n",
        ),
        ("cg/cpu/cpu.cfs_quota_us", "50000\n"),
        ("cg/cpu/cpu.cfs_period_us", "100000\n"),
        (
            "cg/cpu/cpu.stat",
            "nr_periods 1\nthrottled_time 3000000000\n",
        ),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(
        (groups.memory_used(), groups.memory_limit()),
        (Some(500), Some(1000))
    );
    assert_eq!(groups.cpu_quota(), Some(0.5));
    assert_eq!(groups.throttled_seconds(), Some(3.0));
    assert_eq!(groups.unified(), None);
}

#[test]
fn without_groups_nothing_is_known() {
    let root = tree(&[("proc/self/cgroup", ""), ("proc/self/mountinfo", "")]);
    assert_eq!(Cgroups::read(root.path()).unwrap(), None);
    let root = tree(&[]);
    assert_eq!(Cgroups::read(root.path()).unwrap(), None);
}

#[test]
fn groups_that_cannot_be_read_are_not_taken_for_none() {
    let root = tree(&[("proc/self/cgroup", "0::/\n")]);
    assert!(Cgroups::read(root.path()).is_err());
    assert_eq!(Cgroups::of_process(root.path()), None);
}

/// What others have mounted may have any name, and so may a group on Unix.
#[cfg(unix)]
#[test]
fn names_of_any_bytes_hide_no_limit() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let root = tree(&[]);
    fs::create_dir_all(root.path().join("proc/self")).unwrap();
    let write = |path: &[u8], text: &[u8]| {
        let path = root.path().join(OsStr::from_bytes(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(b"proc/self/cgroup", b"0::/caf\xe9/job\n");
    write(
        b"proc/self/mountinfo",
        b"30 24 0:26 / /cg\xff rw - cgroup2 cgroup2 rw\n\
          99 24 0:44 / /media/Donn\xe9es rw - ext4 /dev/sdb1 rw\n",
    );
    write(b"cg\xff/caf\xe9/job/memory.max", b"4096\n");
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(groups.memory_limit(), Some(4096));
}

/// Mounts of one hierarchy, each with what it shows: the limit of the process is 1000.
#[test]
fn of_several_mounts_the_one_that_shows_the_group_is_taken() {
    let whole = "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
    let other = "28 24 0:26 /other/pod /rootfs/cg ro - cgroup2 cgroup2 rw\n";
    let own = "29 24 0:26 /pod/app /own ro - cgroup2 cgroup2 rw\n";
    let alike = "27 24 0:26 /po /alike ro - cgroup2 cgroup2 rw\n";
    let hidden = "31 24 0:26 / /hidden rw - cgroup2 cgroup2 rw\n\
                  32 24 0:99 / /hidden rw - tmpfs tmpfs rw\n";
    let orders: [&[&str]; 6] = [
        &[other, whole],
        &[whole, other],
        &[own, other, whole],
        &[alike, hidden, own, other, whole],
        &[hidden, whole, own],
        &[alike, other, hidden, own],
    ];
    for order in orders {
        let root = tree(&[
            ("proc/self/cgroup", "0::/pod/app\n"),
            ("proc/self/mountinfo", &order.concat()),
            ("rootfs/cg/memory.max", "77\n"),
            ("cg/pod/app/memory.max", "max\n"),
            ("cg/pod/memory.max", "1000\n"),
            ("own/memory.max", "1000\n"),
            ("alike/d/app/memory.max", "5\n"),
            ("hidden/pod/app/memory.max", "6\n"),
        ]);
        let groups = Cgroups::of_process(root.path()).unwrap();
        assert_eq!(groups.memory_limit(), Some(1000), "{order:?}");
    }
}

#[test]
fn a_path_out_of_the_namespace_stays_within_the_mount() {
    let root = tree(&[
        ("proc/self/cgroup", "0::/../up\n"),
        (
            "proc/self/mountinfo",
            "30 24 0:26 / /cg/here rw - cgroup2 cgroup2 rw\n",
        ),
        ("cg/here/memory.max", "2000\n"),
        ("cg/up/memory.max", "3\n"),
    ]);
    let groups = Cgroups::of_process(root.path()).unwrap();
    assert_eq!(groups.memory_limit(), Some(2000));
}
