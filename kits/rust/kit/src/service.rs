//! Services: subjects that answer requests over HTTP. The kit takes the port and hands over the socket that listens. What a service is
//! measured by is the load generator's, so no clock is read here.

use crate::conversation::{Speaker, converse, say_hello, talk};
use crate::{About, Asked, Failure, FailureKind, Settings, failure};
use std::io::{self, BufRead, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use touchstone_protocol::{Reply, Request, Served};

/// A database and what answers from it, from `serve` to `close`.
pub trait Service: Sized {
    /// Opens the database, which is made in a directory that is empty, and answers whoever connects. Returns once it does.
    ///
    /// # Errors
    /// When the library refuses, or a setting has a value that it does not know.
    fn serve(asked: &Asked, listening: TcpListener) -> Result<Self, Failure>;

    /// The settings that took effect, read back from the database.
    ///
    /// # Errors
    /// When it does not answer.
    fn settings(&mut self) -> Result<Settings, Failure>;

    /// Answers what was asked, listens no more, and closes the database.
    ///
    /// # Errors
    /// When the library refuses.
    fn close(self) -> Result<(), Failure>;
}

/// Speaks for one service.
pub struct ServiceKit<S> {
    about: About,
    serving: Option<S>,
}

impl<S: Service> ServiceKit<S> {
    /// For the service of that name.
    pub fn new(about: About) -> ServiceKit<S> {
        ServiceKit { about, serving: None }
    }

    /// Talks to the lab over standard input and output until one of them ends.
    pub fn main(mut self) -> ExitCode {
        talk(&mut self)
    }

    /// Answers requests, a line each, until `quit` or the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read or the output cannot be written.
    pub fn serve(mut self, input: impl BufRead, output: impl Write) -> io::Result<()> {
        converse(&mut self, input, output)
    }

    fn begin(&mut self, port: u16, asked: &Asked) -> Result<Reply, Failure> {
        if self.serving.is_some() {
            return Err(failure(FailureKind::Protocol, "a service is there already; close it first"));
        }
        let listening =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| not_listened(port, &error))?;
        let port = listening.local_addr().map_err(|error| not_listened(port, &error))?.port();
        let service = self.serving.insert(S::serve(asked, listening)?);
        let settings = service.settings()?;
        Ok(Reply::Serve(Served { port, settings }))
    }
}

impl<S: Service> Speaker for ServiceKit<S> {
    fn answer(&mut self, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Hello { protocol } => say_hello(&self.about, protocol, vec!["change.serve".into()]),
            Request::Serve { directory, port, settings } => self.begin(port, &Asked { directory, settings }),
            Request::Close if self.serving.is_none() => {
                Err(failure(FailureKind::Protocol, "there is no service to close; ask it to serve first"))
            }
            Request::Close => self.close().map(|()| Reply::Close),
            Request::Quit => self.close().map(|()| Reply::Quit),
            _ => Err(failure(
                FailureKind::Unsupported,
                "this subject is a service: it serves, and has no verbs",
            )),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.serving.take().map_or(Ok(()), S::close)
    }
}

fn not_listened(port: u16, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AddrInUse => failure(
            FailureKind::Busy,
            format!("port {port} of 127.0.0.1 is in use: end what listens there, or ask for another"),
        ),
        _ => failure(FailureKind::Io, format!("port {port} of 127.0.0.1 cannot be listened at: {error}")),
    }
}
