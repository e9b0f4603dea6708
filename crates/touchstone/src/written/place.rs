//! Where something stands in a file that was read: what is wrong with an item of one of its lists is told with the line that
//! names the item.

use toml::de::DeTable;

/// An item of a list, such as a `[[case]]`, as some of its keys name it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    list: &'static str,
    named: Vec<(&'static str, String)>,
}

/// What is wrong, and with which item, where it is one.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    pub(crate) item: Option<Item>,
    pub(crate) message: String,
}

/// A file as it was read, and what it is called in errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    name: String,
    text: String,
}

impl Item {
    pub(crate) fn new(list: &'static str, named: &[(&'static str, &str)]) -> Item {
        Item { list, named: named.iter().map(|(key, name)| (*key, (*name).to_owned())).collect() }
    }

    fn is(&self, table: &DeTable<'_>) -> bool {
        let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
        self.named.iter().all(|(key, name)| text(key) == Some(name.as_str()))
    }
}

impl Mistake {
    pub(crate) fn of(item: Item, message: String) -> Mistake {
        Mistake { item: Some(item), message }
    }
}

impl From<String> for Mistake {
    fn from(message: String) -> Mistake {
        Mistake { item: None, message }
    }
}

impl Origin {
    pub(crate) fn new(name: &str, text: &str) -> Origin {
        Origin { name: name.to_owned(), text: text.to_owned() }
    }

    /// `suites/mine.toml, line 12`: the line of the first key that names the item.
    pub(crate) fn place(&self, item: &Item) -> String {
        match self.line(item) {
            Some(line) => format!("{}, line {line}", self.name),
            None => self.name.clone(),
        }
    }

    /// The mistake with where it is.
    pub(crate) fn told(&self, mistake: &Mistake) -> String {
        let place = mistake.item.as_ref().map_or_else(|| self.name.clone(), |item| self.place(item));
        format!("{place}: {}", mistake.message)
    }

    fn line(&self, item: &Item) -> Option<usize> {
        let file = DeTable::parse(&self.text).ok()?;
        let list = file.get_ref().get(item.list)?.get_ref().as_array()?;
        let found =
            list.iter().filter_map(|known| known.get_ref().as_table()).find(|table| item.is(table))?;
        let (key, _) = item.named.first()?;
        let before = self.text.get(..found.get(*key)?.span().start)?;
        Some(before.matches('\n').count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"name = "a"
case = [{ id = "inline" }]

[[row]]
of = "1"
table = "one"

[[row]]
# A remark.
table = "two"
of = "1"
"#;

    #[test]
    fn an_item_stands_where_its_first_key_does() {
        let origin = Origin::new("a.toml", TEXT);
        let place =
            |list: &'static str, named: &[(&'static str, &str)]| origin.place(&Item::new(list, named));
        assert_eq!(place("case", &[("id", "inline")]), "a.toml, line 2");
        assert_eq!(place("row", &[("of", "1"), ("table", "one")]), "a.toml, line 5");
        assert_eq!(place("row", &[("of", "1"), ("table", "two")]), "a.toml, line 11");
    }

    #[test]
    fn what_is_not_in_the_file_has_no_line() {
        let origin = Origin::new("a.toml", TEXT);
        assert_eq!(origin.place(&Item::new("row", &[("of", "2")])), "a.toml");
        assert_eq!(origin.place(&Item::new("claim", &[("id", "inline")])), "a.toml");
        assert_eq!(origin.told(&"it is wrong".to_owned().into()), "a.toml: it is wrong");
    }
}
