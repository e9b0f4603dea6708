//! A page reader: records in the pages of a file, one each, read through a buffer pool that holds so many pages by an
//! eviction policy. What is found in the pool is answered from memory, and what is not is read from the file.

pub mod disk;
pub mod file;
pub mod page;
pub mod policy;
pub mod reader;
pub mod ring;
