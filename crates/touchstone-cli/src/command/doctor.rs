//! `touchstone doctor`: what this machine can and cannot show.

use crate::interrupt::stop_on_signal;
use crate::{Context, say};
use clap::Args;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use touchstone_runner::doctor::{Budget, Examination, examine};
use touchstone_runner::kits::Project;

/// Examines this machine: clock, flush, files, memory, noise, and the SQLite each subject links, in under 20 s
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  touchstone doctor\n  touchstone doctor --directory /srv/data --json")]
pub struct Doctor {
    /// The folder whose disk is examined; the project's, unless given
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
}

impl Doctor {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        // The machine can be examined without a project; then there are no subjects to ask.
        let project = match (&context.root, Project::open(context.root.as_deref())) {
            (_, Ok(project)) => Some(project),
            (None, Err(_)) => None,
            (Some(_), Err(error)) => return Err(error.into()),
        };
        let directory = match (&self.directory, &project) {
            (Some(directory), _) => directory.clone(),
            (None, Some(project)) => project.root.clone(),
            (None, None) => std::env::current_dir()?,
        };
        let examination = Examination {
            directory: &directory,
            project: project.as_ref(),
            budget: Budget::default(),
            stop: stop_on_signal()?,
        };
        let terminal = std::io::stderr().is_terminal();
        let diagnosis = examine(&examination, |doing| {
            if terminal {
                eprint!("\r\x1b[K{doing}");
            }
        });
        if terminal {
            eprint!("\r\x1b[K");
        }
        let diagnosis = diagnosis?;
        if context.json {
            say::json(&diagnosis)?;
        } else {
            say::text(&diagnosis.render(say::style().width))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
