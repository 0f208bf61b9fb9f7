//! iSCSI: the session and the server's address.

use std::path::Path;

use model::fact;

use super::{Facts, above};
use crate::routes::speed_to;
use crate::{Roots, read_line};

pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let number = above(directory)
        .find_map(|place| Some(place.file_name()?.to_str()?.strip_prefix("session")?.to_owned()));
    let Some(number) = number else { return };
    let session = roots.sys.join(format!("class/iscsi_session/session{number}"));
    let connection = roots.sys.join(format!("class/iscsi_connection/connection{number}:0"));
    let attribute = |now: &str, wanted: &str| {
        read_line(connection.join(now)).or_else(|| read_line(connection.join(wanted)))
    };
    facts.file(fact::ISCSI_TARGET, session.join("targetname"));
    facts.file(fact::SESSION, session.join("state"));
    facts.file("recovery time-out", session.join("recovery_tmo"));
    let server = attribute("address", "persistent_address");
    facts.number(fact::LINK_SPEED, server.as_deref().and_then(|server| speed_to(roots, server)));
    facts.server(roots, server);
    facts.put("port", attribute("port", "persistent_port"));
    facts.put(fact::TRANSPORT, "tcp".to_owned());
}
