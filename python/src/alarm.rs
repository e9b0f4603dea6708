//! How a task of `asyncio` is woken. The store's threads never wait for the interpreter's lock: they notify a thread
//! that does.

use crate::exit;
use crate::records::lock;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// The thread that wakes a feed's tasks, started with the first task that waits. It ends with the feed.
#[derive(Default)]
pub struct Alarms(Mutex<Option<Sender<Arc<Alarm>>>>);

struct Alarm {
    call: Py<PyAny>,
    bell: Sender<Arc<Alarm>>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Alarm>) {
        let bell = self.bell.clone();
        // The thread has ended only if the interpreter has: then no task waits.
        let _ = bell.send(self);
    }
}

impl Alarms {
    /// A waker that calls `call` once, on that thread.
    pub fn waker(&self, call: Py<PyAny>) -> PyResult<Waker> {
        let mut bell = lock(&self.0);
        let bell = match &*bell {
            Some(bell) => bell.clone(),
            None => {
                let (sender, receiver) = channel();
                std::thread::Builder::new()
                    .name("touchstone-alarm".to_owned())
                    .spawn(move || call_all(&receiver))?;
                bell.insert(sender).clone()
            }
        };
        Ok(Waker::from(Arc::new(Alarm { call, bell })))
    }
}

fn call_all(alarms: &Receiver<Arc<Alarm>>) {
    for alarm in alarms {
        let Some(_inside) = exit::enter() else { return };
        let called = Python::try_attach(|py| {
            if let Err(error) = alarm.call.call0(py) {
                error.write_unraisable(py, None);
            }
            drop(alarm);
        });
        if called.is_none() {
            return;
        }
    }
}
