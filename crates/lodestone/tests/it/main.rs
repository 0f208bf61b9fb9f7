//! The program, as a user runs it.

mod anonymous;
mod bytes;
mod classic;
mod common;
mod consent;
mod crosscheck;
mod data_sets;
mod destinations;
mod devices;
mod ends;
mod flags;
mod hostile;
mod import;
mod import_labels;
mod inputs;
mod kills;
mod machines;
mod mistakes;
mod program;
mod requirements;
mod rounds;
mod stacks;
mod stores;
mod targets;
mod terminal;
mod truth;
