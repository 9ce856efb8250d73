//! Derives how the variants of a use case's own enum are shown to the outside.
//!
//! See `onefold::use_case::Project` for what the attributes mean.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Lit, LitInt, Result, Variant, parse_macro_input,
};

/// Derives `Project`. It does not compile until every variant has a status and a code, or passes one on.
#[proc_macro_derive(Project, attributes(project))]
pub fn derive_project(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a use case's result is an enum: what can happen, by name"));
    };
    let arms = data.variants.iter().map(arm).collect::<Result<Vec<_>>>()?;
    let name = &input.ident;
    let (generics, types, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::onefold::use_case::Project for #name #types #bounds {
            fn projection(&self) -> ::onefold::use_case::Projection {
                match self { #(#arms)* }
            }
        }
    })
}

/// What an attribute says of a variant.
#[derive(Default)]
struct VariantAttributes {
    status: Option<LitInt>,
    code: Option<Expr>,
    transparent: bool,
}

fn arm(variant: &Variant) -> Result<TokenStream> {
    let said = said(variant)?;
    if said.transparent {
        return pass_on(variant, &said);
    }
    let missing = |what: &str| {
        let why =
            format!("variant `{}` has no {what}: write #[project(status = 409, code = SOME_CODE)]", variant.ident);
        Error::new_spanned(variant, why)
    };
    let status = said.status.ok_or_else(|| missing("status"))?;
    let code = said.code.ok_or_else(|| missing("code"))?;
    let findings = findings(variant)?;
    let pattern = pattern(variant, findings.as_ref());
    let shown = if let Expr::Lit(ExprLit { lit: Lit::Str(label), .. }) = &code {
        quote! { ::onefold::use_case::Projection::success(#status, #label) }
    } else {
        let found = findings.map_or_else(|| quote! { ::std::vec::Vec::new() }, |field| quote! { #field.clone() });
        quote! { ::onefold::use_case::Projection::failure(#status, &#code, #found) }
    };
    Ok(quote! { #pattern => #shown, })
}

/// A variant whose one field knows how it is shown.
fn pass_on(variant: &Variant, said: &VariantAttributes) -> Result<TokenStream> {
    if said.status.is_some() || said.code.is_some() {
        return Err(Error::new_spanned(variant, "`transparent` passes status and code on from the field"));
    }
    let name = &variant.ident;
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            Ok(quote! { Self::#name(inner) => ::onefold::use_case::Project::projection(inner), })
        }
        Fields::Named(fields) if fields.named.len() == 1 => {
            let field = fields.named.iter().find_map(|field| field.ident.as_ref());
            Ok(quote! { Self::#name { #field } => ::onefold::use_case::Project::projection(#field), })
        }
        Fields::Named(_) | Fields::Unnamed(_) | Fields::Unit => {
            Err(Error::new_spanned(variant, "`transparent` needs one field that is itself projected"))
        }
    }
}

fn said(variant: &Variant) -> Result<VariantAttributes> {
    let mut said = VariantAttributes::default();
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("project")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("status") {
                said.status = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("code") {
                said.code = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("transparent") {
                said.transparent = true;
            } else {
                return Err(meta.error("use status, code or transparent"));
            }
            Ok(())
        })?;
    }
    Ok(said)
}

/// The named field that holds the findings.
fn findings(variant: &Variant) -> Result<Option<syn::Ident>> {
    let mut found = None;
    for field in &variant.fields {
        if field.attrs.iter().any(is_findings) {
            found = Some(field.ident.clone().ok_or_else(|| Error::new_spanned(field, "findings need a named field"))?);
        }
    }
    Ok(found)
}

fn is_findings(attribute: &Attribute) -> bool {
    let mut is = false;
    let read = attribute.path().is_ident("project")
        && attribute
            .parse_nested_meta(|meta| {
                is |= meta.path.is_ident("findings");
                Ok(())
            })
            .is_ok();
    read && is
}

fn pattern(variant: &Variant, findings: Option<&syn::Ident>) -> TokenStream {
    let name = &variant.ident;
    match (&variant.fields, findings) {
        (Fields::Named(_), Some(field)) => quote! { Self::#name { #field, .. } },
        (Fields::Named(_), None) => quote! { Self::#name { .. } },
        (Fields::Unnamed(_), _) => quote! { Self::#name(..) },
        (Fields::Unit, _) => quote! { Self::#name },
    }
}
