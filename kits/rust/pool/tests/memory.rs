//! A pool keeps as many pages in memory as it has, whatever its policy remembers of those that left: counted by the allocator.

use pool::page::Page;
use pool::policy::Policy;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_kit::Row;

/// No other allocation of the test has this size.
const PAGE_BYTES: usize = 977;

static LIVE_PAGES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: it is the system's allocator, which is asked for nothing else than what is asked here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_PAGES.fetch_add(usize::from(layout.size() == PAGE_BYTES), Ordering::Relaxed);
        // SAFETY: the caller keeps to what the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE_PAGES.fetch_sub(usize::from(layout.size() == PAGE_BYTES), Ordering::Relaxed);
        // SAFETY: the caller keeps to what the system's allocator asks for.
        unsafe { System.dealloc(start, layout) }
    }
}

fn page(number: u64) -> Page {
    let mut bytes = vec![1; PAGE_BYTES].into_boxed_slice();
    Page::write(&mut bytes, &Row { key: number as i64, value: Vec::new() }).expect("it fits");
    Page::check(bytes, number).expect("it is whole")
}

#[test]
fn no_policy_keeps_more_pages_than_the_pool_has() {
    for policy in Policy::NAMES.into_iter().filter_map(Policy::named) {
        for pages in [1, 2, 3, 4, 7, 64] {
            let pool = policy.pool(pages);
            // Some pages often, and all of them in turn.
            for look in 0..5000_u64 {
                let number = if look % 3 == 0 { look % 200 } else { look * look % 37 };
                pool.see(number, &|| Ok(page(number)), &mut |_| {}).expect("nothing fails");
                let live = LIVE_PAGES.load(Ordering::Relaxed);
                assert!(live <= pages, "{policy}: {live} pages of {pages}, at look {look}");
            }
            drop(pool);
            assert_eq!(LIVE_PAGES.load(Ordering::Relaxed), 0, "{policy} lets go of all");
        }
    }
}
