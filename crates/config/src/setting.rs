//! A declaration is written once: [`declaration!`] makes the struct and the rows of its table in the guide.

/// A key of a declaration, as the guide shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The key in TOML. JSON writes it in camelCase, Rust has it as the field.
    pub key: &'static str,
    /// What is written there.
    pub value: &'static str,
    /// What holds without it, as TOML; a sentence where that depends on other keys.
    pub default: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

impl Setting {
    /// A key with the sort of its value, its default and its meaning. `field` is the name of the struct's field.
    pub const fn new(field: &'static str, value: &'static str, default: &'static str, meaning: &'static str) -> Self {
        Self { key: key(field), value, default, meaning }
    }

    /// Whether the default is written as TOML, rather than as a sentence.
    pub fn shows_toml(&self) -> bool {
        let text = self.default;
        text.starts_with(['"', '[', '{']) || ["true", "false"].contains(&text) || text.parse::<u64>().is_ok()
    }
}

/// The key of a field: `match` for `r#match`.
pub(crate) const fn key(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// A struct that TOML, JSON and Rust fill, with `SETTINGS`: a row for each key, made from the field's comment and the
/// brackets below it, which hold the sort of value and the default.
///
/// Every key may be left out; `check()` says which ones are missed. A field without `= …` has its type's default. The
/// brackets before the struct hold its other attributes, among them `serde(default)`, by which a key that is left out has
/// the struct's default. (Structs that the API describes say it at each field: utoipa writes the container's defaults down.)
macro_rules! declaration {
    (
        $(#[doc = $doc:literal])+
        [$($container:meta),+]
        pub struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                [$value:literal, $default:literal]
                $(#[$attribute:meta])*
                pub $field:ident: $type:ty $(= $initial:expr)?,
            )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $(#[$container])+
        pub struct $name {
            $(
                $(#[doc = $meaning])+
                $(#[$attribute])*
                pub $field: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::setting::initial!($($initial)?),)+ }
            }
        }

        impl $name {
            /// Every key, in the order of the guide.
            pub const SETTINGS: &'static [$crate::Setting] = &[$(
                $crate::Setting::new(stringify!($field), $value, $default, concat!($($meaning),+)),
            )+];
        }

        impl $crate::table::Part for $name {
            const SETTINGS: &'static [$crate::Setting] = Self::SETTINGS;

            fn take(&mut self, key: &str, from: Self) {
                $(if key == const { $crate::setting::key(stringify!($field)) } {
                    self.$field = from.$field;
                    return;
                })+
            }
        }
    };
}

/// What a field has by default.
macro_rules! initial {
    () => {
        Default::default()
    };
    ($initial:expr) => {
        $initial
    };
}

pub(crate) use {declaration, initial};

#[cfg(test)]
pub(crate) mod tests {
    use serde::de::DeserializeOwned;

    use super::Setting;

    /// Holds that a default which is shown as TOML is the one that holds without the key.
    #[track_caller]
    pub(crate) fn shown_defaults_hold<T>(settings: &[Setting])
    where
        T: DeserializeOwned + Default + PartialEq + std::fmt::Debug,
    {
        let shown: Vec<_> = settings.iter().filter(|setting| setting.shows_toml()).collect();
        assert!(!shown.is_empty());
        for Setting { key, default, .. } in shown {
            let read: T = toml::from_str(&format!("{key} = {default}\n")).unwrap();
            assert_eq!(read, T::default(), "{key}");
        }
    }

    #[test]
    fn a_key_that_is_a_word_of_rust_is_shown_as_the_file_writes_it() {
        assert_eq!(Setting::new("r#match", "text", "required", "").key, "match");
        assert_eq!(Setting::new("name", "text", "required", "").key, "name");
    }
}
