//! Logs, stores and imported outputs on a disk.

mod damage;
mod directory;
mod full_disk;
mod imports;
mod store;
