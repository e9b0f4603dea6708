//! Tables of a format's fields, made from the types that read and write it: name, what it holds, and its own comment.
//!
//! Not a parser of Rust: it reads types as this project writes them, a field a line, and says so where it cannot.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The types of some files, by name.
#[derive(Clone, Debug, Default)]
pub struct Types {
    types: BTreeMap<String, Type>,
    constants: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
enum Type {
    Fields(Vec<Field>),
    Words(Vec<String>),
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    holds: String,
    comment: String,
    optional: bool,
}

impl Types {
    /// Adds the public types of a file that are written to JSON or read from TOML.
    pub fn add(&mut self, text: &str) {
        let mut lines = text.lines().peekable();
        let (mut derives, mut between) = (String::new(), '-');
        while let Some(line) = lines.next() {
            if let Some((name, value)) = constant(line) {
                self.constants.insert(name, value);
            } else if line.trim_start().starts_with("#[derive(") {
                derives = line.to_owned();
            } else if line.starts_with("#[serde(rename_all = \"snake_case\"") {
                between = '_';
            } else if let Some((kind, name)) = opening(line) {
                let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
                if derives.contains("Serialize") || derives.contains("Deserialize") {
                    let found = if kind == "struct" {
                        Type::Fields(fields(&inside))
                    } else {
                        Type::Words(words(&inside, between))
                    };
                    self.types.insert(name, found);
                }
                derives.clear();
                between = '-';
            }
        }
    }

    /// The names of the types with fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().filter(|(_, found)| matches!(found, Type::Fields(_))).map(|(name, _)| name.as_str())
    }

    /// The names of a type's fields.
    pub fn fields_of(&self, name: &str) -> Vec<&str> {
        match self.types.get(name) {
            Some(Type::Fields(fields)) => fields.iter().map(|field| field.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// The words of a type that is one of several.
    pub fn words_of(&self, name: &str) -> Vec<String> {
        match self.types.get(name) {
            Some(Type::Words(words)) => words.clone(),
            _ => Vec::new(),
        }
    }

    /// The table of a type's fields in JSON; none where there is no such type.
    pub fn fields_table(&self, name: &str) -> Option<String> {
        self.table(name, "field", |field, holds| {
            if field.optional && !field.holds.starts_with("Option") {
                format!("{holds}; may be left out")
            } else {
                holds
            }
        })
    }

    /// The table of a type's keys in TOML, which has no null: what may be none may be left out.
    pub fn keys_table(&self, name: &str) -> Option<String> {
        self.table(name, "key", |field, holds| {
            let optional = field.optional || field.holds.starts_with("Option");
            let holds = holds.trim_end_matches(" or null");
            if optional { format!("{holds}; may be left out") } else { holds.to_owned() }
        })
    }

    fn table(&self, name: &str, what: &str, worded: impl Fn(&Field, String) -> String) -> Option<String> {
        let Some(Type::Fields(fields)) = self.types.get(name) else { return None };
        let mut table = format!("| {what} | holds | meaning |\n|---|---|---|\n");
        for field in fields {
            let holds = worded(field, self.holds(&field.holds));
            let _ = writeln!(table, "| `{}` | {holds} | {} |", field.name, self.plain(&field.comment));
        }
        Some(table)
    }

    /// A Rust type in the words of JSON and TOML.
    fn holds(&self, rust: &str) -> String {
        let inside = |outer: &str| rust.strip_prefix(outer)?.strip_prefix('<')?.strip_suffix('>');
        if let Some(inner) = inside("Option") {
            return format!("{} or null", self.holds(inner));
        }
        if let Some(inner) = inside("Vec") {
            return format!("list of {}", self.holds(inner));
        }
        if let Some(inner) = inside("BySize") {
            return format!("{}, or one each for `quick` and `full`", self.holds(inner));
        }
        if let Some((key, value)) = inside("BTreeMap").and_then(|inner| inner.split_once(", ")) {
            return format!("object: {} by {}", self.holds(value), self.holds(key));
        }
        if let Some(pair) = rust.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            return pair.split(", ").map(|part| self.holds(part)).collect::<Vec<_>>().join(" and ");
        }
        match (rust, self.types.get(rust)) {
            ("String" | "PathBuf", _) => "text".into(),
            ("Map<String, Value>", _) => "any keys".into(),
            ("u16" | "u32" | "u64" | "i64" | "usize", _) => "integer".into(),
            ("Duration", _) => "duration".into(),
            ("Http", _) => "1 or 2".into(),
            ("Think", _) => "duration, or a list of two".into(),
            // A histogram is text in JSON.
            ("Latencies", _) => "text".into(),
            ("Series", _) => format!("list of {}", self.holds("Interval")),
            ("f64", _) => "number".into(),
            ("bool", _) => "true or false".into(),
            ("Contender", _) => "contender".into(),
            ("ArmSpec", _) => format!("contender, or {}", self.holds("VariedArm")),
            ("Settings", _) => "object: integer or word by setting".into(),
            ("Setting", _) => "integer or word".into(),
            (_, Some(Type::Words(words))) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            }
            (name, _) => format!("[{name}](#{})", name.to_lowercase()),
        }
    }

    /// A comment for readers who do not read Rust: links lose their brackets, versions become their number.
    fn plain(&self, comment: &str) -> String {
        let mut plain = comment.to_owned();
        while let Some((before, rest)) = plain.split_once("[`") {
            let Some((link, after)) = rest.split_once("`]") else { break };
            let name = link.rsplit("::").next().unwrap_or(link);
            let shown = self.constants.get(name).cloned().unwrap_or_else(|| format!("`{name}`"));
            plain = format!("{before}{shown}{after}");
        }
        plain.replace('|', "\\|")
    }
}

/// `pub const NAME: u32 = 1;`
fn constant(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix("pub const ")?.split_once(": u32 = ")?;
    Some((name.to_owned(), value.trim_end_matches(';').to_owned()))
}

/// `pub struct Name {` or `pub enum Name {`, generic ones left out.
fn opening(line: &str) -> Option<(&str, String)> {
    let rest = line.strip_prefix("pub ")?;
    let (kind, rest) = rest.split_once(' ')?;
    let name = rest.strip_suffix(" {")?;
    let plain = name.chars().all(|c| c.is_alphanumeric()) && matches!(kind, "struct" | "enum");
    plain.then(|| (kind, name.to_owned()))
}

fn fields(lines: &[&str]) -> Vec<Field> {
    let (mut comment, mut attributes, mut fields) = (String::new(), String::new(), Vec::new());
    for line in lines.iter().map(|line| line.trim()) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text);
        } else if line.starts_with("#[") {
            attributes.push_str(line);
        } else if let Some((name, holds)) = line.strip_prefix("pub ").and_then(|field| field.split_once(": "))
        {
            let renamed = attributes.split_once("rename = \"").and_then(|(_, rest)| rest.split_once('"'));
            let renamed = renamed.map(|(name, _)| name.to_owned());
            fields.push(Field {
                name: renamed.unwrap_or_else(|| name.to_owned()),
                holds: holds.trim_end_matches(',').to_owned(),
                comment: std::mem::take(&mut comment).trim().to_owned(),
                optional: attributes.contains("default"),
            });
            attributes.clear();
        }
    }
    fields
}

/// The variants of an enum as they are written: words with hyphens or underscores between them.
fn words(lines: &[&str], between: char) -> Vec<String> {
    let variants = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    let written = |variant: &str| {
        let mut word = String::new();
        for character in variant.chars().take_while(|c| c.is_alphanumeric()) {
            if character.is_ascii_uppercase() && !word.is_empty() {
                word.push(between);
            }
            word.push(character.to_ascii_lowercase());
        }
        word
    };
    variants.map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
/// The version.
pub const SHELF_VERSION: u32 = 3;

/// A shelf.
#[derive(Clone, Serialize, Deserialize)]
pub struct Shelf {
    /// [`SHELF_VERSION`].
    pub shelf_version: u32,
    /// Its books,
    /// in order.
    #[serde(default, rename = \"book\")]
    pub books: Vec<Book>,
    /// Its colour.
    pub colour: Option<Colour>,
    /// Its wood.
    pub wood: Wood,
}

#[derive(Serialize)]
#[serde(rename_all = \"snake_case\")]
pub enum Wood {
    RedBeech,
}

#[derive(Serialize)]
pub enum Colour {
    /// Red.
    Red,
    DarkBlue,
}

#[derive(Clone)]
pub struct Inner {
    pub secret: u64,
}
";

    #[test]
    fn a_table_has_every_field_with_its_comment() {
        let mut types = Types::default();
        types.add(CODE);
        let table = types.fields_table("Shelf").unwrap();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows[0], "| `shelf_version` | integer | 3. |");
        assert_eq!(rows[1], "| `book` | list of [Book](#book); may be left out | Its books, in order. |");
        assert_eq!(rows[2], "| `colour` | `red`, `dark-blue` or null | Its colour. |");
        assert_eq!(rows[3], "| `wood` | `red_beech` | Its wood. |");
        let keys = types.keys_table("Shelf").unwrap();
        assert!(
            keys.contains("\n| `colour` | `red`, `dark-blue`; may be left out | Its colour. |\n"),
            "{keys}"
        );
        assert_eq!(types.names().collect::<Vec<_>>(), ["Shelf"], "what is not written is not in the format");
    }
}
