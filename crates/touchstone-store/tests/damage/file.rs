//! A store's file as bytes, for tests that change some of them.

use crate::place::{Place, place};
use touchstone_store::{Options, Record, Store};

/// The size of pages in crafted files: the smallest, so that a few rows make a tree.
pub const PAGE: usize = 512;

/// A file, and where it is put to be opened.
pub struct File {
    pub place: Place,
    pub bytes: Vec<u8>,
}

impl File {
    /// The file of a store that holds these.
    pub fn of<T: Record>(records: &[T]) -> File {
        let place = place();
        let store = Options::new().page_size(512).open(&place.path).expect("the store opens");
        store.insert_all(records).expect("they go in");
        drop(store);
        let bytes = std::fs::read(&place.path).expect("the file is there");
        File { place, bytes }
    }

    /// Writes the bytes as they are now, and opens them.
    pub fn open(&self) -> Store {
        std::fs::write(&self.place.path, &self.bytes).expect("the file is written");
        self.place.open()
    }

    /// How many pages it has.
    pub fn pages(&self) -> usize {
        self.bytes.len() / PAGE
    }

    /// The page of a number, which counts from 1.
    pub fn page(&mut self, number: usize) -> &mut [u8] {
        &mut self.bytes[(number - 1) * PAGE..number * PAGE]
    }

    /// The number of the table's root, as the file's own schema says.
    pub fn root(&self, table: &str) -> usize {
        std::fs::write(&self.place.path, &self.bytes).expect("the file is written");
        let sql = "select rootpage from sqlite_schema where name = ?1";
        let root: i64 =
            self.place.plain().query_row(sql, [table], |row| row.get(0)).expect("the table is there");
        usize::try_from(root).expect("it is small")
    }

    /// The numbers of the pages that begin with that byte, which says what they are.
    pub fn of_kind(&self, kind: u8) -> Vec<usize> {
        (2..=self.pages()).filter(|number| self.bytes[(number - 1) * PAGE] == kind).collect()
    }

    pub fn cells(&mut self, number: usize) -> usize {
        let page = self.page(number);
        usize::from(u16::from_be_bytes([page[3], page[4]]))
    }

    /// Lets every pointer of an inner page lead to one child.
    pub fn lead(&mut self, number: usize, child: usize) {
        let cells = self.cells(number);
        let child = u32::try_from(child).expect("it is small").to_be_bytes();
        let page = self.page(number);
        for cell in 0..cells {
            let at = 12 + 2 * cell;
            let offset = usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
            page[offset..offset + 4].copy_from_slice(&child);
        }
        page[8..12].copy_from_slice(&child);
    }

    /// Where these bytes are, which are in one place only.
    pub fn find(&self, sought: &[u8]) -> usize {
        let places: Vec<usize> = self
            .bytes
            .windows(sought.len())
            .enumerate()
            .filter(|(_, window)| *window == sought)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(places.len(), 1, "{sought:?} at {places:?}");
        places[0]
    }
}
