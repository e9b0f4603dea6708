//! How a subscription is followed, and the cost of that.

use std::fmt;

/// The structure that serves a subscription.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// use touchstone_store::Structure;
///
/// let feed = store.feed()?;
/// assert_eq!(feed.watch::<Task>(&1)?.explain()?.structure, Structure::Key);
/// assert_eq!(feed.query::<Task>().watch()?.explain()?.structure, Structure::Window);
/// assert_eq!(feed.query::<Task>().watch_count()?.explain()?.structure, Structure::Number);
/// assert_eq!(feed.watch_sql("select 1", [])?.explain()?.structure, Structure::Refetch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Structure {
    /// The key is looked up for each changed row.
    Key,
    /// A window of an ordered set that queries of its shape share.
    Window,
    /// A number: each changed row is counted in its old and in its new state.
    Number,
    /// A statement that runs again, and whose rows are compared.
    Refetch,
}

/// How a subscription is followed, and the cost of that. It prints as text for people.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// store.insert(&task(1, Some(20)))?;
/// let feed = store.feed()?;
/// let before = |day| feed.query::<Task>().filter(|task| task.due.lt(day)).order(|task| task.due.ascending());
/// let (soon, later) = (before(30).watch()?, before(90).watch()?);
/// let explanation = soon.explain()?;
/// assert_eq!((explanation.order, explanation.sharing, explanation.rows), (vec!["due".to_owned()], 2, 1));
/// assert!(!explanation.evaluates, "the condition is where the window begins and ends");
/// assert!(later.explain()?.to_string().contains("shared by 2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveExplanation {
    /// The structure that serves the subscription.
    pub structure: Structure,
    /// The columns that order the set, before the key; a minus stands before a descending one.
    pub order: Vec<String>,
    /// Whether a condition is evaluated for each changed row that lies in a window.
    pub evaluates: bool,
    /// The number of subscriptions that share the structure, including this one.
    pub sharing: usize,
    /// The number of rows that the structure holds.
    pub rows: usize,
    /// About how many bytes of memory the structure takes, without the records.
    pub bytes: usize,
    /// For a statement: the tables whose changes make it run again.
    pub tables: Vec<String>,
    /// Why the statement runs after every commit, if it does.
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
            Structure::Number => {
                let by = if self.order.is_empty() { "KEY".to_owned() } else { self.order.join(", ") };
                write!(
                    formatter,
                    "NUMBER OF WINDOW BY {by} (shared by {}): a changed row is counted as it was and as it is",
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
