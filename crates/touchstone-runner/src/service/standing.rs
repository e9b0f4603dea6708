//! A service that stands for as long as somebody asks it: started as in a launch, on a database of its own.

use super::{Servant, ServiceContext, template};
use crate::error::{Error, ErrorKind, Result};
use crate::place::Place;
use crate::random::stream;
use crate::session::Session;
use std::fs;
use std::path::{Path, PathBuf};
use touchstone_protocol::Settings;

/// What is asked of a service that stands.
pub struct Standing {
    /// The scenario's file, with the service's host and without phases: whoever asks says how much.
    pub scenario: PathBuf,
    /// The processor of the generator, where the service has others.
    pub processor: Option<usize>,
}

/// What came of a service that stood.
pub struct Stood<T> {
    /// What `ask` gave.
    pub answer: T,
    /// The settings that took effect: what the service read back, and what the head of its file contradicts.
    pub settings: Settings,
    /// How its process ended by itself while it was asked.
    pub died: Option<String>,
    /// What went wrong with the service after it was asked: it did not quit as it should.
    pub fault: Option<String>,
}

/// Fills a database, starts the service on it and lets `ask` ask. The second result is why the service could not be asked.
///
/// # Errors
/// When the lab itself fails, or `ask` does.
pub fn with_service<T>(
    context: &ServiceContext<'_>,
    arm: &str,
    scratch: &Path,
    seed: u64,
    ask: impl FnOnce(&Standing) -> Result<T>,
) -> Result<std::result::Result<Stood<T>, String>> {
    let Some(arm) = context.case.arm(arm) else {
        return Err(Error::new(ErrorKind::Input, format!("case `{}` has no arm `{arm}`", context.case.id)));
    };
    let mut random = stream(seed, &format!("standing {} {}", context.case.id, arm.name));
    let place = Place::new(scratch.to_owned())?;
    let template = match template::make_template(context, arm, place.path(), &mut random)? {
        Ok(template) => template,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let mut servant = Servant::enter(context, arm, &template, place.path(), &mut random)?;
    servant.be_introduced();
    if let Some(why) = servant.error.take() {
        return Ok(Err(why));
    }
    let scenario = servant.desk.path().join("scenario.toml");
    let service = format!("{} in {}", arm.name, context.case.id);
    let asks = servant.begin_window(0, &mut random).scene.open_ended(&service, &context.case.title)?;
    fs::write(&scenario, asks)
        .map_err(|error| Error::io(format_args!("cannot write {}", scenario.display()), &error))?;
    let processor = servant.sides.generator();
    let answer = ask(&Standing { scenario, processor })?;
    let died = servant.session.as_mut().and_then(Session::died);
    if died.is_some() {
        servant.session = None;
    }
    servant.look_at_files();
    servant.quit();
    Ok(Ok(Stood {
        answer,
        settings: servant.settings,
        died: died.map(|how| how.to_string()),
        fault: servant.error,
    }))
}
