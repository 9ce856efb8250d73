//! The suite on the model itself: what is compared with is held to the same promises.

onefold_conformance::suite!(onefold_conformance::ModelHarness);
