//! Writes the orders of gets that a suite's cases about a pool ask for, as the lab itself makes them, for a simulator of caches to
//! read: `<case>.operations` each, and `orders.json`, which says how many gets come before the slice, what the pool holds, and
//! how many gets the lab says that the best possible pool hits.

use clap::Parser;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use touchstone::plan::{Plan, PlannedCase};
use touchstone_protocol::Setting;
use touchstone_runner::data::{CaseData, Datasets};
use touchstone_runner::random::Seeds;

/// What anything here fails with: what, on which input, and the remedy.
type Error = String;

/// Writes the orders of a plan's cases about a pool.
#[derive(Parser)]
#[command(name = "orders")]
struct Options {
    /// What `touchstone plan` wrote.
    plan: PathBuf,
    /// The folder for the orders.
    folder: PathBuf,
}

fn main() -> ExitCode {
    match write(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(options: &Options) -> Result<(), Error> {
    let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&options.plan).map_err(|error| at(&options.plan, &error))?;
    let plan = Plan::parse(&text, &options.plan.display().to_string()).map_err(|error| error.to_string())?;
    fs::create_dir_all(&options.folder).map_err(|error| at(&options.folder, &error))?;
    let (mut datasets, mut orders) = (Datasets::default(), Vec::new());
    let seeds = Seeds { seed: plan.seed, salt: 0 };
    for (case, pages) in plan.cases.iter().filter_map(|case| Some((case, pool_pages(case)?))) {
        let data = CaseData::generate(case, seeds, &options.folder, &mut datasets)
            .map_err(|error| error.to_string())?;
        // None where nobody can say it: of several threads, and of caches that were left warm.
        if let Some(best) = data.best_hits(case, pages) {
            orders.push(order(case, &data, pages, best));
        }
    }
    let index = options.folder.join("orders.json");
    let text = serde_json::to_string_pretty(&orders).map_err(|error| at(&index, &error))?;
    fs::write(&index, text).map_err(|error| at(&index, &error))
}

/// The pages of a case's pool.
fn pool_pages(case: &PlannedCase) -> Option<u64> {
    let told = case.arms.iter().find_map(|arm| arm.settings.get("pool_pages"))?;
    match told {
        Setting::Number(pages) => u64::try_from(*pages).ok(),
        Setting::Word(_) => None,
    }
}

fn order(case: &PlannedCase, data: &CaseData, pages: u64, best: u64) -> Value {
    json!({
        "case": case.name(),
        "file": data.operations_file.file_name().map(|name| name.to_string_lossy()),
        "before": case.operations_before(),
        "gets": case.gets_of_lane(),
        "pool_pages": pages,
        "best_hits": best,
    })
}
