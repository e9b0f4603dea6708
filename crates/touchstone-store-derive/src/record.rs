//! `#[derive(Record)]`: generates the code of a record. `declared` reads the type's declaration.

mod declared;

use declared::{Column, DEFAULT_OF_OPTION, Index, Table};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{DeriveInput, Result};

/// The implementation of `Record`, and the structs that it names.
///
/// # Errors
/// If the type cannot be a record.
pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let table = Table::declared(input)?;
    let columns_struct = columns_struct(&table);
    let view_struct = view_struct(&table);
    let record = record(&table);
    let assertions = table.columns.iter().filter(|column| column.default.is_some()).map(not_nullable);
    Ok(quote! {
        #columns_struct
        #view_struct
        #record
        #(#assertions)*
    })
}

fn columns_name(table: &Table<'_>) -> Ident {
    format_ident!("{}Columns", table.ident)
}

fn view_name(table: &Table<'_>) -> Ident {
    format_ident!("{}View", table.ident)
}

/// The struct of the columns. Its fields have the visibility of the record's, so that private fields stay private.
fn columns_struct(table: &Table<'_>) -> TokenStream {
    let Table { ident, visibility, columns, .. } = table;
    let name = columns_name(table);
    let about = format!("The columns of [`{}`], to build queries with.", ident.unraw());
    let fields = columns.iter().map(|Column { ident: field, visibility, documentation, holds, .. }| {
        let about = format!("The column of [`{}::{}`].", ident.unraw(), field.unraw());
        quote! {
            #[doc = #about]
            #[doc = ""]
            #(#documentation)*
            #visibility #field: ::touchstone_store::Column<#ident, #holds>
        }
    });
    quote! {
        #[doc = #about]
        #[derive(::core::clone::Clone, ::core::marker::Copy)]
        #[allow(dead_code, reason = "a column may serve no query")]
        #visibility struct #name { #(#fields,)* }
    }
}

/// The struct of the borrowed record.
fn view_struct(table: &Table<'_>) -> TokenStream {
    let Table { ident, visibility, columns, .. } = table;
    let name = view_name(table);
    let text = name.unraw().to_string();
    let about = format!("A [`{}`] as it lies in the file, borrowed.", ident.unraw());
    let views: Vec<_> = columns.iter().map(view_type).collect();
    let fields = columns.iter().zip(&views).map(|(column, view)| {
        let Column { ident: field, visibility, documentation, .. } = column;
        let about = format!("The view of [`{}::{}`].", ident.unraw(), field.unraw());
        quote! {
            #[doc = #about]
            #[doc = ""]
            #(#documentation)*
            #visibility #field: #view
        }
    });
    let idents: Vec<_> = columns.iter().map(|column| column.ident).collect();
    let labels = idents.iter().map(|field| field.unraw().to_string());
    // The `for<'unused>` is needed only to delay the check of the bounds until a program uses the implementation. So a
    // nested type without `Debug` is no error; it only leaves the view without `Debug`.
    quote! {
        #[doc = #about]
        #[allow(dead_code, reason = "a field may be asked for by nobody")]
        #visibility struct #name<'a> { #(#fields,)* }

        #[automatically_derived]
        impl<'a> ::core::clone::Clone for #name<'a>
        where
            #(for<'unused> #views: ::core::clone::Clone,)*
        {
            #[inline]
            fn clone(&self) -> Self {
                Self { #(#idents: ::core::clone::Clone::clone(&self.#idents),)* }
            }
        }

        #[automatically_derived]
        impl<'a> ::core::fmt::Debug for #name<'a>
        where
            #(for<'unused> #views: ::core::fmt::Debug,)*
        {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.debug_struct(#text)#(.field(#labels, &self.#idents))*.finish()
            }
        }
    }
}

/// Refuses a default for an `Option` that has another name, such as an alias.
fn not_nullable(Column { holds, place, .. }: &Column<'_>) -> TokenStream {
    quote_spanned! {*place=>
        const _: () = ::core::assert!(!<#holds as ::touchstone_store::Field>::NULLABLE, #DEFAULT_OF_OPTION);
    }
}

/// The type of a field's view.
fn view_type(Column { holds, place, .. }: &Column<'_>) -> TokenStream {
    quote_spanned!(*place=> <#holds as ::touchstone_store::Field>::View<'a>)
}

/// The implementation itself.
fn record(table: &Table<'_>) -> TokenStream {
    let Table { ident, columns, .. } = table;
    let (columns_name, view_name) = (columns_name(table), view_name(table));
    let keys = &columns[..table.keys];
    let key_fields: Vec<_> = keys.iter().map(|key| key.ident).collect();
    let key_holds = keys.iter().map(|key| &key.holds);
    // Parentheses around one type are no tuple, and the compiler warns about them.
    let (key_type, key_value) = match &*key_fields {
        [field] => (quote!(#(#key_holds)*), quote!(::core::clone::Clone::clone(&self.#field))),
        fields => (quote!((#(#key_holds,)*)), quote!((#(::core::clone::Clone::clone(&self.#fields),)*))),
    };
    let constants = constants(table, &columns_name);
    let fields: Vec<_> = columns.iter().map(|column| column.ident).collect();
    let defaults = defaults(columns);
    let read = read(columns);
    let view = view(columns, &view_name);
    let places = 0..fields.len();
    quote! {
        #[automatically_derived]
        impl ::touchstone_store::Record for #ident {
            type Key = #key_type;
            type View<'a> = #view_name<'a>;
            type Columns = #columns_name;
            #constants

            #[inline]
            fn key(&self) -> Self::Key {
                #key_value
            }

            #[inline]
            fn compare_keys(&self, other: &Self) -> ::std::cmp::Ordering {
                ::std::cmp::Ordering::Equal
                    #(.then_with(|| ::std::cmp::Ord::cmp(&self.#key_fields, &other.#key_fields)))*
            }

            #[inline]
            fn write<'a>(&'a self, cells: &mut ::touchstone_store::Cells<'a>) {
                #(::touchstone_store::Field::write(&self.#fields, cells);)*
            }

            #[inline]
            fn write_key<'a>(&'a self, cells: &mut ::touchstone_store::Cells<'a>) {
                #(::touchstone_store::Field::write(&self.#key_fields, cells);)*
            }

            #[inline]
            fn write_column<'a>(&'a self, column: usize, cells: &mut ::touchstone_store::Cells<'a>) {
                match column {
                    #(#places => ::touchstone_store::Field::write(&self.#fields, cells),)*
                    _ => {}
                }
            }

            #defaults
            #read
            #view
        }
    }
}

/// The function that returns the defaults as columns would hold them, if there are any: views borrow from them and
/// queries compare with them. They live as long as the program.
fn defaults(columns: &[Column<'_>]) -> TokenStream {
    // Hygienic: the user's defaults stand inside the function and must not see its parameter.
    let column = Ident::new("column", Span::mixed_site());
    let arms: Vec<_> = (0_usize..)
        .zip(columns)
        .filter_map(|(at, Column { holds, place, default, .. })| {
            let default = default.as_ref()?;
            Some(quote_spanned! {*place=> #at => {
                static __TOUCHSTONE_DEFAULT: ::touchstone_store::derived::DefaultColumn =
                    ::touchstone_store::derived::DefaultColumn::new(|| {
                        ::touchstone_store::derived::Value::of::<#holds>(&#default)
                    });
                ::core::option::Option::Some(&__TOUCHSTONE_DEFAULT)
            }})
        })
        .collect();
    if arms.is_empty() {
        return TokenStream::new();
    }
    quote! {
        fn default_of(
            #column: usize,
        ) -> ::core::option::Option<&'static ::touchstone_store::derived::Value> {
            match #column {
                #(#arms)*
                _ => ::core::option::Option::None,
            }
        }
    }
}

/// The function that reads a record. The fields are initialised in the order of the columns.
fn read(columns: &[Column<'_>]) -> TokenStream {
    // Hygienic: the user's defaults stand inside the function and must not see its parameter.
    let row = Ident::new("row", Span::mixed_site());
    let fields = (0_usize..).zip(columns).map(|(at, Column { ident, holds, place, default, .. })| {
        let value = match default {
            None => quote_spanned! {*place=>
                ::touchstone_store::derived::read_column::<#holds, _>(#row, #at)?
            },
            Some(default) => quote_spanned! {*place=>
                ::touchstone_store::derived::read_column_or::<#holds, _>(#row, #at, || #default)?
            },
        };
        quote!(#ident: #value)
    });
    quote! {
        #[inline]
        fn read<'a>(
            #row: &mut impl ::touchstone_store::Columns<'a>,
        ) -> ::core::result::Result<Self, (usize, ::touchstone_store::Mismatch)> {
            ::core::result::Result::Ok(Self { #(#fields,)* })
        }
    }
}

/// The function that borrows a record.
fn view(columns: &[Column<'_>], view_name: &Ident) -> TokenStream {
    let row = Ident::new("row", Span::mixed_site());
    let fields = (0_usize..).zip(columns).map(|(at, Column { ident, holds, place, default, .. })| {
        let value = match default {
            None => quote_spanned! {*place=>
                ::touchstone_store::derived::view_column::<#holds, _>(#row, #at)?
            },
            Some(_) => quote_spanned! {*place=>
                ::touchstone_store::derived::view_column_or::<#holds, _>(
                    #row,
                    #at,
                    <Self as ::touchstone_store::Record>::default_of,
                )?
            },
        };
        quote!(#ident: #value)
    });
    quote! {
        #[inline]
        fn view<'a>(
            #row: &mut impl ::touchstone_store::Columns<'a>,
        ) -> ::core::result::Result<Self::View<'a>, (usize, ::touchstone_store::Mismatch)> {
            ::core::result::Result::Ok(#view_name { #(#fields,)* })
        }
    }
}

/// The constants of the type: its columns and its shape.
fn constants(table: &Table<'_>, columns_name: &Ident) -> TokenStream {
    let Table { name, numbered, keys, columns, .. } = table;
    let fields = columns.iter().map(|column| column.ident);
    let places = (0_u16..).take(columns.len());
    let shapes = columns.iter().map(|Column { name, holds, place, index, .. }| {
        let index = match index {
            Index::None => quote!(None),
            Index::Plain => quote!(Plain),
            Index::Unique => quote!(Unique),
        };
        quote_spanned! {*place=>
            ::touchstone_store::ColumnShape {
                name: #name,
                kind: <#holds as ::touchstone_store::Field>::KIND,
                nullable: <#holds as ::touchstone_store::Field>::NULLABLE,
                index: ::touchstone_store::Index::#index,
            }
        }
    });
    quote! {
        const COLUMNS: #columns_name = #columns_name {
            #(#fields: ::touchstone_store::Column::at(#places),)*
        };
        const SHAPE: &'static ::touchstone_store::Shape = &::touchstone_store::Shape {
            name: #name,
            keys: #keys,
            numbered: #numbered,
            columns: &[#(#shapes,)*],
            defaults: ::touchstone_store::derived::Defaults::NONE,
        };
    }
}
