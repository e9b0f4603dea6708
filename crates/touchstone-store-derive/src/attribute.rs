//! Code that both derives share: defaults, documentation, and the types that neither accepts.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, DeriveInput, Error, Result, Token, Type};

/// The expression of `default` or `default = …`.
///
/// # Errors
/// If there is none after the `=`.
pub fn default_value(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    if !meta.input.peek(Token![=]) {
        return Ok(quote_spanned!(meta.path.span()=> ::core::default::Default::default()));
    }
    let input = meta.value()?;
    // The compiler parses the expression in the generated code: parsing it here would need syn's largest feature.
    let mut expression = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        expression.extend([input.parse::<TokenTree>()?]);
    }
    if expression.is_empty() {
        return Err(meta.error("expected an expression after `default =`"));
    }
    Ok(expression)
}

/// The span for code about a field: its type, so that the compiler's error points there if the type does not fit.
pub fn place(holds: &Type) -> Span {
    Span::call_site().located_at(holds.span())
}

/// The documentation, to be copied.
pub fn documentation(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).collect()
}

/// Refuses generic types.
///
/// # Errors
/// If the type has parameters.
pub fn refuse_generics(input: &DeriveInput, derive: &str) -> Result<()> {
    if input.generics.params.is_empty() && input.generics.where_clause.is_none() {
        return Ok(());
    }
    let message = format!(
        "`{derive}` cannot be derived for a generic type, which has no one encoding: derive it for a type \
         with concrete fields"
    );
    let parameters = &input.generics.params;
    let culprit = if parameters.is_empty() {
        input.generics.where_clause.to_token_stream()
    } else {
        parameters.to_token_stream()
    };
    Err(Error::new_spanned(culprit, message))
}

/// The tokens with `Self` replaced by the type's name, to be used outside of its `impl`.
pub fn without_self(tokens: TokenStream, name: &Ident) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(ident) if ident == "Self" => {
            let mut name = name.clone();
            name.set_span(ident.span());
            TokenTree::Ident(name)
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_self(group.stream(), name));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other => other,
    };
    tokens.into_iter().map(replace).collect()
}

/// Gathers errors, so that one compilation names them all.
#[derive(Default)]
pub struct Errors(Option<Error>);

impl Errors {
    /// Keeps the error.
    pub fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, or keeps the error.
    pub fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The gathered errors.
    ///
    /// # Errors
    /// If there is one.
    pub fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
