//! Storages that are empty: a file of the reference store in a folder of its own, or a database of its own.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use crate::cluster::{self, Cluster};
use crate::support::Service;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// Where a service keeps what it is given, and in which durability class.
pub struct Place {
    /// As `--store` has it.
    pub store: PathBuf,
    pub class: &'static str,
    kept: Kept,
}

enum Kept {
    Folder(TempDir),
    Database(Arc<Cluster>, String),
}

impl Place {
    /// A file.
    pub fn file(class: &'static str) -> Place {
        let folder = tempfile::tempdir().expect("there is room");
        Place { store: folder.path().join("sync.db"), class, kept: Kept::Folder(folder) }
    }

    /// A database of the server that the tests of this process share; none where PostgreSQL is not installed.
    pub fn database(class: &'static str) -> Option<Place> {
        cluster::shared().map(|cluster| Place::database_of(cluster, class))
    }

    /// A database of a server.
    pub fn database_of(cluster: Arc<Cluster>, class: &'static str) -> Place {
        let (name, url) = cluster.database();
        Place { store: url.into(), class, kept: Kept::Database(cluster, name) }
    }

    /// A service of it.
    pub fn service(&self, more: &[&str]) -> Service {
        Service::start(&self.store, &[&["--durability", self.class], more].concat())
    }

    /// Everything that it keeps, as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.kept {
            Kept::Folder(folder) => {
                let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
                files.flat_map(|file| fs::read(file).unwrap()).collect()
            }
            Kept::Database(cluster, name) => cluster.print("pg_dump", &[name]),
        }
    }
}
