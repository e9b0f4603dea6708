//! The protocol loop: one request, one reply, until standard input ends or the lab says `quit`.

use crate::line::{Line, read_line};
use crate::{About, Failure, FailureKind, clock, failure, replies};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use touchstone_protocol::{Hello, LINE_BYTES_MAX, PROTOCOL_VERSION, Reply, Request};

/// Whoever answers the lab.
pub(crate) trait Speaker {
    /// The reply to a request.
    fn answer(&mut self, request: Request) -> Result<Reply, Failure>;

    /// Closes what is open, where the lab is gone.
    fn close(&mut self) -> Result<(), Failure>;
}

/// Talks to the lab over standard input and output until one of them ends.
pub(crate) fn talk(speaker: &mut impl Speaker) -> ExitCode {
    let served = replies::take().and_then(|replies| converse(speaker, io::stdin().lock(), replies));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the lab is gone: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers requests, a line each, until `quit` or the end of the input.
pub(crate) fn converse(
    speaker: &mut impl Speaker,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let reply = match read_line(&mut input, &mut line)? {
            Line::End => return speaker.close().map_err(|failure| io::Error::other(failure.message)),
            Line::TooLong => {
                let message = format!("a line is longer than {LINE_BYTES_MAX} bytes");
                Err(failure(FailureKind::Protocol, message))
            }
            Line::Whole => serde_json::from_slice(&line)
                .map_err(|error| failure(FailureKind::Protocol, format!("not a request: {error}")))
                .and_then(|request| speaker.answer(request)),
        };
        let reply = reply.unwrap_or_else(Reply::Error);
        serde_json::to_writer(&mut output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
        if reply == Reply::Quit {
            return Ok(());
        }
    }
}

/// The reply to `hello`.
pub(crate) fn say_hello(about: &About, protocol: u32, capabilities: Vec<String>) -> Result<Reply, Failure> {
    if protocol != PROTOCOL_VERSION {
        let message = format!("the lab speaks protocol {protocol}, this kit speaks {PROTOCOL_VERSION}");
        return Err(failure(FailureKind::Protocol, message));
    }
    let about = about.clone();
    Ok(Reply::Hello(Hello {
        protocol: PROTOCOL_VERSION,
        kit: concat!("rust ", env!("CARGO_PKG_VERSION")).into(),
        subject: about.subject,
        version: about.version,
        engine: about.engine,
        engine_source: about.engine_source,
        compile_options: about.compile_options,
        capabilities,
        clock: clock::measure(),
    }))
}
