//! The declaration of a nested value: read from the type and its attributes, and refused if a tag is missing or stands
//! twice.

use crate::attribute::{Errors, default_value, refuse_generics};
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use std::collections::HashMap;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitInt, Member, Result, Type};

/// The type's form.
pub enum Shape<'a> {
    Struct(Vec<Field<'a>>),
    Enum(Vec<Variant<'a>>),
}

/// A field of a struct or of a variant.
pub struct Field<'a> {
    pub member: Member,
    pub holds: &'a Type,
    pub tag: u32,
    pub default: Option<TokenStream>,
}

/// A variant of an enum.
pub struct Variant<'a> {
    pub ident: &'a Ident,
    pub tag: u32,
    /// None if the variant has no payload.
    pub fields: Option<Vec<Field<'a>>>,
}

impl<'a> Shape<'a> {
    /// Reads the type.
    ///
    /// # Errors
    /// If the type cannot be a nested value.
    pub fn declared(input: &'a DeriveInput) -> Result<Shape<'a>> {
        refuse_generics(input, "Nested")?;
        let mut errors = Errors::default();
        let misplaced =
            |attribute: &&Attribute| ["tag", "nested"].iter().any(|name| attribute.path().is_ident(name));
        if let Some(attribute) = input.attrs.iter().find(misplaced) {
            errors.push(Error::new_spanned(
                attribute,
                "tags and defaults belong to fields and variants: remove this",
            ));
        }
        let shape = match &input.data {
            Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => {
                errors.take(fields(&data.fields)).map(Shape::Struct)
            }
            Data::Struct(_) => {
                errors.push(Error::new_spanned(
                    &input.ident,
                    "a nested struct has named fields: write `struct Name { … }` and tag each of them",
                ));
                None
            }
            Data::Enum(data) if data.variants.is_empty() => {
                errors
                    .push(Error::new_spanned(&input.ident, "an enum without variants has no value to store"));
                None
            }
            Data::Enum(data) => errors.take(variants(data)).map(Shape::Enum),
            Data::Union(_) => {
                errors.push(Error::new_spanned(
                    &input.ident,
                    "`Nested` cannot be derived for a union: use an enum",
                ));
                None
            }
        };
        errors.finish()?;
        shape.ok_or_else(|| unreachable!("without a shape there was an error"))
    }
}

/// The variants in the order of their tags.
fn variants(data: &syn::DataEnum) -> Result<Vec<Variant<'_>>> {
    let mut errors = Errors::default();
    let tagged = data.variants.iter().map(|variant| Tagged {
        name: variant.ident.to_string(),
        culprit: variant.ident.to_token_stream(),
        attributes: &variant.attrs,
    });
    let tags = errors.take(tags(tagged, "variant"));
    let mut variants = Vec::new();
    for (at, variant) in data.variants.iter().enumerate() {
        if let Some(attribute) = variant.attrs.iter().find(|attribute| attribute.path().is_ident("nested")) {
            errors.push(Error::new_spanned(
                attribute,
                "defaults belong to fields, not to variants: remove this",
            ));
        }
        let payload = match &variant.fields {
            Fields::Unit => Some(None),
            payload => errors.take(fields(payload)).map(Some),
        };
        if let (Some(tags), Some(fields)) = (&tags, payload) {
            variants.push(Variant { ident: &variant.ident, tag: tags[at], fields });
        }
    }
    errors.finish()?;
    variants.sort_by_key(|variant| variant.tag);
    Ok(variants)
}

/// The fields in the order of their tags, so that their order in the source does not change the bytes.
fn fields(declared: &Fields) -> Result<Vec<Field<'_>>> {
    let mut errors = Errors::default();
    let tagged = declared.iter().zip(declared.members()).map(|(field, member)| Tagged {
        name: member.to_token_stream().to_string(),
        culprit: field.ident.as_ref().map_or_else(|| field.ty.to_token_stream(), ToTokens::to_token_stream),
        attributes: &field.attrs,
    });
    let tags = errors.take(tags(tagged, "field"));
    let mut fields = Vec::new();
    for (at, (field, member)) in declared.iter().zip(declared.members()).enumerate() {
        let default = errors.take(default(&field.attrs));
        if let (Some(tags), Some(default)) = (&tags, default) {
            fields.push(Field { member, holds: &field.ty, tag: tags[at], default });
        }
    }
    errors.finish()?;
    fields.sort_by_key(|field| field.tag);
    Ok(fields)
}

/// A field or a variant that has a tag, or should.
struct Tagged<'a> {
    name: String,
    /// The tokens that an error points to.
    culprit: TokenStream,
    attributes: &'a [Attribute],
}

/// The tags of all fields or variants of one parent, in its order.
fn tags<'a>(parent: impl Iterator<Item = Tagged<'a>>, what: &str) -> Result<Vec<u32>> {
    let mut errors = Errors::default();
    let mut taken: HashMap<u32, String> = HashMap::new();
    let mut tags = Vec::new();
    let mut untagged = Vec::new();
    for Tagged { name, culprit, attributes } in parent {
        match errors.take(tag(attributes)) {
            Some(Some((tag, span))) => {
                match taken.get(&tag) {
                    Some(other) => errors.push(Error::new(
                        span,
                        format!("the tag {tag} is that of `{other}`: give `{name}` one that was never used"),
                    )),
                    None => drop(taken.insert(tag, name)),
                }
                tags.push(tag);
            }
            Some(None) => untagged.push((name, culprit)),
            None => {}
        }
    }
    let last = taken.keys().max().copied().unwrap_or(0);
    for (after, (name, culprit)) in (1..).zip(untagged) {
        let free = last.wrapping_add(after);
        let complaint = format!(
            "the {what} `{name}` has no tag, by which the file knows it: add one that was never used, such \
             as `#[tag({free})]`"
        );
        errors.push(Error::new_spanned(culprit, complaint));
    }
    errors.finish()?;
    Ok(tags)
}

/// The tag, if there is one.
fn tag(attributes: &[Attribute]) -> Result<Option<(u32, Span)>> {
    let mut tags = attributes.iter().filter(|attribute| attribute.path().is_ident("tag"));
    let Some(attribute) = tags.next() else { return Ok(None) };
    if let Some(second) = tags.next() {
        return Err(Error::new_spanned(second, "a second tag: keep the one that the file has"));
    }
    let number =
        attribute.parse_args().and_then(|literal: LitInt| Ok((literal.base10_parse()?, literal.span())));
    number.map(Some).map_err(|_| {
        Error::new_spanned(attribute, "a tag is a number from 0 to 4294967295: write it as `#[tag(1)]`")
    })
}

/// The default's expression, if there is one.
fn default(attributes: &[Attribute]) -> Result<Option<TokenStream>> {
    let mut default = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("nested")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("default") {
                return Err(meta.error("unknown attribute: a field's are `default` and `default = …`"));
            }
            default = Some(default_value(&meta)?);
            Ok(())
        })?;
    }
    Ok(default)
}
