//! How a subscription is followed, and what that costs: told to whoever asks.

use std::fmt;

/// What serves a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Structure {
    /// The key is looked up for each changed row.
    Key,
    /// A window of an ordered set that queries of its shape share.
    Window,
    /// A statement that is run anew, and its rows compared.
    Refetch,
}

/// How a subscription is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveExplanation {
    /// What serves it.
    pub structure: Structure,
    /// The columns that the set is ordered by, before the key; a minus stands before those that are ordered downwards.
    pub order: Vec<String>,
    /// Whether a condition is evaluated for each changed row that lies in a window.
    pub evaluates: bool,
    /// How many subscriptions share the structure, this one counted.
    pub sharing: usize,
    /// How many rows the structure holds.
    pub rows: usize,
    /// What the structure takes of memory, without the records: about that many bytes.
    pub bytes: usize,
    /// The tables whose changes run the statement anew, of one that is refetched.
    pub tables: Vec<String>,
    /// Why the statement runs after every commit, where it does.
    pub why_always: Option<String>,
}

impl LiveExplanation {
    pub(crate) fn of(structure: Structure) -> LiveExplanation {
        LiveExplanation {
            structure,
            order: Vec::new(),
            evaluates: false,
            sharing: 1,
            rows: 0,
            bytes: 0,
            tables: Vec::new(),
            why_always: None,
        }
    }
}

impl fmt::Display for LiveExplanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.structure {
            Structure::Key => formatter.write_str("KEY: one look for each changed row")?,
            Structure::Window => {
                write!(
                    formatter,
                    "WINDOW OF SET BY {} ({} rows, {} bytes, shared by {}): one search for each changed row",
                    if self.order.is_empty() { "KEY".to_owned() } else { self.order.join(", ") },
                    self.rows,
                    self.bytes,
                    self.sharing
                )?;
                if self.evaluates {
                    formatter.write_str(", and the condition evaluated")?;
                }
            }
            Structure::Refetch => {
                write!(formatter, "REFETCH AND DIFF WHEN {} CHANGES", self.tables.join(", "))?;
                if let Some(why) = &self.why_always {
                    write!(formatter, ", and after every other commit: {why}")?;
                }
            }
        }
        Ok(())
    }
}
