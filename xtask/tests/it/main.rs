//! The documents of the tree, and copies of them that are broken.

mod book;
