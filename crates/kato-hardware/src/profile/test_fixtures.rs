//! A profile for tests, as an ordinary machine would give it.

use std::path::PathBuf;

use super::*;
use crate::detect;
use crate::facts::{CpuCache, Gpu, StorageKind};
use crate::figure::{MeasuredFigure, MeasurementMethod, Percentiles, Unit, Validity};

/// Returns a figure with little spread.
pub(crate) fn figure(value: f64, unit: Unit) -> Measured {
    Finding::Known(MeasuredFigure {
        value,
        unit,
        percentiles: (unit == Unit::Microseconds).then_some(Percentiles {
            p50: value,
            p90: value * 1.5,
            p99: Some(value * 2.0),
            max: value * 4.0,
        }),
        validity: Validity {
            method: MeasurementMethod::Direct,
            samples: 120,
            spread: Some(0.04),
            steal: Some(0.0),
            others: Some(0.02),
            throttled: None,
            seconds: 1.5,
            note: None,
        },
    })
}

/// Returns a profile as an ordinary machine would give it.
pub(crate) fn profile() -> HardwareProfile {
    let mib = |value| figure(value, Unit::MegabytesPerSecond);
    let rate = |value| figure(value, Unit::PerSecond);
    let micros = |value| figure(value, Unit::Microseconds);
    let bytes = |value| figure(value, Unit::Bytes);
    let silent = "the operating system does not tell it";
    let benchmarks = BenchmarkResults {
        memory: MemoryResults {
            copy_one_core: mib(14_000.0),
            triad_one_core: mib(12_000.0),
            copy_all_cores: mib(42_000.0),
            triad_all_cores: mib(38_000.0),
        },
        naming: NamingResults {
            tokens_one_core: rate(12e6),
            names_one_core: rate(4e6),
            tokens_all_cores: rate(84e6),
        },
        decoding: mib(900.0),
        tokenizing: mib(86.0),
        disk: DiskResults {
            sequential_write: mib(1500.0),
            sequential_read: mib(2500.0),
            random_write: rate(20_000.0),
            random_write_latency: micros(48.0),
            random_read: rate(11_000.0),
            random_read_latency: micros(90.0),
            flush_latency: micros(900.0),
            file_bytes: Finding::Known(1 << 30),
        },
        store: StoreResults {
            write: rate(2e6),
            stage: rate(3e6),
            stage_long: rate(1.5e6),
            commit_latency: micros(4000.0),
            read: rate(300_000.0),
            pattern_bytes: bytes(36.0),
            long_pattern_bytes: bytes(70.0),
        },
        loopback_latency: micros(14.0),
        mongodb: MongoResults {
            ping_latency: micros(150.0),
            insert_latency: micros(220.0),
            upsert_latency: micros(260.0),
            bulk_upsert: rate(40_000.0),
            query_latency: micros(190.0),
            left_behind: None,
        },
        kato: KatoResults {
            health_latency: micros(1800.0),
        },
    };
    let memory = Finding::Known(detect::memory::MemoryFacts {
        total_bytes: 64_000_000_000,
        available_bytes: 50_000_000_000,
        swap_total_bytes: 0,
        swap_free_bytes: 0,
    });
    HardwareProfile {
        schema: SCHEMA,
        version: "0.1.0".to_owned(),
        unix_seconds: Finding::Known(1_780_000_000),
        directory: "/data".to_owned(),
        is_quick: false,
        seed: 1,
        seconds: 31.4,
        operating_system: Finding::Known("Debian 13".to_owned()),
        cpu: CpuFacts {
            model: Finding::Known("A processor".to_owned()),
            architecture: "x86_64".to_owned(),
            physical_cores: Finding::Known(8),
            logical_cores: Finding::Known(16),
            usable_cores: Finding::Known(8),
            caches: Finding::Known(vec![CpuCache {
                level: 3,
                kind: "Unified".to_owned(),
                bytes: 32 << 20,
                instances: 1,
            }]),
            features: Finding::Known(vec!["sse4.2".to_owned(), "sha".to_owned()]),
            clock_mhz: Finding::unknown(silent),
        },
        rating: Rating::from_results(
            &benchmarks,
            &memory.clone().map(|memory| memory.total_bytes),
        ),
        memory,
        limits: SystemLimits {
            cpu_quota: Finding::Known(Some(8.0)),
            memory_bytes: Finding::Known(None),
            ..SystemLimits::unknown(silent)
        },
        disks: Finding::Known(vec![DiskFacts {
            mount: PathBuf::from("/data"),
            device: "/dev/nvme0n1p1".to_owned(),
            file_system: "ext4".to_owned(),
            kind: Finding::Known(StorageKind::Nvme),
            total_bytes: 1_000_000_000_000,
            free_bytes: 400_000_000_000,
            is_read_only: false,
            is_measured: true,
        }]),
        gpus: Gpus {
            nvidia: Finding::Known(vec![Gpu {
                name: "NVIDIA L4".to_owned(),
                memory_bytes: Finding::Known(23_034 << 20),
                driver: Finding::Known("570.133.20".to_owned()),
            }]),
            ..Gpus::unknown("the tool is not there: install the vendor's tools to see its devices")
        },
        network: Finding::Known(vec![NetworkInterface {
            name: "eth0".to_owned(),
            is_up: Finding::Known(true),
            speed_mbit_per_s: Finding::Known(10_000),
        }]),
        virtualization: Virtualization {
            has_hypervisor: Finding::Known(false),
            product: Finding::Known("A Maker A Machine".to_owned()),
            container: Finding::Known(None),
        },
        benchmarks,
    }
}
