//! The ledger's rules as tables: one case a row.
//!
//! | file | what its rows show |
//! |---|---|
//! | `life` | every arrow of an operation's life |
//! | `claims` | every answer to a claim |
//! | `lost_answers` | claims, records and releases made again, late or by the wrong one |
//! | `clocks` | deadlines, leases, slack |
//! | `contracts` | the stricter of two contracts, the window of one key |
//! | `reconciling` | what `ask` and `void` answer |
//! | `verbs` | what a person may do |
//! | `limits` | attempts used up, time used up, evidence, large results |
//! | `advice` | what a person is told, by policy and status |
//! | `incidents` | what an incident holds, who joins it, what closes it |
//! | `rows` | which columns each step writes |
//! | `ledger` | one operation's rows in memory, moved by the production rules |

#![expect(clippy::expect_used, reason = "a case that cannot be built fails its test")]

mod advice;
mod claims;
mod clocks;
mod contracts;
mod fixture;
mod incidents;
mod life;
mod limits;
mod lost_answers;
mod reconciling;
mod rows;
mod verbs;
