//! Who can be measured: the table `kit.toml` that each kit brings.

use crate::error::{Error, Result};
use crate::name::{there_are, unique};
use serde::{Deserialize, Serialize};
use std::fmt;
use touchstone_protocol::Settings;

/// One language's kit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kit {
    /// What holds for all its subjects.
    pub kit: KitHead,
    /// Its subjects, a row each.
    #[serde(default, rename = "subject")]
    pub subjects: Vec<Subject>,
}

/// What holds for all subjects of a kit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KitHead {
    /// The language, as the folder is named.
    pub language: String,
    /// Programs that must be in `PATH` to build and run its subjects. Where one is missing, its arms are left out of a
    /// run, and the run says so.
    #[serde(default)]
    pub needs: Vec<String>,
}

/// A library or engine that can be measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name: the first half of a contender's.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// The command that builds its driver, run in the kit's folder.
    pub build: Vec<String>,
    /// The command that starts its driver; the program is relative to the kit's folder.
    pub run: Vec<String>,
    /// The environment variable that names the folder with its sources, for a library that is built from a folder of the
    /// user's. Where it is not set, its arms are left out of a run, and the run says so.
    #[serde(default)]
    pub sources: Option<String>,
    /// What its driver can do, `record.verb`, as it says in its hello: a case that asks it for something else is refused when it is
    /// planned. Left out, such a case finds it unsupported when it is run.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The page, where it keeps each record in one of its own: a value that has no room there is refused when it is planned.
    #[serde(default)]
    pub page: Option<RecordPage>,
    /// It stands for the least work possible.
    #[serde(default)]
    pub floor: bool,
    /// It misbehaves on purpose.
    #[serde(default)]
    pub canary: bool,
    /// Its named configurations.
    #[serde(default, rename = "profile")]
    pub profiles: Vec<Profile>,
}

/// A page that holds one record.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPage {
    /// How many bytes it has where no `page_size_bytes` is asked for.
    pub bytes: u64,
    /// How many of them are not the record's value.
    pub overhead_bytes: u64,
}

/// A named configuration of a subject.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name: the second half of a contender's.
    pub name: String,
    /// What it promises about an acknowledged commit.
    pub class: DurabilityClass,
    /// What is asked of the subject on opening.
    #[serde(default)]
    pub settings: Settings,
    /// It works in threads of its own, beside those that the lab asks for, and so must have several processors.
    #[serde(default)]
    pub threads: bool,
}

/// What a contender promises about an acknowledged commit; the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityClass {
    /// After power loss every acknowledged commit is there.
    Strict,
    /// After power loss all but possibly the last commit.
    Full,
    /// After power loss whole, but the newest commits may be gone.
    Consistent,
    /// After power loss a small chance of damage.
    Fragile,
    /// Whole after a process crash; may be damaged after power loss.
    Process,
    /// May be damaged, or lose commits, when the process dies.
    None,
}

impl DurabilityClass {
    /// Whether a commit of that class awaits the disk.
    pub fn reaches_disk(self) -> bool {
        matches!(self, DurabilityClass::Strict | DurabilityClass::Full)
    }
}

impl fmt::Display for DurabilityClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            DurabilityClass::Strict => "strict",
            DurabilityClass::Full => "full",
            DurabilityClass::Consistent => "consistent",
            DurabilityClass::Fragile => "fragile",
            DurabilityClass::Process => "process",
            DurabilityClass::None => "none",
        })
    }
}

/// A subject in one of its profiles, written `subject@profile`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Contender {
    /// The subject's name.
    pub subject: String,
    /// The profile's name.
    pub profile: String,
}

impl TryFrom<String> for Contender {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Contender, String> {
        match text.split_once('@') {
            Some((subject, profile)) if !subject.is_empty() && !profile.is_empty() => {
                Ok(Contender { subject: subject.into(), profile: profile.into() })
            }
            _ => Err(format!(
                "`{text}` is not a contender: write subject@profile, such as rusqlite@wal-normal"
            )),
        }
    }
}

impl From<Contender> for String {
    fn from(contender: Contender) -> String {
        contender.to_string()
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}@{}", self.subject, self.profile))
    }
}

impl Kit {
    /// Reads a kit's table. `origin` names the file in errors.
    ///
    /// # Errors
    /// When the text is not a kit's table or names a subject or a profile twice.
    pub fn parse(text: &str, origin: &str) -> Result<Kit> {
        let kit: Kit = crate::written::read(text, origin).map_err(Error::input)?;
        kit.check().map_err(|message| Error::input(format!("{origin}: {message}")))?;
        Ok(kit)
    }

    fn check(&self) -> std::result::Result<(), String> {
        unique("subject", self.subjects.iter().map(|subject| &subject.name))?;
        for subject in &self.subjects {
            if subject.run.is_empty() || subject.build.is_empty() {
                return Err(format!("subject `{}` needs `build` and `run`", subject.name));
            }
            unique(
                "contender",
                subject.profiles.iter().map(|profile| format!("{}@{}", subject.name, profile.name)),
            )?;
        }
        Ok(())
    }
}

/// All kits at hand, for looking contenders up.
#[derive(Clone, Debug, Default)]
pub struct Kits {
    /// In the order of their languages.
    pub kits: Vec<Kit>,
}

impl Kits {
    /// Every subject with its kit's language.
    pub fn subjects(&self) -> impl Iterator<Item = (&str, &Subject)> {
        self.kits
            .iter()
            .flat_map(|kit| kit.subjects.iter().map(move |subject| (kit.kit.language.as_str(), subject)))
    }

    /// The kit of the subject of that name.
    pub fn kit_of(&self, name: &str) -> Option<&Kit> {
        self.kits.iter().find(|kit| kit.subjects.iter().any(|subject| subject.name == name))
    }

    /// The subject of that name.
    pub fn subject(&self, name: &str) -> Option<(&str, &Subject)> {
        self.subjects().find(|(_, subject)| subject.name == name)
    }

    /// The subject and profile of a contender.
    ///
    /// # Errors
    /// When there is no such subject or profile; the message lists those there are.
    pub fn look_up(&self, contender: &Contender) -> Result<(&str, &Subject, &Profile)> {
        let Some((language, subject)) = self.subject(&contender.subject) else {
            let known: Vec<&str> = self
                .subjects()
                .filter(|(_, subject)| !subject.canary)
                .map(|(_, s)| s.name.as_str())
                .collect();
            return Err(Error::input(format!(
                "contender `{contender}`: no kit has a subject `{}`; {}",
                contender.subject,
                there_are(&contender.subject, known)
            )));
        };
        let Some(profile) = subject.profiles.iter().find(|profile| profile.name == contender.profile) else {
            let known: Vec<&str> = subject.profiles.iter().map(|profile| profile.name.as_str()).collect();
            return Err(Error::input(format!(
                "contender `{contender}`: subject `{}` has no profile `{}`; {}",
                subject.name,
                contender.profile,
                there_are(&contender.profile, known)
            )));
        };
        Ok((language, subject, profile))
    }
}
