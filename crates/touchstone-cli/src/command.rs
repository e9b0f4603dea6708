//! One file per verb.

pub mod bench;
pub mod calibrate;
pub mod capacity;
pub mod choice;
pub mod completions;
pub mod doctor;
pub mod gate;
pub mod judge;
pub mod list;
pub mod load;
pub mod man;
pub mod measure;
pub mod plan;
pub mod report;
pub mod run;
