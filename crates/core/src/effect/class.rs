//! Effect classes, from the most harmless to the least reversible.

use std::fmt;

use crate::error::{DECLARATION_INVALID, Error, Result};

/// What kind of effect it is. Ordered: a later one needs the stronger boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectClass {
    /// Computes or reads; nothing changes.
    Pure,
    /// Changes something to a state that a repetition leaves as it is.
    Converging,
    /// Changes the caller's own database, in its own transaction.
    Local,
    /// Publishes a message.
    MessagePublish,
    /// Reaches a person.
    HumanNotification,
    /// Tells another system to do something.
    ExternalCommand,
    /// Moves money or has legal force.
    FinancialOrLegal,
}

impl EffectClass {
    /// Every class.
    pub const ALL: [Self; 7] = [
        Self::Pure,
        Self::Converging,
        Self::Local,
        Self::MessagePublish,
        Self::HumanNotification,
        Self::ExternalCommand,
        Self::FinancialOrLegal,
    ];

    /// The name in configuration and store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Converging => "converging",
            Self::Local => "local",
            Self::MessagePublish => "message-publish",
            Self::HumanNotification => "human-notification",
            Self::ExternalCommand => "external-command",
            Self::FinancialOrLegal => "financial-or-legal",
        }
    }

    /// Reads a name.
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|class| class.as_str()).collect();
            Error::new(DECLARATION_INVALID, format!("{text:?} is not an effect class"))
                .hint(format!("use one of {}", known.join(", ")))
        })
    }
}

impl fmt::Display for EffectClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A class as a type, so that the compiler knows which policies it allows.
pub trait Class: Send + Sync + 'static {
    /// The class this type stands for.
    const CLASS: EffectClass;
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl Class for $name {
            const CLASS: EffectClass = EffectClass::$name;
        }
    )+};
}

classes! {
    /// See [`EffectClass::Pure`].
    Pure;
    /// See [`EffectClass::Converging`].
    Converging;
    /// See [`EffectClass::Local`].
    Local;
    /// See [`EffectClass::MessagePublish`].
    MessagePublish;
    /// See [`EffectClass::HumanNotification`].
    HumanNotification;
    /// See [`EffectClass::ExternalCommand`].
    ExternalCommand;
    /// See [`EffectClass::FinancialOrLegal`].
    FinancialOrLegal;
}
