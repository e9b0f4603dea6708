//! The derives of `touchstone-store`. A macro reads the declaration of a plain type, refuses a type that cannot be
//! stored with the remedy, and generates the implementations of the traits; nothing here knows SQLite.

mod attribute;
mod name;
mod nested;
mod record;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct with named fields a record: a row of a table.
///
/// On the struct:
/// - `#[record(name = "…")]`: the table's name, else the type's in snake case;
/// - `#[record(numbered)]`: rows are numbered and the key has an index of its own, for large rows.
///
/// On a field:
/// - `#[record(key)]`: the primary key, or one of up to four columns of it; at least one field has it;
/// - `#[record(index)]`, `#[record(unique)]`: an index, which may also refuse a second record of the same value;
/// - `#[record(column = "…")]`: the column's name in the file, which stays when the field is renamed;
/// - `#[record(default)]`, `#[record(default = …)]`: the field's value in rows that were written before it existed, and
///   in rows with NULL; queries use the default there too. An `Option` cannot have a default: it is `None` there. The
///   expression should always give the same value: views and queries evaluate it once. A comma outside of brackets ends
///   the expression, so an expression with a comma between angle brackets needs braces around it.
///
/// Beside the type, the macro generates two structs of its visibility, with its fields: `…Columns`, whose fields are
/// columns for queries, and `…View`, whose fields are borrowed from the file.
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct with named fields, or an enum, a value inside a column.
///
/// Every field and every variant has a `#[tag(…)]`, a number that is unique within the struct, the variant or the enum.
/// The file knows it by that number: names and order may change, tags may not, and the tag of a removed one must not be
/// used again. A reader skips a field with an unknown tag; an unknown variant is an error.
///
/// A field that the file's value lacks has its `#[nested(default)]` or `#[nested(default = …)]`. Without one it is
/// `None` if it is an `Option`, and an error else.
///
/// The type can also be a column: a blob, or an integer (the tag) if it is an enum without any payload. An enum that is
/// a column can therefore not gain its first payload later; inside of other values it can.
///
/// A type may contain itself, in a box or a vector, 128 levels deep: deeper values are refused when they are written,
/// and deeper bytes when they are read.
#[proc_macro_derive(Nested, attributes(tag, nested))]
pub fn nested(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    nested::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
