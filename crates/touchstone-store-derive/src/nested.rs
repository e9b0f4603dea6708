//! `#[derive(Nested)]`: generates the code of a value inside a column. `declared` reads the type's declaration.
//!
//! A struct is a map of its fields by tag. A variant without a payload is its tag; one with a payload is an array of
//! its tag and a map of its fields.

mod declared;

use crate::attribute::place;
use declared::{Field, Shape, Variant};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{DeriveInput, Result};

/// The implementations of `Nested` and `Field`.
///
/// # Errors
/// If the type cannot be a nested value.
pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (coding, column) = match Shape::declared(input)? {
        Shape::Struct(fields) => (struct_coding(&fields), blob_column()),
        Shape::Enum(variants) => {
            let bare = variants.iter().all(|variant| variant.fields.is_none());
            (enum_coding(&variants), if bare { integer_column(&variants) } else { blob_column() })
        }
    };
    let ident = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl ::touchstone_store::Nested for #ident {
            type Slice<'a> = ::std::vec::Vec<Self>;

            fn view_slice(
                bytes: &[u8],
            ) -> ::core::result::Result<::std::vec::Vec<Self>, ::touchstone_store::Mismatch> {
                <Self as ::touchstone_store::Nested>::read_slice(bytes)
            }

            #coding
        }

        #[automatically_derived]
        impl ::touchstone_store::Field for #ident {
            type Plain = Self;
            type View<'a> = Self;

            #column

            #[inline]
            fn view(
                raw: ::touchstone_store::Raw<'_>,
            ) -> ::core::result::Result<Self, ::touchstone_store::Mismatch> {
                <Self as ::touchstone_store::Field>::read(raw)
            }
        }
    })
}

/// The functions that write and read a struct.
fn struct_coding(fields: &[Field<'_>]) -> TokenStream {
    let Names { writer, reader, count, .. } = Names::default();
    let members = fields.iter().map(|field| &field.member);
    let encode = encode_fields(fields, members.map(|member| quote!(&self.#member)));
    let decode = decode_fields(fields);
    let value = constructor(&quote!(Self), fields);
    quote! {
        #[inline]
        fn encode(&self, #writer: &mut ::touchstone_store::derived::Writer<'_>) {
            #encode
        }

        #[inline]
        fn decode(
            #reader: &mut ::touchstone_store::derived::Reader<'_>,
        ) -> ::core::result::Result<Self, ::touchstone_store::Mismatch> {
            let #count = ::touchstone_store::derived::read_map(#reader)?;
            #decode
            ::core::result::Result::Ok(#value)
        }
    }
}

/// The functions that write and read an enum.
fn enum_coding(variants: &[Variant<'_>]) -> TokenStream {
    let Names { writer, reader, count, tag, payload } = Names::default();
    let encode = variants.iter().map(encode_variant);
    let decode = variants.iter().map(|Variant { ident, tag: number, fields }| match fields {
        // If a newer type has given the variant a payload, a bare variant skips it, as a struct skips an unknown field.
        None => quote! {
            #number => {
                ::touchstone_store::derived::skip_payload(#reader, #payload)?;
                ::core::result::Result::Ok(Self::#ident)
            }
        },
        Some(fields) => {
            let decode = decode_fields(fields);
            let value = constructor(&quote!(Self::#ident), fields);
            quote! {
                #number => {
                    let #count = ::touchstone_store::derived::read_payload(#reader, #payload)?;
                    #decode
                    ::core::result::Result::Ok(#value)
                }
            }
        }
    });
    quote! {
        #[inline]
        fn encode(&self, #writer: &mut ::touchstone_store::derived::Writer<'_>) {
            match self { #(#encode,)* }
        }

        #[inline]
        fn decode(
            #reader: &mut ::touchstone_store::derived::Reader<'_>,
        ) -> ::core::result::Result<Self, ::touchstone_store::Mismatch> {
            let (#tag, #payload) = ::touchstone_store::derived::read_variant(#reader)?;
            match #tag {
                #(#decode)*
                _ => ::core::result::Result::Err(::touchstone_store::Mismatch::Encoding),
            }
        }
    }
}

/// The arm that writes a variant.
fn encode_variant(Variant { ident, tag, fields }: &Variant<'_>) -> TokenStream {
    let Names { writer, .. } = Names::default();
    let Some(fields) = fields else {
        return quote!(Self::#ident => ::touchstone_store::derived::write_tag(#writer, #tag));
    };
    let members = fields.iter().map(|field| &field.member);
    let locals: Vec<_> = (0..fields.len()).map(local).collect();
    let encode = encode_fields(fields, locals.iter().map(|local| quote!(#local)));
    quote! {
        Self::#ident { #(#members: #locals,)* } => {
            ::touchstone_store::derived::write_variant(#writer, #tag);
            #encode
        }
    }
}

/// The map of fields. `values` are references to them.
fn encode_fields(fields: &[Field<'_>], values: impl Iterator<Item = TokenStream>) -> TokenStream {
    let Names { writer, .. } = Names::default();
    let count = fields.len() as u64;
    let writes = fields.iter().zip(values).map(|(Field { holds, tag, .. }, value)| {
        quote_spanned! {place(holds)=>
            ::touchstone_store::derived::write_tag(#writer, #tag);
            <#holds as ::touchstone_store::Nested>::encode(#value, #writer);
        }
    });
    quote! {
        ::touchstone_store::derived::write_map(#writer, #count);
        #(#writes)*
    }
}

/// Reads the map's `count` fields, in any order, into one `Option` each.
fn decode_fields(fields: &[Field<'_>]) -> TokenStream {
    let Names { reader, count, .. } = Names::default();
    let declarations = fields.iter().enumerate().map(|(at, Field { holds, .. })| {
        let local = local(at);
        quote!(let mut #local: ::core::option::Option<#holds> = ::core::option::Option::None;)
    });
    let arms = fields.iter().enumerate().map(|(at, Field { holds, tag, default, .. })| {
        let local = local(at);
        let read = if default.is_some() { quote!(read_field_or_null) } else { quote!(read_field) };
        let value = quote_spanned!(place(holds)=> ::touchstone_store::derived::#read::<#holds>(#reader)?);
        quote!(#tag => #local = #value,)
    });
    quote! {
        #(#declarations)*
        for _ in 0..#count {
            match ::touchstone_store::derived::read_tag_of_field(#reader)? {
                #(#arms)*
                _ => ::touchstone_store::derived::skip(#reader)?,
            }
        }
    }
}

/// The value of the decoded fields. The form `Self { 0: … }` is valid for tuples too.
fn constructor(path: &TokenStream, fields: &[Field<'_>]) -> TokenStream {
    let fields = fields.iter().enumerate().map(|(at, Field { member, holds, default, .. })| {
        let local = local(at);
        match default {
            None => {
                let value = quote_spanned!(place(holds)=> ::touchstone_store::derived::required(#local)?);
                quote!(#member: #value)
            }
            // The closure keeps a `return` or a `?` in the expression from leaving this function.
            Some(default) => quote!(#member: ::core::option::Option::unwrap_or_else(#local, || #default)),
        }
    });
    quote!(#path { #(#fields,)* })
}

/// The column of an enum of bare variants: its tag, which can be compared and indexed.
fn integer_column(variants: &[Variant<'_>]) -> TokenStream {
    let idents: Vec<_> = variants.iter().map(|variant| variant.ident).collect();
    let tags: Vec<_> = variants.iter().map(|variant| variant.tag).collect();
    quote! {
        const KIND: ::touchstone_store::Kind = ::touchstone_store::Kind::Integer;

        #[inline]
        fn write<'a>(&'a self, cells: &mut ::touchstone_store::Cells<'a>) {
            let tag: u32 = match self { #(Self::#idents => #tags,)* };
            cells.integer(::core::convert::From::from(tag));
        }

        #[inline]
        fn read(
            raw: ::touchstone_store::Raw<'_>,
        ) -> ::core::result::Result<Self, ::touchstone_store::Mismatch> {
            match ::touchstone_store::derived::read_tag(raw)? {
                #(#tags => ::core::result::Result::Ok(Self::#idents),)*
                _ => ::core::result::Result::Err(::touchstone_store::Mismatch::Range),
            }
        }
    }
}

/// The column of every other type: its bytes.
fn blob_column() -> TokenStream {
    quote! {
        const KIND: ::touchstone_store::Kind = ::touchstone_store::Kind::Blob;

        #[inline]
        fn write<'a>(&'a self, cells: &mut ::touchstone_store::Cells<'a>) {
            ::touchstone_store::derived::write_nested(self, cells);
        }

        #[inline]
        fn read(
            raw: ::touchstone_store::Raw<'_>,
        ) -> ::core::result::Result<Self, ::touchstone_store::Mismatch> {
            ::touchstone_store::derived::read_nested(raw)
        }
    }
}

/// Hygienic names, which the user's default expressions between them cannot see.
struct Names {
    writer: Ident,
    reader: Ident,
    count: Ident,
    tag: Ident,
    payload: Ident,
}

impl Default for Names {
    fn default() -> Names {
        let name = |text| Ident::new(text, Span::mixed_site());
        Names {
            writer: name("writer"),
            reader: name("reader"),
            count: name("count"),
            tag: name("tag"),
            payload: name("payload"),
        }
    }
}

/// The name of a field's value inside a function.
fn local(at: usize) -> Ident {
    format_ident!("field_{at}", span = Span::mixed_site())
}
