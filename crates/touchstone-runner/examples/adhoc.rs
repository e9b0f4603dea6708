//! scratch
use std::time::Duration;
use touchstone::plan::*;
use touchstone::record::*;
use touchstone_runner::{kits::*, run::*, session::*, writer::*};
struct P;
impl Progress for P { fn begin(&self, n: u64) { eprintln!("begin {n}"); } fn doing(&self, w: &str) { eprintln!("{w}"); } fn advance(&self, _: u64) {} }
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let project = Project::open(None).unwrap();
    let suites = project.suites(&[args[1].clone()]).unwrap();
    let choice = Choice { cases: args[3..].to_vec(), contenders: vec![], size: touchstone::suite::Size::Quick, seed: 42, looks: vec![8] };
    let plan = Plan::new(&suites, &project.kits, &choice).unwrap();
    let manifest = Manifest { record_version: 1, touchstone: "0".into(), started: "x".into(), status: Status::Running, reason: None, command: "c".into(), elapsed_s: 0.0 };
    let t0 = std::time::Instant::now();
    project.build(&plan, |s| eprintln!("building {s}")).unwrap();
    eprintln!("built {:?}", t0.elapsed());
    let out = std::path::PathBuf::from(&args[2]);
    let _ = std::fs::remove_dir_all(&out);
    let mut w = Writer::create(&out, manifest, &plan, &Default::default()).unwrap();
    let s = Setting { project: &project, manners: Manners { limit: Duration::from_secs(60), stop: Default::default() }, scratch: out.join("scratch"), progress: &P };
    let t0 = std::time::Instant::now();
    run(&plan, &s, &mut w).unwrap();
    w.finish(|m| m.status = Status::Complete).unwrap();
    eprintln!("ran {:?}", t0.elapsed());
    let r = Record::read(&out).unwrap();
    let st = touchstone::estimate::estimate(&r);
    for c in &st { println!("{}", c.case); for a in &c.arms { println!("   {:40} {:?} {:?} floor {:?} cpu {:?} {:?} missing {} err {:?}", a.arm, a.operation_ns, a.outcomes, a.floor_share, a.cpu_share, a.errors, a.missing, a.error);
      if let Some(s) = &a.syncs { println!("       syncs/commit {} most {} close {} bytes {:?} {:?}", s.syncs_per_commit, s.syncs_most, s.syncs_at_close, s.bytes_per_commit(), s.unavailable); }
      for x in a.settings.iter().filter(|s| !s.honoured) { println!("       {x:?}"); } } }
    let j = touchstone::verdict::judge(&r.plan, &st, &r.subjects);
    for c in &j.comparisons { println!("{} {} {} {:?} [{:?} {:?}] {:?}", c.case, c.arm, c.verdict, c.time_ratio, c.time_ratio_low, c.time_ratio_high, c.reasons); }
    for c in &j.claims { println!("{} {}: {:?}", c.id, c.status, c.tests.iter().map(|t| (t.value, t.low, t.high, t.note.clone())).collect::<Vec<_>>()); }
    for f in &j.flags { println!("FLAG {} {} {} {}", f.kind, f.case, f.arm, f.evidence); }
}
