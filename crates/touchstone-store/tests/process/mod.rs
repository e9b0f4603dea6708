//! Another process: this test program again, which runs one of its tests and is told by variables what to do there. It
//! listens and speaks in lines.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// This test program, to run the test of that name alone.
pub fn again(test: &str) -> Command {
    let mut program = Command::new(std::env::current_exe().expect("the program is known"));
    program.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    program
}

/// Says a line to whoever has started this process. What the test says of itself may stand before it in the line.
pub fn say(line: &str) {
    println!("\n{line}");
    std::io::stdout().flush().expect("it is heard");
}

/// The other process. It is killed where nobody waits for its end.
pub struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    pub fn start(program: &mut Command) -> Other {
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().expect("the other process starts");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Other { child, input, output: BufReader::new(output.expect("it is piped")) }
    }

    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it has not been ended");
        writeln!(input, "{line}").expect("it listens");
    }

    /// Waits until it says the line.
    pub fn hear(&mut self, wanted: &str) {
        let mut line = String::new();
        while line.trim_end() != wanted {
            line.clear();
            let read = self.output.read_line(&mut line).expect("it speaks");
            assert_ne!(read, 0, "the other process ended before it said `{wanted}`");
        }
    }

    /// Tells it to end, by closing its input, and waits for that; what it has still said.
    pub fn end(&mut self) -> String {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it speaks");
        assert!(self.child.wait().expect("it ends").success(), "the other process failed: {rest}");
        rest
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Where the test failed it may wait for ever; where it did not, it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
