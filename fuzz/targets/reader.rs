//! One of the readers of files, named by `LODESTONE_READER`: no input may make it panic, hang or use excessive memory, or
//! give a result that its oracle refuses.
#![no_main]

use std::sync::LazyLock;

use attempts::readers::{Reader, reader};
use libfuzzer_sys::fuzz_target;

static READER: LazyLock<&Reader> = LazyLock::new(|| {
    let name = std::env::var("LODESTONE_READER").unwrap_or_default();
    reader(&name).unwrap_or_else(|wrong| panic!("LODESTONE_READER: {wrong}"))
});

fuzz_target!(|bytes: &[u8]| {
    if let Err(wrong) = (READER.read)(bytes) {
        panic!("{wrong}");
    }
});
