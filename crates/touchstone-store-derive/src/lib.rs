//! The derives of `touchstone-store`: what a plain type says of itself to be stored.

use proc_macro::TokenStream;

/// Makes a struct a record.
#[proc_macro_derive(Record, attributes(record))]
pub fn record(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Makes a type a value inside a column.
#[proc_macro_derive(Nested, attributes(tag, nested))]
pub fn nested(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}
