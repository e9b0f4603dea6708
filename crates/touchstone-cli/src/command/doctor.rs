//! `touchstone doctor`: what this machine can and cannot show.

use crate::Context;
use clap::Args;
use std::process::ExitCode;

/// Examines this machine
#[derive(Args, Debug)]
pub struct Doctor {}

impl Doctor {
    pub(crate) fn run(self, _context: &Context) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}
