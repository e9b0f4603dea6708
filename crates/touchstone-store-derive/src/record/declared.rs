//! The declaration of a record: read from the struct and its attributes, and refused if it cannot be stored.

use crate::attribute::{Errors, default_value, documentation, place, refuse_generics, without_self};
use crate::name::{column_complaint, snake_case, table_complaint};
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Result, Type, Visibility};

/// `KeyPart` is implemented for tuples up to this length.
const KEYS_MAX: usize = 4;

/// NULL cannot be both `None` and the default; and some ways to read a row cannot tell NULL from a missing column.
pub const DEFAULT_OF_OPTION: &str = "an `Option` cannot have a default, as it is `None` where the file has nothing: \
                                     remove `default`, or use the type itself";

/// A table.
pub struct Table<'a> {
    pub ident: &'a Ident,
    pub visibility: &'a Visibility,
    pub name: LitStr,
    pub numbered: bool,
    /// The number of columns in the key.
    pub keys: usize,
    /// The columns of the key come first.
    pub columns: Vec<Column<'a>>,
}

/// A field and its column.
pub struct Column<'a> {
    pub ident: &'a Ident,
    pub visibility: &'a Visibility,
    pub documentation: Vec<&'a Attribute>,
    /// The field's type, without `Self`.
    pub holds: TokenStream,
    pub place: Span,
    pub name: LitStr,
    pub index: Index,
    /// The span of the attribute `index` or `unique`.
    index_place: Option<Span>,
    /// The default's expression, without `Self`.
    pub default: Option<TokenStream>,
    key: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Index {
    None,
    Plain,
    Unique,
}

impl<'a> Table<'a> {
    /// Reads the type.
    ///
    /// # Errors
    /// If the type cannot be a record.
    pub fn declared(input: &'a DeriveInput) -> Result<Table<'a>> {
        refuse_generics(input, "Record")?;
        let fields = named_fields(input)?;
        let mut errors = Errors::default();
        let (name, numbered) = errors
            .take(struct_attributes(input))
            .unwrap_or_else(|| (LitStr::new("", input.ident.span()), false));
        let mut columns = Vec::new();
        for field in fields {
            columns.extend(errors.take(Column::declared(field, &input.ident)));
        }
        if let Err(error) = distinct(&columns) {
            errors.push(error);
        }
        errors.finish()?;

        // The sort is stable: within the key and outside of it, the order is that of the fields.
        columns.sort_by_key(|column| !column.key);
        let keys = columns.iter().filter(|column| column.key).count();
        if keys == 0 {
            return Err(Error::new_spanned(
                &input.ident,
                "a record needs a primary key: mark the field that names it, or several, with `#[record(key)]`",
            ));
        }
        if keys > KEYS_MAX {
            return Err(Error::new_spanned(
                columns[KEYS_MAX].ident,
                "a primary key has at most four columns: keep those that tell one record from another",
            ));
        }
        refuse_index_of_key(&columns[..keys])?;
        Ok(Table { ident: &input.ident, visibility: &input.vis, name, numbered, keys, columns })
    }
}

impl<'a> Column<'a> {
    fn declared(field: &'a syn::Field, record: &Ident) -> Result<Column<'a>> {
        let Some(ident) = &field.ident else { unreachable!("the fields are named") };
        let mut column = Column {
            ident,
            visibility: &field.vis,
            documentation: documentation(&field.attrs),
            holds: without_self(field.ty.to_token_stream(), record),
            place: place(&field.ty),
            name: LitStr::new(&ident.unraw().to_string(), ident.span()),
            index: Index::None,
            index_place: None,
            default: None,
            key: false,
        };
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| column.apply(&meta, record))?;
        }
        if let Some(complaint) = column_complaint(&column.name.value()) {
            return Err(Error::new(column.name.span(), complaint));
        }
        if column.key && is_option(&field.ty) {
            return Err(Error::new_spanned(
                &field.ty,
                "a key cannot be an `Option`, as every record has one: use the type itself, with a value \
                 that stands for none",
            ));
        }
        if column.default.is_some() && is_option(&field.ty) {
            return Err(Error::new_spanned(&field.ty, DEFAULT_OF_OPTION));
        }
        Ok(column)
    }

    fn apply(&mut self, meta: &ParseNestedMeta<'_>, record: &Ident) -> Result<()> {
        if meta.path.is_ident("key") {
            self.key = true;
        } else if meta.path.is_ident("index") || meta.path.is_ident("unique") {
            if self.index != Index::None {
                return Err(meta.error("a column has one index: `unique` is one for queries too"));
            }
            self.index = if meta.path.is_ident("unique") { Index::Unique } else { Index::Plain };
            self.index_place = Some(meta.path.span());
        } else if meta.path.is_ident("column") {
            self.name = meta.value()?.parse()?;
        } else if meta.path.is_ident("default") {
            self.default = Some(without_self(default_value(meta)?, record));
        } else {
            return Err(meta.error(
                "unknown attribute: a field's are `key`, `index`, `unique`, `column = \"…\"`, `default`, \
                 `default = …`",
            ));
        }
        // Attributes come in any order, so the conflict may show at either of the two.
        if self.key && self.default.is_some() {
            return Err(
                meta.error("a key cannot have a default, every record has one of its own: remove `default`")
            );
        }
        Ok(())
    }
}

/// Refuses an index on the key's first column: the key's own index begins with it.
fn refuse_index_of_key(keys: &[Column<'_>]) -> Result<()> {
    let Some(place) = keys[0].index_place else { return Ok(()) };
    let complaint = match keys[0].index {
        _ if keys.len() == 1 => "a key needs no index, it has its own: remove `index` or `unique`",
        Index::Unique => {
            "the first field of a key cannot be `unique`: where no two records have one value of it, it is the key \
             alone, and the other fields are none of it"
        }
        _ => "the first field of a key needs no index, the key's own begins with it: remove `index`",
    };
    Err(Error::new(place, complaint))
}

fn named_fields(input: &DeriveInput) -> Result<impl Iterator<Item = &syn::Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter()),
            _ => Err(Error::new_spanned(
                &input.ident,
                "a record's columns are named: give the struct named fields, as in `struct Task { id: i64 }`",
            )),
        },
        _ => Err(Error::new_spanned(
            &input.ident,
            "`Record` can be derived for structs only: make this a struct, with the enum as a \
             field that derives `Nested`",
        )),
    }
}

/// The table's name, and whether it is numbered.
fn struct_attributes(input: &DeriveInput) -> Result<(LitStr, bool)> {
    let mut name = LitStr::new(&snake_case(&input.ident.unraw().to_string()), input.ident.span());
    let mut numbered = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("record")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                name = meta.value()?.parse()?;
            } else if meta.path.is_ident("numbered") {
                numbered = true;
            } else {
                return Err(meta.error("unknown attribute: a record's are `name = \"…\"` and `numbered`"));
            }
            Ok(())
        })?;
    }
    match table_complaint(&name.value()) {
        Some(complaint) => Err(Error::new(name.span(), complaint)),
        None => Ok((name, numbered)),
    }
}

/// SQLite ignores the case of column names.
fn distinct(columns: &[Column<'_>]) -> Result<()> {
    let mut errors = Errors::default();
    for (at, column) in columns.iter().enumerate() {
        let name = column.name.value();
        let taken = |other: &&Column<'_>| other.name.value().eq_ignore_ascii_case(&name);
        if let Some(other) = columns[..at].iter().find(taken) {
            let complaint = format!(
                "the column name `{name}` is that of the field `{}`, and SQLite ignores case: choose another \
                 with `#[record(column = \"…\")]`",
                other.ident
            );
            errors.push(Error::new(column.name.span(), complaint));
        }
    }
    errors.finish()
}

/// Recognises `Option` by the type's name, which is all that a macro sees. The compiler refuses an `Option` under
/// another name: no `Option` is a `Key`, and the code for defaults asserts that the type is no `Option`.
fn is_option(holds: &Type) -> bool {
    matches!(holds, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}
