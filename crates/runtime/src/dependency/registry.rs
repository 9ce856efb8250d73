//! The dependencies of a ledger, by name: whatever calls one of them shares its limits.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use onefold_config::DependencyDeclaration;
use onefold_core::effect::KindSpec;
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::ledger::{Claim, ClaimRequest, decide};
use onefold_core::operation::KindName;
use onefold_core::port::{Clock, Store};
use onefold_core::{Error, Result};

use super::{Dependency, Permit, Refused};
use crate::ledger::handle::Ledger;

/// Dependencies a process may declare; they label metrics, so they must stay few.
const DEPENDENCIES_MAX: usize = 1_000;

/// What a process calls, by name.
#[derive(Default)]
pub(crate) struct Dependencies(RwLock<BTreeMap<KindName, Dependency>>);

impl Dependencies {
    pub(crate) fn get(&self, name: &str) -> Option<Dependency> {
        let name = KindName::parse(name).ok()?;
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&name).cloned()
    }

    pub(super) fn all(&self) -> Vec<(KindName, Dependency)> {
        let declared = self.0.read().unwrap_or_else(PoisonError::into_inner);
        declared.iter().map(|(name, dependency)| (name.clone(), dependency.clone())).collect()
    }
}

impl<S: Store> Ledger<S> {
    /// Declares what calls to a dependency are held to. Kinds, routes and questions that depend on its name share its
    /// limits. A dependency has one declaration: the same again is fine, a different one is refused.
    pub fn dependency(&self, name: &str, limits: DependencyDeclaration) -> Result<Dependency> {
        let name = checked(name, &limits)?;
        let mut declared = self.inner.dependencies.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = declared.get(&name) {
            if *known.limits() == limits {
                return Ok(known.clone());
            }
            let what = format!("dependency {name} was declared before with other limits");
            return Err(Error::new(DECLARATION_INVALID, what).hint("declare it once"));
        }
        few_enough(declared.len() + 1)?;
        let made = Dependency::new(name.as_str(), limits, Arc::clone(&self.inner.settings.clock));
        declared.insert(name, made.clone());
        Ok(made)
    }

    /// Declares dependencies anew, all of them or none, whatever was declared before: their configuration was read again.
    /// One whose limits did not change keeps what it knows; calls in flight keep their permit.
    pub fn redeclare_dependencies(&self, dependencies: &BTreeMap<String, DependencyDeclaration>) -> Result<()> {
        few_enough(dependencies.len())?;
        let mut next = BTreeMap::new();
        let mut declared = self.inner.dependencies.0.write().unwrap_or_else(PoisonError::into_inner);
        for (name, limits) in dependencies {
            let name = checked(name, limits)?;
            let known = declared.get(&name).filter(|known| known.limits() == limits).cloned();
            let clock: &Arc<dyn Clock> = &self.inner.settings.clock;
            let dependency = known.unwrap_or_else(|| Dependency::new(name.as_str(), limits.clone(), Arc::clone(clock)));
            next.insert(name, dependency);
        }
        *declared = next;
        Ok(())
    }

    /// The dependency that operations of this kind call, where it is declared.
    pub fn dependency_of(&self, terms: &KindSpec) -> Option<Dependency> {
        self.inner.dependencies.get(terms.dependency.as_deref()?)
    }

    /// What a claim is answered while its dependency lets no call begin; none where only a call would tell. Nothing is
    /// written, and nobody is granted anything.
    pub(crate) async fn answer_without_call(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        let Some(entry) = self.inner.store.find(vec![request.key.clone()]).await?.pop().flatten() else {
            return Ok(None);
        };
        let answer = decide(Some(&entry), request, self.now())?.answer;
        Ok(if matches!(answer, Claim::Granted(_)) { None } else { Some(answer) })
    }

    /// Lets a call of this kind begin, or says why its dependency does not allow one now.
    pub(crate) fn permit(&self, terms: &KindSpec) -> Result<Permit, Refused> {
        self.dependency_of(terms).map_or_else(|| Ok(Permit::unlimited()), |dependency| dependency.enter())
    }
}

fn checked(name: &str, limits: &DependencyDeclaration) -> Result<KindName> {
    limits.check(name).map_err(Error::from)
}

fn few_enough(dependencies: usize) -> Result<()> {
    if dependencies <= DEPENDENCIES_MAX {
        return Ok(());
    }
    Err(Error::new(DECLARATION_INVALID, format!("more than {DEPENDENCIES_MAX} dependencies are declared"))
        .hint("a dependency is a system that is called, not one address or one call"))
}
