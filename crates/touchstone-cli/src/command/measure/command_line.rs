//! The command line that a record keeps, quoted so that a shell reads the same arguments from it.

/// The command as it can be typed again: without the path of the program, and without the record's folder, which now holds
/// a record.
pub fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let mut follows_out = false;
    let again = arguments.filter(|argument| {
        let names_it = std::mem::replace(&mut follows_out, argument == "--out");
        !names_it && !follows_out && !argument.starts_with("--out=")
    });
    let arguments: Vec<String> = again.map(quoted).collect();
    format!("touchstone {}", arguments.join(" "))
}

/// An argument as a shell takes it: as it is where it has none of the shell's own characters.
fn quoted(argument: String) -> String {
    let plain = argument.chars().all(|c| c.is_ascii_alphanumeric() || "@#-_=./,:".contains(c));
    if plain && !argument.is_empty() { argument } else { format!("'{}'", argument.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::command_line;

    fn of(arguments: &[&str]) -> String {
        command_line(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn the_folder_of_the_record_is_left_out_and_what_a_shell_would_read_otherwise_is_quoted() {
        assert_eq!(of(&["bench", "smoke", "--out", "runs/a", "--quick"]), "touchstone bench smoke --quick");
        assert_eq!(of(&["bench", "--out=runs/a", "a@b#c"]), "touchstone bench a@b#c");
        assert_eq!(of(&["run", "my plan.json", "", "it's"]), r"touchstone run 'my plan.json' '' 'it'\''s'");
    }
}
