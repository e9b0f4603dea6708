//! The canary that does not speak the protocol, in one of four ways, by its first argument. It uses no kit.

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let way = std::env::args().nth(1).unwrap_or_default();
    match speak(&way) {
        Ok(()) => ExitCode::SUCCESS,
        // The lab has hung up, as it should.
        Err(_) => ExitCode::FAILURE,
    }
}

fn speak(way: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lines() {
        line?;
        match way {
            "stops" => {
                write!(output, "{{\"reply\":\"hello\",\"proto")?;
                return output.flush();
            }
            "version" => writeln!(output, "{}", hello(2))?,
            "floods" => loop {
                output.write_all(&[b'x'; 4096])?;
            },
            _ => writeln!(output, "Segmentation fault (core not dumped)")?,
        }
        output.flush()?;
    }
    Ok(())
}

fn hello(protocol: u32) -> String {
    format!(
        r#"{{"reply":"hello","protocol":{protocol},"kit":"rubbish","subject":"canary-version","version":"0","#
    ) + r#""engine":"none","capabilities":[],"clock":{"name":"none","cost_ns":0.0,"resolution_ns":1}}"#
}
