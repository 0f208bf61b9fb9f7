//! Pages in a real browser.

mod answers;
mod pages;
mod site;
