//! A service that takes cases: one failure, many projections.
//!
//! `POST /cases` under an `Idempotency-Key` takes hold once; `GET /cases/{id}` shows a case.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `errors` | the codes of the domain, checked against `registry.json` |
//! | `domain` | what a case allows |
//! | `request` | the form of a submission |
//! | `rules` | what a submission must also satisfy |
//! | `result` | what submitting answers, and how it is shown |
//! | `store` | the service's tables, and what their constraints mean |
//! | `submit` | the use case, in one transaction |
//! | `http` | the routes |

pub mod domain;
pub mod errors;
pub mod http;
pub mod request;
pub mod result;
pub mod rules;
pub mod store;
pub mod submit;
