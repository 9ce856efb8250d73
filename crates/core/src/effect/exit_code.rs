//! What a command's exit code says about its effect: nothing, unless the caller declares it.
//!
//! `curl -m 1` ends with 28 although the payment it asked for took hold. So a code other than 0 is a failure only where
//! a repetition changes nothing anyway, or where the caller has said what the code means.

use std::collections::BTreeSet;

use super::class::EffectClass;
use crate::error::{DECLARATION_INVALID, Error, Result};

/// What the end of a command means for its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitMeaning {
    /// It took hold.
    Completed,
    /// Nothing took hold, or a repetition changes nothing: it may be attempted again.
    NotApplied,
    /// It was refused for good: duplicates get this answer.
    Final,
    /// It may or may not have taken hold.
    Unknown,
}

/// Which exit codes other than 0 a declaration is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ExitCodes {
    /// None.
    #[default]
    None,
    /// These.
    These(BTreeSet<u8>),
    /// All of them that are not named elsewhere.
    Any,
}

/// What the caller says about the exit codes of its command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredExits {
    not_applied: ExitCodes,
    refused: ExitCodes,
}

impl ExitCodes {
    /// Reads `6,7` or `any`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim() == "any" {
            return Ok(Self::Any);
        }
        let code = |part: &str| match part.trim().parse::<u8>() {
            Ok(0) => Err(invalid("exit code 0 always means that the command did its work")),
            Ok(code) => Ok(code),
            Err(_) => Err(invalid(&format!("{part:?} is not an exit code"))),
        };
        text.split(',').map(code).collect::<Result<BTreeSet<u8>>>().map(Self::These)
    }

    fn names(&self, code: u8) -> bool {
        match self {
            Self::These(codes) => codes.contains(&code),
            Self::None | Self::Any => false,
        }
    }
}

impl DeclaredExits {
    /// `not_applied` ended before anything took hold, `refused` is the last word. One code cannot be both.
    pub fn new(not_applied: ExitCodes, refused: ExitCodes) -> Result<Self> {
        match (&not_applied, &refused) {
            (ExitCodes::Any, ExitCodes::Any) => {
                return Err(invalid("`any` exit code cannot be both not applied and final"));
            }
            (ExitCodes::These(one), ExitCodes::These(other)) => {
                if let Some(code) = one.intersection(other).next() {
                    return Err(invalid(&format!("exit code {code} cannot be both not applied and final")));
                }
            }
            _ => {}
        }
        Ok(Self { not_applied, refused })
    }

    /// What a command of this class that ended with `code` means.
    pub fn meaning(&self, code: u8, class: EffectClass) -> ExitMeaning {
        if code == 0 {
            return ExitMeaning::Completed;
        }
        if self.not_applied.names(code) {
            return ExitMeaning::NotApplied;
        }
        if self.refused.names(code) {
            return ExitMeaning::Final;
        }
        match (&self.not_applied, &self.refused) {
            (ExitCodes::Any, _) => ExitMeaning::NotApplied,
            (_, ExitCodes::Any) => ExitMeaning::Final,
            (ExitCodes::None | ExitCodes::These(_), ExitCodes::None | ExitCodes::These(_)) => undeclared(class),
        }
    }
}

/// What a failed command says where nobody declared its codes.
fn undeclared(class: EffectClass) -> ExitMeaning {
    match class {
        EffectClass::Pure | EffectClass::Converging => ExitMeaning::NotApplied,
        EffectClass::Local
        | EffectClass::MessagePublish
        | EffectClass::HumanNotification
        | EffectClass::ExternalCommand
        | EffectClass::FinancialOrLegal => ExitMeaning::Unknown,
    }
}

fn invalid(what: &str) -> Error {
    Error::new(DECLARATION_INVALID, what).hint("give exit codes from 1 to 255 such as 6,7, or `any`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(not_applied: &str, refused: &str) -> Result<DeclaredExits> {
        let read = |text: &str| if text.is_empty() { Ok(ExitCodes::None) } else { ExitCodes::parse(text) };
        DeclaredExits::new(read(not_applied)?, read(refused)?)
    }

    #[test]
    fn a_failed_command_is_unknown_unless_a_repetition_changes_nothing() {
        let rows = [
            (EffectClass::Pure, ExitMeaning::NotApplied),
            (EffectClass::Converging, ExitMeaning::NotApplied),
            (EffectClass::Local, ExitMeaning::Unknown),
            (EffectClass::MessagePublish, ExitMeaning::Unknown),
            (EffectClass::HumanNotification, ExitMeaning::Unknown),
            (EffectClass::ExternalCommand, ExitMeaning::Unknown),
            (EffectClass::FinancialOrLegal, ExitMeaning::Unknown),
        ];
        assert_eq!(rows.map(|(class, _)| class), EffectClass::ALL);
        for (class, meaning) in rows {
            for code in 1..=u8::MAX {
                assert_eq!(DeclaredExits::default().meaning(code, class), meaning, "{class} {code}");
            }
            assert_eq!(DeclaredExits::default().meaning(0, class), ExitMeaning::Completed);
        }
    }

    #[test]
    fn a_declared_code_means_what_was_declared_whatever_the_class() {
        let rows = [
            ("6,7", "3", 6, ExitMeaning::NotApplied),
            ("6, 7", "3", 3, ExitMeaning::Final),
            ("6,7", "3", 28, ExitMeaning::Unknown),
            ("any", "3", 3, ExitMeaning::Final),
            ("any", "3", 4, ExitMeaning::NotApplied),
            ("6", "any", 6, ExitMeaning::NotApplied),
            ("6", "any", 9, ExitMeaning::Final),
            ("any", "", 0, ExitMeaning::Completed),
        ];
        for (not_applied, refused, code, meaning) in rows {
            let declared = declared(not_applied, refused).unwrap();
            let found = declared.meaning(code, EffectClass::FinancialOrLegal);
            assert_eq!(found, meaning, "{not_applied:?} {refused:?} {code}");
        }
    }

    #[test]
    fn a_declaration_that_contradicts_itself_is_refused() {
        for (not_applied, refused) in [("0", ""), ("256", ""), ("", "x"), ("6,,7", ""), ("6,7", "7"), ("any", "any")] {
            assert!(declared(not_applied, refused).is_err(), "{not_applied:?} {refused:?}");
        }
    }
}
