//! How each made-up arm behaves in each case: its time, its noise, and what goes wrong.

use touchstone::sample::Outcome;

/// An arm in a case.
pub struct Behaviour {
    pub operation_ns: f64,
    /// Standard deviation of the launches, on the log scale.
    pub launch_noise: f64,
    pub cpu_share: f64,
    /// How the first launches end, and how many of them.
    pub failure: Outcome,
    pub fails_until: usize,
    pub error: Option<&'static str>,
    /// Settings that take effect otherwise than asked.
    pub ignores: Vec<(&'static str, i64)>,
    /// Errors a slice, by kind.
    pub errors: Vec<(&'static str, u64)>,
    pub missing_a_launch: u64,
    pub latencies: bool,
    pub checkpoint_every: Option<usize>,
    pub checkpoint_ns: f64,
    pub plan: Vec<&'static str>,
    pub counters: Vec<(&'static str, i64)>,
    /// Syncs and bytes per commit.
    pub syncs: Option<(u64, u64)>,
    pub engine: &'static str,
}

impl Behaviour {
    fn steady(operation_ns: f64) -> Behaviour {
        Behaviour {
            operation_ns,
            launch_noise: 0.004,
            cpu_share: 0.98,
            failure: Outcome::Completed,
            fails_until: 0,
            error: None,
            ignores: Vec::new(),
            errors: Vec::new(),
            missing_a_launch: 0,
            latencies: false,
            checkpoint_every: None,
            checkpoint_ns: 0.0,
            plan: Vec::new(),
            counters: Vec::new(),
            syncs: None,
            engine: "SQLite 3.51.1",
        }
    }
}

/// What an arm does in a case.
pub fn behaviour(case: &str, arm: &str) -> Behaviour {
    let behaviour = match case {
        "wcdb/read" => read(arm),
        "wcdb/write" => write(arm),
        "wcdb/batch-write" => batch_write(arm),
        "wcdb/write-write" => write_write(arm),
        "wcdb/sync-write" => sync_write(arm),
        "couch/get" => get(arm),
        "couch/canaries" => canaries(arm),
        case if case.starts_with("dflat/") => find(case, arm),
        case => open(case, arm),
    };
    Behaviour { engine: engine(arm), ..behaviour }
}

fn engine(arm: &str) -> &'static str {
    match arm.split('@').next() {
        Some("redb") => "redb 4.2.0",
        Some("diesel") => "SQLite 3.50.4",
        Some(subject) if subject.starts_with("canary") => "none",
        _ => "SQLite 3.53.2",
    }
}

/// Worse, equivalent, better, a setting that was ignored, void, timed out.
fn read(arm: &str) -> Behaviour {
    let cache = vec![("cache_hits", 0), ("cache_misses", 612), ("vm_steps", 80_012)];
    let plan = vec!["SCAN benchmark"];
    let scan = |ns: f64| Behaviour { plan: plan.clone(), counters: cache.clone(), ..Behaviour::steady(ns) };
    match arm {
        "sqlite-c@wal-normal" => scan(205.0),
        "rusqlite@wal-normal" => scan(341.0),
        "rusqlite@wal-mmap" => Behaviour { ignores: vec![("mmap_size_bytes", 0)], ..scan(310.0) },
        "diesel@wal-normal" => Behaviour { launch_noise: 0.002, ..scan(326.0) },
        "redb@immediate" => Behaviour::steady(118.0),
        "canary-wrong@plain" => Behaviour {
            failure: Outcome::Void,
            fails_until: 8,
            error: Some(
                "launch 0, block 0: 20,000 rows answered, but their digest is 00000000 instead of 5ad3c1e7",
            ),
            ..Behaviour::steady(40.0)
        },
        "canary-hung@plain" => Behaviour {
            failure: Outcome::TimedOut,
            fails_until: 8,
            error: Some("no reply to `run` within 60 s"),
            ..Behaviour::steady(40.0)
        },
        _ => Behaviour { launch_noise: 0.002, ..scan(326.0) },
    }
}

/// Better, inconclusive for its noise, latencies with and without checkpoints.
fn write(arm: &str) -> Behaviour {
    let commits = |ns: f64, checkpoint_ns: f64| Behaviour {
        latencies: true,
        checkpoint_every: Some(420),
        checkpoint_ns,
        syncs: Some((0, 4_152)),
        ..Behaviour::steady(ns)
    };
    match arm {
        "sqlite-c@wal-normal" => commits(9_100.0, 1_900_000.0),
        "rusqlite@wal-normal" => commits(10_400.0, 2_100_000.0),
        "rusqlite@wal-normal-background" => commits(11_100.0, 160_000.0),
        "diesel@wal-normal" => Behaviour { launch_noise: 0.16, ..commits(13_800.0, 2_300_000.0) },
        _ => commits(13_300.0, 2_200_000.0),
    }
}

/// Several durability classes and the longest name.
fn batch_write(arm: &str) -> Behaviour {
    let (ns, syncs) = match arm {
        "sqlite-c@wal-normal" => (690.0, 1),
        "rusqlite@wal-normal" => (912.0, 1),
        "rusqlite-plain@wal-normal#one-by-one" => (13_900.0, 0),
        "rusqlite@delete-full" => (1_340.0, 4),
        "diesel@wal-normal" => (1_905.0, 1),
        "redb@immediate" => (1_610.0, 2),
        "redb@none" => (1_120.0, 0),
        _ => (1_130.0, 1),
    };
    Behaviour { launch_noise: 0.012, syncs: Some((syncs, 1_310_000)), ..Behaviour::steady(ns) }
}

/// A plain wrapper that does not wait.
fn write_write(arm: &str) -> Behaviour {
    match arm {
        "sqlite-c@wal-normal" => Behaviour::steady(820.0),
        "rusqlite-plain@wal-normal" => {
            Behaviour { errors: vec![("busy", 13)], missing_a_launch: 4_980, ..Behaviour::steady(610.0) }
        }
        _ => Behaviour::steady(1_001.0),
    }
}

/// Noisy, as disks are, and one that cannot have flushed.
fn sync_write(arm: &str) -> Behaviour {
    let (ns, syncs) = match arm {
        "rusqlite@wal-full" => (2_450_000.0, 1),
        "rusqlite@wal-off" => (10_900.0, 0),
        "rusqlite@delete-full" => (9_800_000.0, 4),
        "rusqlite@delete-normal" => (7_300_000.0, 3),
        "redb@immediate" => (610_000.0, 1),
        _ => (11_400.0, 0),
    };
    Behaviour {
        launch_noise: 0.11,
        cpu_share: 0.3,
        syncs: Some((syncs, 4_152 + 4_096 * syncs)),
        ..Behaviour::steady(ns)
    }
}

/// An index changes nothing, the journal mode halves the time.
fn get(arm: &str) -> Behaviour {
    let search = |ns: f64, index: &'static str| Behaviour {
        launch_noise: 0.003,
        plan: vec![index],
        counters: vec![("cache_hits", 41_200), ("vm_steps", 118_004)],
        ..Behaviour::steady(ns)
    };
    let unique = "SEARCH documents USING INDEX sqlite_autoindex_documents_1 (id=?)";
    match arm {
        "rusqlite@delete-full" => search(11_020.0, unique),
        "rusqlite@delete-full#index" => search(11_040.0, "SEARCH documents USING INDEX documents_id (id=?)"),
        "rusqlite@wal-normal#index" => search(5_210.0, "SEARCH documents USING INDEX documents_id (id=?)"),
        _ => search(4_030.0, unique),
    }
}

fn canaries(arm: &str) -> Behaviour {
    if arm.starts_with("canary") {
        Behaviour { cpu_share: 0.01, ..Behaviour::steady(1_060_000.0) }
    } else {
        Behaviour::steady(4_030.0)
    }
}

/// About the same for every object; the mapper needs ever more for each.
fn find(case: &str, arm: &str) -> Behaviour {
    let objects: f64 = case.rsplit('-').next().and_then(|objects| objects.parse().ok()).unwrap_or(1.0);
    let growth = (objects / 1_000.0).log10();
    let ns = match arm {
        "sqlite-c@wal-normal" => 430.0 * 1.1_f64.powf(growth),
        "diesel@wal-normal" => 700.0 * 2.6_f64.powf(growth),
        _ => 520.0 * 1.2_f64.powf(growth),
    };
    Behaviour { plan: vec!["SCAN doc"], launch_noise: 0.01, ..Behaviour::steady(ns) }
}

/// In proportion to the tables, over a fixed cost.
fn open(case: &str, arm: &str) -> Behaviour {
    let tables: f64 = case.rsplit('-').next().and_then(|tables| tables.parse().ok()).unwrap_or(1.0);
    let factor = match arm {
        "sqlite-c@wal-normal" => 0.91,
        "rusqlite@wal-normal" => 0.97,
        _ => 1.0,
    };
    Behaviour { launch_noise: 0.01, ..Behaviour::steady(factor * (52_000.0 + 1_430.0 * tables)) }
}
