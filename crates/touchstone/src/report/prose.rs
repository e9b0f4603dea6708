//! Text that a suite, a driver or the lab wrote: words, with `code` between backticks and **strong** words between two
//! stars, as Markdown has them.
//!
//! Ours, for a library of Markdown finds more in such text than its writers meant: lists, links, HTML, and stars and
//! underscores of formulas and names.

use askama::filters::{Escaper, Html, Safe};

/// Marks with the elements that they stand for.
const MARKS: [(&str, &str); 2] = [("`", "code"), ("**", "strong")];

/// Something between two marks, and what stands around it.
struct Marked<'t> {
    before: &'t str,
    element: &'static str,
    inside: &'t str,
    after: &'t str,
}

/// As HTML in which nothing of the text is an element but what its marks stand for.
pub(super) fn html(text: &str) -> Safe<String> {
    let mut html = String::new();
    write_html(text, &mut html);
    Safe(html)
}

/// Without its marks, for what can show none.
pub(super) fn plain(mut text: &str) -> String {
    let mut words = String::new();
    while let Some(Marked { before, element, inside, after }) = first_marked(text) {
        words += before;
        words += &if element == "code" { inside.to_owned() } else { plain(inside) };
        text = after;
    }
    words + text
}

fn write_html(mut text: &str, html: &mut String) {
    while let Some(Marked { before, element, inside, after }) = first_marked(text) {
        write_escaped(before, html);
        html.extend(["<", element, ">"]);
        match element {
            "code" => write_escaped(inside, html),
            _ => write_html(inside, html),
        }
        html.extend(["</", element, ">"]);
        text = after;
    }
    write_escaped(text, html);
}

fn write_escaped(text: &str, html: &mut String) {
    Html.write_escaped_str(html, text).expect("a string takes all that is written");
}

/// The first that is between two marks. A mark with a space on its inner side is none, as in `2 ** 3 ** 4`, and the next may be one.
fn first_marked(text: &str) -> Option<Marked<'_>> {
    let marked = |(mark, element): (&'static str, &'static str)| {
        let places = text.match_indices(mark).map(|(at, _)| at);
        places.clone().zip(places.skip(1)).find_map(|(at, end)| {
            let inside = &text[at + mark.len()..end];
            let is_text = !inside.is_empty() && inside.trim() == inside;
            is_text.then(|| Marked { before: &text[..at], element, inside, after: &text[end + mark.len()..] })
        })
    };
    MARKS.into_iter().filter_map(marked).min_by_key(|marked| marked.before.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_strong_words_are_elements_and_nothing_else_is() {
        for (text, wanted) in [
            ("say `threads = true` in it", "say <code>threads = true</code> in it"),
            ("**Not** here: `a` and `b`", "<strong>Not</strong> here: <code>a</code> and <code>b</code>"),
            ("**all of `a`**", "<strong>all of <code>a</code></strong>"),
            ("`**` is a mark", "<code>**</code> is a mark"),
            ("2 ** 3 ** 4, a lone ` and **", "2 ** 3 ** 4, a lone ` and **"),
            ("``, ****, 3 * 4 * 5, a_b_c", "``, ****, 3 * 4 * 5, a_b_c"),
            // What is no mark hides none behind it.
            ("2 ** 3 is **never** 9", "2 ** 3 is <strong>never</strong> 9"),
            ("a lone ` before `code`", "a lone ` before <code>code</code>"),
        ] {
            assert_eq!(html(text).0, wanted);
        }
    }

    #[test]
    fn no_element_of_the_text_reaches_the_page() {
        for text in ["<script>", "`<script>`", "**<script>**", "`a<script>", "**`<script>`**"] {
            let html = html(text).0;
            assert!(!html.contains("<script"), "{html}");
        }
    }

    #[test]
    fn without_marks_the_words_stay() {
        assert_eq!(plain("**Once** `PRAGMA a` turns **`b`** on"), "Once PRAGMA a turns b on");
        assert_eq!(plain("2 ** 3 and `**`"), "2 ** 3 and **");
    }
}
