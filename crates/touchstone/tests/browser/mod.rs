//! A page in a real browser, with what it complained of. The generator's tests and the sync service's open their pages with it too.

#![allow(dead_code)]

use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Network};
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PAGE_BYTES_MAX: u64 = 2_000_000;

/// The page in a browser of its own.
pub struct Page {
    /// Where it is open.
    pub tab: Arc<Tab>,
    /// Console messages, exceptions, and requests that leave the file, or the page's service.
    complaints: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
    _folder: Option<tempfile::TempDir>,
}

impl Page {
    /// Opens a page in a window that is wide enough, in a colour scheme.
    pub fn open(html: &str, scheme: &str) -> Page {
        Page::open_in(html, scheme, 1180)
    }

    /// Opens a page in a window of this width.
    pub fn open_in(html: &str, scheme: &str, width_px: u32) -> Page {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        std::fs::write(&path, html).unwrap();
        assert!(path.metadata().unwrap().len() < PAGE_BYTES_MAX);
        Page { _folder: Some(folder), ..Page::visit(&format!("file://{}", path.display()), scheme, width_px) }
    }

    /// Opens what is at an address.
    pub fn visit(address: &str, scheme: &str, width_px: u32) -> Page {
        let browser = launch(width_px);
        let tab = browser.new_tab().unwrap();
        tab.set_default_timeout(Duration::from_secs(30));
        let complaints = listen(&tab, address);
        prefer(&tab, scheme);
        tab.navigate_to(address).unwrap().wait_until_navigated().unwrap();
        Page { tab, complaints, _browser: browser, _folder: None }
    }

    /// What an expression yields, as JSON.
    pub fn ask(&self, expression: &str) -> Value {
        let asked = self.tab.evaluate(&format!("JSON.stringify({expression})"), false).unwrap();
        let text = asked.value.as_ref().and_then(Value::as_str);
        serde_json::from_str(text.unwrap_or_else(|| panic!("{expression} yields {asked:?}"))).unwrap()
    }

    /// Nothing was logged, thrown or asked of a network.
    pub fn assert_no_complaints(&self) {
        let complaints = self.complaints.lock().unwrap();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    assert!(
        path.exists(),
        "{}: there is no Chromium to open the report with; install one (`apt-get install chromium`) or name \
         one in $CHROMIUM",
        path.display()
    );
    path
}

fn launch(width_px: u32) -> Browser {
    let arguments = [
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ];
    let options = LaunchOptions::default_builder()
        .path(Some(chromium()))
        .headless(true)
        .sandbox(false)
        .window_size(Some((width_px, 900)))
        .args(arguments.map(OsStr::new).to_vec())
        .build()
        .unwrap();
    Browser::new(options).expect("Chromium starts")
}

fn listen(tab: &Arc<Tab>, address: &str) -> Arc<Mutex<Vec<String>>> {
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&complaints);
    let own = address.to_owned();
    let listener = move |event: &Event| {
        let complaint = match event {
            Event::LogEntryAdded(entry) => Some(format!("log: {}", entry.params.entry.text)),
            Event::RuntimeExceptionThrown(thrown) => {
                Some(format!("exception: {:?}", thrown.params.exception_details))
            }
            Event::RuntimeConsoleAPICalled(called) => Some(format!("console: {:?}", called.params.args)),
            Event::NetworkRequestWillBeSent(sent) => Some(sent.params.request.url.clone())
                .filter(|url| !url.starts_with(&own) && !url.starts_with("data:"))
                .map(|url| format!("request: {url}")),
            _ => None,
        };
        heard.lock().unwrap().extend(complaint);
    };
    tab.add_event_listener(Arc::new(listener)).unwrap();
    tab.enable_log().unwrap();
    tab.enable_runtime().unwrap();
    let network = Network::Enable {
        max_total_buffer_size: None,
        max_resource_buffer_size: None,
        max_post_data_size: None,
        report_direct_socket_traffic: None,
        enable_durable_messages: None,
    };
    tab.call_method(network).unwrap();
    complaints
}

fn prefer(tab: &Tab, scheme: &str) {
    let feature = Emulation::MediaFeature { name: "prefers-color-scheme".into(), value: scheme.into() };
    tab.call_method(Emulation::SetEmulatedMedia { media: None, features: Some(vec![feature]) }).unwrap();
}
