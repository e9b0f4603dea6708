//! The derives of `touchstone-store`: what a plain type says of itself to be stored. A macro reads the type, refuses
//! what could not be stored with the remedy, and writes the traits' code; nothing here knows SQLite.

mod attribute;
mod name;
mod nested;
mod record;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct with named fields a record: a row of a table.
///
/// On the struct:
/// - `#[record(name = "…")]`: the table's name, otherwise the type's in snake case;
/// - `#[record(numbered)]`: rows are numbered and the key has an index of its own, for large rows.
///
/// On a field:
/// - `#[record(key)]`: the primary key, or one of up to four columns of it; at least one field has it;
/// - `#[record(index)]`, `#[record(unique)]`: an index, which may also refuse a second record of the same value;
/// - `#[record(column = "…")]`: the column's name in the file, which stays when the field is renamed;
/// - `#[record(default)]`, `#[record(default = …)]`: what the field is in rows that were written before it existed,
///   and where it is NULL; queries see it there too. An `Option` has none, it is `None` there. It should always be the
///   same value: views and queries evaluate it once. A comma outside of brackets ends the expression, so one between
///   angle brackets needs braces around the whole.
///
/// Beside the type, the macro writes two structs of its visibility, with its fields: `…Columns`, whose fields are
/// columns for queries, and `…View`, whose fields are borrowed from the file.
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct with named fields, or an enum, a value inside a column.
///
/// Every field and every variant has a `#[tag(…)]`, a number that is its own within the struct, the variant or the
/// enum. The file knows it by that number: names and order may change, tags may not, and the tag of what was removed
/// must not be used again. What has an unknown tag is skipped where it is a field, and is an error where it is a variant.
///
/// A field that the file's value lacks is `#[nested(default)]` or `#[nested(default = …)]`, else `None` where it is an
/// `Option`, else an error.
///
/// The type also becomes a column's: a blob, or an integer (the tag) where it is an enum without any payload. An enum
/// that is a column can therefore not gain its first payload later; inside of other values it can.
///
/// A type may contain itself, in a box or a vector, 128 deep: deeper values are refused when they are written, and
/// deeper bytes are no encoding.
#[proc_macro_derive(Nested, attributes(tag, nested))]
pub fn nested(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    nested::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
