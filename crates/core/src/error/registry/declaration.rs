//! What is declared: kinds, templates, configuration.

crate::codes! {
    /// The template of an operation id cannot be used
    TEMPLATE_INVALID: Contract, status 400, retry Never, owner Engineering, visible External;
        summary "the template is malformed or names something that changes with every attempt",
        first_check "the placeholder that the message names",
        safe_action "use business identity only: case, command, target, version",
        escalation "the team that owns the kind";
    /// This class may not do that on an unknown outcome
    POLICY_NOT_ALLOWED: Contract, status 422, retry Never, owner Engineering, visible External;
        summary "the effect class does not allow the declared policy",
        first_check "the table of classes and policies",
        safe_action "choose one of the policies that the message lists",
        escalation "the team that owns the kind";
    /// The declaration cannot be used
    DECLARATION_INVALID: Contract, status 422, retry Never, owner Engineering, visible External;
        summary "a kind's declaration is malformed or contradicts itself",
        first_check "the line that the message names",
        safe_action "fix the declaration and start again",
        escalation "the team that owns the kind";
    /// The kind was declared differently before
    KIND_MISMATCH: Contract, status 409, retry Never, owner Engineering, visible External;
        summary "a kind has one declaration and one way to perform; this call differs",
        first_check "where the kind is declared",
        safe_action "use the declared way, or a new kind name",
        escalation "the team that owns the kind";
    /// The kind is not declared
    KIND_UNKNOWN: Contract, status 422, retry Never, owner Caller, visible External;
        summary "no configuration and no earlier claim declares this kind",
        first_check "the kind's name in the call and in the configuration",
        safe_action "declare the kind in the configuration, or send `declare` with the claim",
        escalation "the caller's team";
    /// The configuration is wrong
    CONFIGURATION_INVALID: Contract, status 400, retry Never, owner Operator, visible External;
        summary "a file, variable or flag sets something that does not exist or has no such value",
        first_check "the place that the message names",
        safe_action "fix that place; `onefold config` shows what counts and where it came from",
        escalation "the administrator of this server";
}
