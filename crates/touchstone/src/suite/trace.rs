//! A recorded order of gets: the numbers of the pages that a program asked for, one after the other, as text.

/// How a file begins that is one.
const HEAD: &str = "touchstone-trace 1";

/// So much of a word is shown.
const SHOWN_CHARACTERS: usize = 40;

/// What a program asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// How many pages there were: every number is below it.
    pub pages: u64,
    /// The pages' numbers, in the order in which they were asked for.
    pub gets: Vec<u32>,
}

impl Trace {
    /// Reads a trace: its head, remarks, `pages N`, `gets M`, and so many numbers.
    ///
    /// # Errors
    /// When it is none, has no gets, was cut short or goes on after them, or names a page that it says there is not.
    pub fn parse(text: &str) -> Result<Trace, String> {
        let mut lines = (1..).zip(text.lines());
        if lines.next().is_none_or(|(_, line)| line != HEAD) {
            return Err(format!("it does not begin with `{HEAD}`: record it as docs/traces.md says"));
        }
        // A number may have been cut in two.
        if !text.ends_with('\n') {
            return Err("its last line has no end: it was cut short".into());
        }
        let mut lines = lines.filter(|(_, line)| !line.starts_with('#'));
        let pages = u64::from(counted(lines.next(), "pages")?);
        let count = counted(lines.next(), "gets")?;
        let mut gets = Vec::new();
        for (place, word) in
            lines.flat_map(|(place, line)| line.split_whitespace().map(move |word| (place, word)))
        {
            let get = number(place, word)?;
            if u64::from(get) >= pages {
                return Err(format!("it asks for page {get}, and says that there are {pages}, from 0 on"));
            }
            gets.push(get);
        }
        if gets.is_empty() {
            return Err("it has no gets: record a program that reads".into());
        }
        if gets.len() != count as usize {
            let what = if gets.len() < count as usize { "was cut short" } else { "goes on after them" };
            return Err(format!("it says that it has {count} gets, and has {}: it {what}", gets.len()));
        }
        Ok(Trace { pages, gets })
    }
}

/// The beginning of a word, which may be all of a file, with nothing that moves the terminal of whoever reads it.
fn shown(word: &str) -> String {
    word.chars().take(SHOWN_CHARACTERS).flat_map(char::escape_debug).collect()
}

/// The number of a line `name number`.
fn counted(line: Option<(usize, &str)>, name: &str) -> Result<u32, String> {
    match line.and_then(|(place, line)| Some((place, line.strip_prefix(name)?.trim()))) {
        Some((place, word)) if !word.is_empty() => number(place, word),
        _ => Err(format!("its line `{name} N` is missing: it was cut short, or is no trace")),
    }
}

fn number(place: usize, word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| {
        format!(
            "its line {place}: `{}` is no whole number below 2^32: write digits alone, without commas, and numbers with spaces \
             or line ends between them",
            shown(word)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_what_it_says() {
        let trace = Trace::parse("touchstone-trace 1\n# of a test\npages 9\ngets 4\n8 0\n# and on\n3 3\n");
        assert_eq!(trace, Ok(Trace { pages: 9, gets: vec![8, 0, 3, 3] }));
    }

    #[test]
    fn what_is_no_trace_or_not_all_of_one_is_told() {
        let told = |text: &str| Trace::parse(text).expect_err("it is wrong");
        let whole = "touchstone-trace 1\npages 9\ngets 3\n8 0 3\n";
        for (text, words) in [
            ("", "does not begin"),
            ("pages 9\n", "does not begin"),
            ("touchstone-trace 1\n", "`pages N` is missing"),
            ("touchstone-trace 1\npages 9\n", "`gets N` is missing"),
            ("touchstone-trace 1\npages 9\ngets \n", "`gets N` is missing"),
            (
                "touchstone-trace 1\n#\npages 1,000\ngets 1\n0\n",
                "its line 3: `1,000` is no whole number below 2^32: write",
            ),
            ("touchstone-trace 1\npages 9\ngets many\n", "its line 3: `many` is no whole number"),
            ("touchstone-trace 1\npages 9\ngets 3\n8\n0, 3\n", "its line 5: `0,` is no whole number"),
            ("touchstone-trace 1\npages 9\ngets 0\n", "no gets"),
            ("touchstone-trace 1\npages 9\ngets 3\n", "no gets"),
            ("touchstone-trace 1\npages 9\ngets 3\n8 0\n", "3 gets, and has 2: it was cut short"),
            ("touchstone-trace 1\npages 99\ngets 2\n8 1", "its last line has no end: it was cut short"),
            ("touchstone-trace 1\npages 9\ngets 3\n8 0 3 1\n", "3 gets, and has 4: it goes on"),
            ("touchstone-trace 1\npages 9\ngets 1\n9\n", "page 9, and says that there are 9"),
            ("touchstone-trace 1\npages 9\ngets 1\n-1\n", "its line 4: `-1` is no whole number"),
        ] {
            assert!(told(text).contains(words), "{text}: {}", told(text));
        }
        assert!(Trace::parse(whole).is_ok());
        let strange =
            told(&format!("touchstone-trace 1\npages 9\ngets 1\n\u{1b}[2J{}\n", "9".repeat(1 << 20)));
        assert!(strange.starts_with("its line 4: `\\u{1b}[2J99") && strange.len() < 250, "{strange}");
    }
}
