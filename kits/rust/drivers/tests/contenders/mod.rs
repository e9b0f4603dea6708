//! Every contender of this workspace, from the kit's own table: a driver is tested as soon as it has its row.

use serde::Deserialize;
use std::fs;
use std::path::Path;
use touchstone_protocol::Settings;

/// A subject in one of its profiles.
#[allow(dead_code, reason = "each test uses a part of it")]
pub struct Contender {
    pub subject: String,
    /// Its driver program.
    pub program: String,
    /// What its profile asks for.
    pub settings: Settings,
}

#[derive(Deserialize)]
struct Table {
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    run: Vec<String>,
    #[serde(default)]
    canary: bool,
    profile: Vec<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    #[serde(default)]
    settings: Settings,
}

/// All contenders whose programs this workspace builds; cargo has put them side by side.
pub fn contenders() -> Vec<Contender> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kit.toml");
    let table: Table = toml::from_str(&fs::read_to_string(table).unwrap()).unwrap();
    // The store's workspace, which is its own, runs these tests too.
    let workspaces = [
        (option_env!("CARGO_BIN_EXE_store"), "store/target/", 5),
        (option_env!("CARGO_BIN_EXE_sqlite-c"), "target/", 30),
    ];
    let mut built =
        workspaces.into_iter().filter_map(|(program, folder, least)| Some((program?, folder, least)));
    let (program, folder, least) = built.next().expect("cargo builds one of them for its tests");
    let programs = Path::new(program).parent().unwrap();
    let mine = |subject: &Subject| !subject.canary && subject.run[0].starts_with(folder);
    let contenders: Vec<Contender> = table
        .subject
        .into_iter()
        .filter(mine)
        .flat_map(|subject| {
            let program = programs.join(Path::new(&subject.run[0]).file_name().unwrap());
            assert!(program.exists(), "{} was not built: give `--all-features`", program.display());
            let program = program.to_str().unwrap().to_owned();
            subject.profile.into_iter().map(move |profile| Contender {
                subject: subject.name.clone(),
                program: program.clone(),
                settings: profile.settings,
            })
        })
        .collect();
    assert!(contenders.len() >= least, "the table lists more: {}", contenders.len());
    contenders
}
