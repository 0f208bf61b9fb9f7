//! Where the operations of a repeat were, one by one: only for workloads that ask for it, and only so many.

use serde::{Deserialize, Serialize};

/// One operation with its place. In the log it is a list of three numbers, because there are thousands of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct LoggedOffset {
    /// Byte of the data set at which it began.
    pub offset: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Nanoseconds that it took, as in `lat`.
    pub ns: u64,
}

impl From<(u64, u64, u64)> for LoggedOffset {
    fn from((offset, bytes, ns): (u64, u64, u64)) -> Self {
        Self { offset, bytes, ns }
    }
}

impl From<LoggedOffset> for (u64, u64, u64) {
    fn from(logged: LoggedOffset) -> Self {
        (logged.offset, logged.bytes, logged.ns)
    }
}

impl LoggedOffset {
    /// Bytes per second; `None` if it took no time.
    pub fn rate(&self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes as f64 / self.ns as f64 * 1e9)
    }
}

/// The places of one kind of operation in a repeat, in the order in which the operations ended, job after job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetLog {
    /// Those that are kept: the first ones.
    pub kept: Vec<LoggedOffset>,
    /// How many good operations more there were, of which no place is kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl OffsetLog {
    /// As many of one operation are kept in a repeat, all jobs together: four times what GNOME Disks reads, and about
    /// 120 kB of log.
    pub const MOST: usize = 4096;

    /// Takes one more into account; from `room` on it is only counted.
    pub fn record(&mut self, logged: LoggedOffset, room: usize) {
        if self.kept.len() < room.min(Self::MOST) {
            self.kept.push(logged);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// Adds those of another job.
    pub fn merge(&mut self, other: Self) {
        self.left_out = self.left_out.saturating_add(other.left_out);
        other.kept.into_iter().for_each(|logged| self.record(logged, Self::MOST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(i: u64) -> LoggedOffset {
        LoggedOffset { offset: i * 4096, bytes: 4096, ns: 1000 }
    }

    #[test]
    fn what_is_over_is_counted_and_two_halves_are_the_whole() {
        let of = |range: std::ops::Range<u64>, room| {
            let mut log = OffsetLog::default();
            range.for_each(|i| log.record(logged(i), room));
            log
        };
        let most = OffsetLog::MOST as u64;
        let mut merged = of(0..most - 10, usize::MAX);
        merged.merge(of(most - 10..most + 5, usize::MAX));
        assert_eq!(merged, of(0..most + 5, usize::MAX));
        assert_eq!((merged.kept.len() as u64, merged.left_out), (most, 5));
        assert_eq!(of(0..7, 3).left_out, 4);
    }

    #[test]
    fn a_place_is_three_numbers_in_the_log() {
        let mut log = OffsetLog::default();
        log.record(logged(2), 1);
        let text = serde_json::to_string(&log).unwrap();
        assert_eq!(text, r#"{"kept":[[8192,4096,1000]]}"#);
        assert_eq!(serde_json::from_str::<OffsetLog>(&text).unwrap(), log);
        assert_eq!(logged(0).rate(), Some(4.096e9));
        assert_eq!(LoggedOffset { ns: 0, ..logged(0) }.rate(), None);
    }
}
