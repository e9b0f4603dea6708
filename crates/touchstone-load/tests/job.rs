//! The manifest of the Kubernetes job: it is YAML, its numbers agree, its scenario is one, and a shell makes commands of it that the
//! command line accepts. No cluster is asked.

use clap::Parser;
use saphyr::{LoadableYamlNode, Yaml};
use std::path::Path;
use std::process::Command;
use touchstone_load::command::Cli;
use touchstone_load::plan::Plan;
use touchstone_load::scenario::Scenario;
use touchstone_load::schedule::Share;

const TEXT: &str = include_str!("../deploy/job.yaml");

/// What stands at a path of keys and places.
fn at<'y>(yaml: &'y Yaml<'y>, path: &str) -> &'y Yaml<'y> {
    path.split('/').fold(yaml, |yaml, key| {
        let found = match key.parse::<usize>() {
            Ok(place) => yaml.as_sequence_get(place),
            Err(_) => yaml.as_mapping_get(key),
        };
        found.unwrap_or_else(|| panic!("there is no `{key}` of {path}"))
    })
}

fn text(yaml: &Yaml<'_>, path: &str) -> String {
    at(yaml, path).as_str().unwrap_or_else(|| panic!("{path} is no text")).to_owned()
}

fn documents() -> Vec<Yaml<'static>> {
    let documents = Yaml::load_from_str(TEXT).expect("it is YAML");
    assert_eq!(documents.len(), 3);
    documents
}

#[test]
fn shards_are_as_many_as_pods_and_none_is_run_twice() {
    let job = &documents()[2];
    let shards = text(job, "spec/template/spec/containers/0/env/0/value").parse().expect("it is a number");
    for path in ["spec/completions", "spec/parallelism"] {
        assert_eq!(at(job, path).as_integer(), Some(shards), "{path}");
    }
    assert_eq!(text(job, "spec/completionMode"), "Indexed");
    assert_eq!(at(job, "spec/backoffLimit").as_integer(), Some(0));
    assert_eq!(text(job, "spec/template/spec/restartPolicy"), "Never");
}

#[test]
fn its_scenario_is_one() {
    let text = text(&documents()[0], "data/scenario.toml");
    let mut scenario = Scenario::parse(&text, "job.yaml").expect("it is a scenario");
    // Its own host is of the cluster.
    scenario.host = "http://127.0.0.1:1".into();
    Plan::new(scenario, Share { number: 3, of: 4 }).expect("it can be shared out");
}

/// A shell in the place of the pod's, in which `touchstone-load` is a function that prints its words.
fn words(index: usize, status: u8) -> (Vec<String>, Option<i32>) {
    let job = &documents()[2];
    let script = text(job, "spec/template/spec/containers/0/args/0");
    let shards = text(job, "spec/template/spec/containers/0/env/0/value");
    let script = format!(
        "spoken() {{ printf '%s\\n' touchstone-load \"$@\"; return {status}; }}\n{}",
        script.replacen("touchstone-load ", "spoken ", 1)
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).env("JOB_COMPLETION_INDEX", index.to_string()).env("SHARDS", shards);
    let output = shell.env("START_AT", "2030-01-31T12:00:00Z").output().expect("there is a shell");
    let words = String::from_utf8(output.stdout).expect("it is text").lines().map(str::to_owned).collect();
    (words, output.status.code())
}

#[test]
fn each_pod_runs_a_command_that_is_accepted() {
    for index in 0..4 {
        let (words, _) = words(index, 0);
        let expected = [
            "touchstone-load".to_owned(),
            "/scenario/scenario.toml".into(),
            "--shard".into(),
            format!("{}/4", index + 1),
            "--start-at".into(),
            "2030-01-31T12:00:00Z".into(),
            "--out".into(),
            format!("/outcomes/{index}"),
        ];
        assert_eq!(words, expected);
        Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_limit_that_does_not_hold_is_no_failure_of_a_pod() {
    for (status, expected) in [(0, 0), (1, 0), (3, 0), (64, 64), (69, 69), (130, 130)] {
        assert_eq!(words(0, status).1, Some(expected), "{status}");
    }
}

#[test]
fn what_it_needs_lies_where_it_is_mounted() {
    let pod = documents();
    let pod = at(&pod[2], "spec/template/spec");
    let mounted = |place: &str| text(pod, &format!("containers/0/volumeMounts/{place}/mountPath"));
    assert_eq!((mounted("0"), mounted("1")), ("/scenario".into(), "/outcomes".into()));
    let named = |path: &str| text(pod, path);
    assert_eq!(named("volumes/0/configMap/name"), text(&documents()[0], "metadata/name"));
    assert_eq!(named("volumes/1/persistentVolumeClaim/claimName"), text(&documents()[1], "metadata/name"));
    assert!(Path::new(&mounted("1")).is_absolute());
}
