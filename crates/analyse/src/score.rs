//! The published score of PiBenchmarks.

/// The inputs of PiBenchmarks' score, each in the unit that the script uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiFigures {
    /// dd's rate in MB/s (10^6 bytes).
    pub dd_mb_per_second: f64,
    /// fio's random reads per second.
    pub fio_random_reads: f64,
    /// fio's random writes per second.
    pub fio_random_writes: f64,
    /// iozone's rates in KiB/s.
    pub iozone_read: f64,
    /// iozone's first write in KiB/s.
    pub iozone_write: f64,
    /// iozone's random read in KiB/s.
    pub iozone_random_read: f64,
    /// iozone's random write in KiB/s.
    pub iozone_random_write: f64,
}

/// The score of PiBenchmarks (`Storage.sh`), the same formula in all of its revisions:
/// trunc((dd · 1024 + 4 · randread + 10 · randwrite + read + write + 4 · iozone randread + 10 · iozone randwrite) ÷ 100).
/// Its units are mixed by design.
pub fn pi_score(figures: &PiFigures) -> u64 {
    let sum = figures.dd_mb_per_second * 1024.0
        + 4.0 * figures.fio_random_reads
        + 10.0 * figures.fio_random_writes
        + figures.iozone_read
        + figures.iozone_write
        + 4.0 * figures.iozone_random_read
        + 10.0 * figures.iozone_random_write;
    (sum / 100.0).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_the_scripts_formula_truncated() {
        let figures = PiFigures {
            dd_mb_per_second: 23.7,
            fio_random_reads: 2500.0,
            fio_random_writes: 800.0,
            iozone_read: 9000.0,
            iozone_write: 2251.0,
            iozone_random_read: 8500.0,
            iozone_random_write: 3432.0,
        };
        // 24268.8 + 10000 + 8000 + 9000 + 2251 + 34000 + 34320 = 121839.8
        assert_eq!(pi_score(&figures), 1218);
        let none = PiFigures {
            dd_mb_per_second: 0.0,
            fio_random_reads: 0.0,
            fio_random_writes: 0.0,
            iozone_read: 0.0,
            iozone_write: 0.0,
            iozone_random_read: 0.0,
            iozone_random_write: 0.0,
        };
        assert_eq!(pi_score(&none), 0);
    }
}
