//! What the model found, and what was found on the way, one story each.
