//! `[[route]]`: a kind, how its requests are guarded, and where they go.

use std::path::Path;

use onefold_core::effect::{EffectClass, KindSpec};

use crate::forward::ForwardDeclaration;
use crate::guard::GuardDeclaration;
use crate::http::{GuardedMethod, check_header, check_longer_than_zero};
use crate::kind::{DeclaredKind, KindDeclaration};
use crate::mistake::Mistake;
use crate::setting::Setting;
use crate::table::table;

table! {
    /// `[[route]]`. `Route` of the layer has the same kind and guard; its service is the upstream.
    pub struct RouteDeclaration {
        /// Which requests are its, where they go, and who calls.
        pub forward: ForwardDeclaration,
        /// What sort of effect it has.
        pub kind: KindDeclaration,
        /// How its requests are guarded.
        pub guard: GuardDeclaration,
    }
}

/// Keys of a kind that mean more, or have another default, in a route.
const KIND_SETTINGS: &[Setting] = &[
    Setting::new(
        "class",
        "`pure`, `converging`, `external-command`, `message-publish` (with `same_key`), `human-notification` or `financial-or-legal`",
        "required",
        "What sort of effect it has, and so what may follow an unknown outcome. Not `local`: a gateway cannot take part in a transaction of the service.",
    ),
    Setting::new(
        "on_unknown",
        "[policy](#on_unknown)",
        "by class: `rerun` for `pure` and `converging`, else `escalate`",
        "What an unknown outcome may do: [see there](gateway.md#before-a-provider-that-is-not-idempotent).",
    ),
    Setting::new(
        "deadline",
        "duration",
        "`\"30s\"`, or `timeout` if that is longer",
        "How long one attempt may take in total; then it is unknown.",
    ),
    Setting::new("depends_on", "name", "none", "A `[dependency.NAME]` whose limits apply to this route."),
    Setting::new(
        "result_bytes_max",
        "number",
        "64 MiB, or more if `answer_bytes_max` is",
        "Bytes of the largest result that is kept; of a larger one only a digest is. `answer_bytes_max` comes first.",
    ),
    Setting::new(
        "remember",
        "true or false",
        "`true` for `pure`",
        "Whether a `pure` operation leaves a row; in a route it always does.",
    ),
    Setting::new(
        "retention",
        "[table](#retention)",
        "{ result = \"24h\", id = \"30d\" }",
        "How long answers and keys are kept.",
    ),
];

impl RouteDeclaration {
    /// Every key, in the order of the guide.
    pub fn settings() -> Vec<Setting> {
        let of_kind = KindDeclaration::SETTINGS.iter().map(|setting| {
            let own = KIND_SETTINGS.iter().find(|own| own.key == setting.key);
            *own.unwrap_or(setting)
        });
        let (forward, guard) = (ForwardDeclaration::SETTINGS.iter(), GuardDeclaration::SETTINGS.iter());
        forward.copied().chain(of_kind).chain(guard.copied()).collect()
    }

    /// The kind that its requests are operations of, or its first mistake. Addresses and the path of `match` are read by
    /// the gateway, which knows what it can send.
    pub fn check(&self) -> Result<DeclaredKind, Mistake> {
        self.forward.check()?;
        check_longer_than_zero("deadline", self.kind.deadline)?;
        check_longer_than_zero("retention.result", self.kind.retention.result)?;
        check_longer_than_zero("retention.id", self.kind.retention.id)?;
        let declared = self.completed().check(&self.forward.name)?;
        Self::check_contract(&declared.terms)?;
        self.guard.check(declared.terms.contract.class())?;
        self.check_methods()?;
        if let Some(name) = self.provider_key() {
            check_header(name).map_err(|error| Mistake::value("on_unknown.same_key", error))?;
        }
        self.forward.check_times(declared.terms.deadline_for)?;
        Ok(declared)
    }

    /// Its kind, with what a route says of it.
    fn completed(&self) -> KindDeclaration {
        let mut kind = self.kind.clone();
        self.guard.complete(&mut kind);
        if let Some(timeout) = self.forward.timeout {
            kind.deadline.get_or_insert(KindSpec::DEADLINE_FOR.max(timeout));
        }
        kind
    }

    /// Refuses what needs a transaction with the upstream.
    fn check_contract(terms: &KindSpec) -> Result<(), Mistake> {
        if terms.contract.class() == EffectClass::Local {
            let what = "its class is local, but a gateway cannot take part in a transaction of the upstream";
            let hint = "use converging, external-command, human-notification or financial-or-legal";
            return Err(Mistake::wrong("class", what, hint));
        }
        Ok(())
    }

    /// Refuses methods that leave the route's own ones unguarded.
    fn check_methods(&self) -> Result<(), Mistake> {
        let Some(methods) = &self.guard.methods else { return Ok(()) };
        let own = self.forward.r#match.split_once(' ').map_or("", |(own, _)| own).split('|');
        let guardable = own.filter_map(|own| GuardedMethod::ALL.iter().find(|method| method.as_str() == own));
        match guardable.into_iter().find(|own| !methods.contains(own)) {
            None => Ok(()),
            Some(own) => {
                let what = format!("this route is for {}, which would pass unguarded", own.as_str());
                Err(Mistake::wrong("methods.0", what, &format!("add {:?} to `methods`", own.as_str())))
            }
        }
    }

    /// The header in which the provider gets the key, where its policy names one.
    pub fn provider_key(&self) -> Option<&str> {
        self.kind.on_unknown.as_ref().and_then(crate::OnUnknownDeclaration::provider_key)
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.forward = self.forward.in_folder(folder);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINIMAL: &str = "name = \"pay\"\nmatch = \"POST /payments\"\nupstream = \"http://127.0.0.1:1\"\ncaller = \"anonymous\"\nclass = \"external-command\"\n";

    fn read(more: &str) -> RouteDeclaration {
        toml::from_str(&format!("{MINIMAL}{more}")).unwrap()
    }

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        let bare = read("");
        let kind = bare.check().unwrap();
        let mut count = 0;
        for setting in RouteDeclaration::settings().iter().filter(|setting| setting.shows_toml()) {
            let shown = read(&format!("{} = {}\n", setting.key, setting.default));
            assert_eq!(shown.check().unwrap(), kind, "{}", setting.key);
            assert_eq!((&shown.guard, &shown.forward), (&bare.guard, &bare.forward), "{}", setting.key);
            count += 1;
        }
        assert!(count >= 20, "{count}");
    }

    #[test]
    fn every_key_is_shown_once() {
        let mut keys: Vec<&str> = RouteDeclaration::settings().iter().map(|setting| setting.key).collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
        assert!(KIND_SETTINGS.iter().all(|own| KindDeclaration::SETTINGS.iter().any(|of_kind| of_kind.key == own.key)));
    }

    #[test]
    fn a_route_is_a_kind_with_longer_answers_and_shorter_memory() {
        let terms = read("attempts_max = 2\nbackoff = [\"1s\"]\n").check().unwrap().terms;
        assert_eq!(terms.retry.attempts_max, 2);
        assert_eq!(terms.retention.result_for, Some(Duration::from_hours(24)));
        assert_eq!(terms.retention.id_for, Some(Duration::from_hours(30 * 24)));
        assert_eq!(terms.result_bytes_max, 64 * 1024 * 1024);
        let one = read("retention = { result = \"1h\" }\nanswer_bytes_max = 67108864\n").check().unwrap().terms;
        assert_eq!(one.retention.result_for, Some(Duration::from_hours(1)));
        assert_eq!(one.retention.id_for, terms.retention.id_for);
        assert!(one.result_bytes_max > 64 * 1024 * 1024);
        let slow = read("timeout = \"2m\"\n").check().unwrap().terms;
        assert_eq!(slow.deadline_for, Duration::from_mins(2));
        let pure: RouteDeclaration = toml::from_str(&MINIMAL.replace("external-command", "pure")).unwrap();
        assert!(pure.check().unwrap().terms.remember);
    }
}
