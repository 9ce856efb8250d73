//! The tables of the source texts, one case a row, the rows as data: a missing row shows.

mod pages;
mod registry;
mod rows;
mod tables;
