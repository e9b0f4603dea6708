//! How many gets each policy hits of an order of them: `hits OPERATIONS BEFORE PAGES`, with a file as the lab writes it. Prints a
//! policy and its hits a line.

use pool::page::Page;
use pool::policy::{Found, Policy};
use std::env;
use std::error::Error;
use std::path::Path;
use touchstone_kit::Row;
use touchstone_protocol::read_operations;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [operations, before, pages] = arguments.as_slice() else {
        return Err("hits OPERATIONS BEFORE PAGES".into());
    };
    let operations = read_operations(Path::new(operations))?;
    let (before, pages) = (before.parse()?, pages.parse()?);
    for policy in Policy::NAMES.into_iter().filter_map(Policy::named) {
        println!("{policy} {}", hits(policy, pages, &operations, before));
    }
    Ok(())
}

/// Hits of the gets after the first `before`.
fn hits(policy: Policy, pages: usize, operations: &[u32], before: usize) -> usize {
    let pool = policy.pool(pages);
    let is_hit = |number: &u32| {
        let number = u64::from(*number);
        let found = pool.see(number, &|| Page::check(bytes(number), number), &mut |_| {});
        found.expect("a page that was just written is whole") == Found::Hit
    };
    operations.iter().map(is_hit).skip(before).filter(|hit| *hit).count()
}

fn bytes(number: u64) -> Box<[u8]> {
    let mut bytes = vec![0; Page::OVERHEAD + 8].into_boxed_slice();
    Page::write(&mut bytes, &Row { key: number as i64, value: Vec::new() }).expect("it fits");
    bytes
}
