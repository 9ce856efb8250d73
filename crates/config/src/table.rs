//! Several declarations in one table of the file: a route is a kind, a guard and a way to its upstream.
//!
//! serde's `flatten` reads a table into memory first and forgets the positions of its values. Here every key goes at once to
//! the declaration that has it, so a mistake keeps its line and column.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer as _, MapAccess, Visitor};

use crate::setting::Setting;

/// A declaration that may share one table with others.
pub(crate) trait Part: for<'de> Deserialize<'de> {
    /// The keys that it has.
    const SETTINGS: &'static [Setting];

    /// Takes the value of one key over from another one.
    fn take(&mut self, key: &str, from: Self);

    /// Reads the value of this key, if it is one of its own.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if Self::SETTINGS.iter().any(|setting| setting.key == key) {
            let read = Self::deserialize(MapAccessDeserializer::new(OneEntry { key: Some(key), map }))?;
            self.take(key, read);
        }
        Ok(())
    }
}

/// A table whose keys belong to several declarations.
pub(crate) trait Table: Default {
    /// The keys of each.
    const PARTS: &'static [&'static [Setting]];

    /// Reads the value of a key that one of them has.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// A struct of declarations that share one table.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $about:literal])+
                pub $part:ident: $type:ty,
            )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
        pub struct $name {
            $(
                $(#[doc = $about])+
                #[serde(flatten)]
                pub $part: $type,
            )+
        }

        impl $crate::table::Table for $name {
            const PARTS: &'static [&'static [$crate::Setting]] = &[$(<$type>::SETTINGS),+];

            fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                $($crate::table::Part::read(&mut self.$part, key, map)?;)+
                Ok(())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::table::deserialize(deserializer)
            }
        }
    };
}

pub(crate) use table;

/// Reads a table, key by key.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Table>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(TableVisitor(PhantomData))
}

struct TableVisitor<T>(PhantomData<T>);

impl<'de, T: Table> Visitor<'de> for TableVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut table = T::default();
        while let Some(key) = map.next_key_seed(KnownKey(T::PARTS))? {
            table.read(&key, &mut map)?;
        }
        Ok(table)
    }
}

/// A key that one of these has; any other is refused with its position.
struct KnownKey(&'static [&'static [Setting]]);

impl<'de> DeserializeSeed<'de> for KnownKey {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let key = String::deserialize(deserializer)?;
        let known = || self.0.iter().copied().flatten().map(|setting| setting.key);
        if known().any(|known| known == key) {
            return Ok(key);
        }
        let listed: Vec<String> = known().map(|known| format!("`{known}`")).collect();
        Err(D::Error::custom(format_args!("unknown field `{key}`, expected one of {}", listed.join(", "))))
    }
}

/// One key of a table, whose value is still to be read.
struct OneEntry<'a, A> {
    key: Option<&'a str>,
    map: &'a mut A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for OneEntry<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.key.take() else { return Ok(None) };
        let key: StrDeserializer<'_, A::Error> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{GatewayDeclaration, RouteDeclaration};

    #[test]
    fn each_declaration_takes_its_own_keys() {
        let read: GatewayDeclaration = toml::from_str("streams_max = 8\nopen = true\n").unwrap();
        assert_eq!((read.limits.streams_max, read.access.open), (8, true));
        assert_eq!(toml::from_str::<GatewayDeclaration>("").unwrap(), GatewayDeclaration::default());
        let read: RouteDeclaration = toml::from_str("match = \"POST /a\"\n").unwrap();
        assert_eq!(read.forward.r#match, "POST /a");
    }

    #[test]
    fn a_mistake_keeps_its_place_and_an_unknown_key_is_told_all_of_them() {
        let rows = [
            ("open = true\nstreams_max = true\n", 26..30),
            ("open = 7\n", 7..8),
            ("streams_max = 8\nopne = true\n", 16..20),
            ("tls = { kye = 1 }\n", 8..11),
        ];
        for (text, at) in rows {
            let error = toml::from_str::<GatewayDeclaration>(text).unwrap_err();
            assert_eq!(error.span(), Some(at), "{text}: {error}");
        }
        let error = toml::from_str::<GatewayDeclaration>("opne = 1").unwrap_err();
        assert!(error.message().contains("`trusted_proxies`, `connections_max`"), "{error}");
    }
}
