//! The page at `/`, in a real browser.

#[path = "../../touchstone/tests/browser/mod.rs"]
mod browser;
mod support;

use browser::Page;
use serde_json::{Value, json};
use support::{Service, place};

/// Types a token, and sends it.
fn send(page: &Page, token: &str) {
    page.tab.wait_for_element("#token").unwrap().focus().unwrap();
    page.ask("(document.getElementById('token').value = '', null)");
    page.tab.type_str(token).unwrap().press_key("Enter").unwrap();
}

/// Waits until an expression is true; whatever changes in the page is a reason to look again.
fn wait(page: &Page, expression: &str) {
    let until = format!(
        "new Promise((resolve) => {{
            const look = () => {{ if ({expression}) {{ watcher.disconnect(); resolve('seen'); }} }};
            const watcher = new MutationObserver(look);
            const all = {{ subtree: true, childList: true, attributes: true, characterData: true }};
            watcher.observe(document.body, all);
            look();
        }})"
    );
    let seen = page.tab.evaluate(&until, true).unwrap_or_else(|error| panic!("{expression}: {error}"));
    assert_eq!(seen.value, Some(json!("seen")), "{expression}");
}

fn rows(page: &Page) -> Value {
    page.ask("[...document.querySelectorAll('#devices tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
}

#[test]
fn the_page_shows_devices_and_follows_them() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let [phone, laptop] = ["phone", "<b>laptop</b>"].map(|device| service.device(&token, device));
    let change = |id: &str| json!({"changes": [{"id": id, "data": "milk"}]});
    assert_eq!(phone.post("/v1/sync/delta", &change("a")).0, 200);
    assert_eq!(laptop.get("/v1/sync/delta?cursor=0").0, 200);
    assert_eq!(phone.post("/v1/sync/delta", &change("b")).0, 200);

    let page = Page::visit(&service.address, "dark", 900);
    send(&page, &token);
    wait(&page, "document.querySelectorAll('#devices tr').length === 2");
    assert_eq!(page.ask("document.getElementById('revision').textContent"), "2");
    assert_eq!(page.ask("document.getElementById('furthest').textContent"), "1");
    let [laptops, phones] = [0, 1].map(|place| rows(&page)[place].clone());
    assert_eq!((&laptops[0], &laptops[1], &laptops[2]), (&json!("<b>laptop</b>"), &json!("1"), &json!("1")));
    assert_eq!((&phones[0], &phones[1]), (&json!("phone"), &json!("no download")));

    let stream = laptop.stream("/v1/sync/watch").unwrap();
    assert_eq!(phone.post("/v1/sync/delta", &change("c")).0, 200);
    wait(&page, "document.getElementById('revision').textContent === '3'");
    wait(&page, "document.querySelector('#devices tr').cells[4].textContent === '1'");
    wait(&page, "document.querySelectorAll('#chart rect').length > 0");
    drop(stream);
    page.assert_no_complaints();
}

#[test]
fn the_page_says_why_it_shows_nothing() {
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let page = Page::visit(&service.address, "light", 500);
    send(&page, "guessed");
    wait(&page, "!document.getElementById('trouble').hidden");
    let trouble = page.ask("document.getElementById('trouble').textContent");
    assert!(trouble.as_str().unwrap().contains("the token is unknown, revoked or expired"), "{trouble}");
    assert_eq!(page.ask("document.getElementById('shown').hidden"), true);
    // Another token is taken without a new page.
    let token = service.token("ada");
    send(&page, &token);
    wait(&page, "!document.getElementById('shown').hidden");
    assert_eq!(page.ask("document.getElementById('trouble').hidden"), true);
}
