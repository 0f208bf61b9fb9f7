//! Repeats that something outside of them has disturbed.
//!
//! The rule looks at what the machine did, never at what was measured: leaving out repeats by their figures would make any
//! storage look steady. The limits are fixed before the run.

use model::{DeviceActivity, Disturbance, Operation, Repeat};

/// Share of all processors' time that the hypervisor may take during a repeat.
const STOLEN: f64 = 0.10;
/// Bytes that other programs may move, as a share of what the repeat moves.
const FOREIGN: f64 = 0.10;
/// And as a number: journals, metadata and the log of the run itself.
const FOREIGN_BYTES: u64 = 4 << 20;

/// What disturbed a repeat, with the share by which it did, if it passed a limit. The I/O of other programs is only told
/// from the repeat's own where that bypasses the page cache and writes nothing: what filesystems read and write for each
/// write (journals, copies, parts of blocks) is the repeat's own. Of reads the repeat's own are what the kernel accounts to
/// the process, which includes all of a compressed extent.
pub fn disturbance(repeat: &Repeat) -> Option<(Disturbance, f64)> {
    let finished = repeat.finished.as_ref()?;
    if let Some(cpu) = finished.machine {
        let idle = cpu.iowait_ns.saturating_add(cpu.idle_ns);
        let parts = [cpu.user_ns, cpu.system_ns, cpu.irq_ns, cpu.steal_ns, idle];
        let total = parts.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns));
        let share = cpu.steal_ns as f64 / total.max(1) as f64;
        if share > STOLEN {
            return Some((Disturbance::StolenTime, share));
        }
    }
    let whole = repeat.whole();
    let moved = |operation| whole.get(&operation).map_or(0, |stats| stats.bytes);
    let (read, written) = (moved(Operation::Read), moved(Operation::Write));
    let top = finished.devices.iter().map(|device| device.level).min()?;
    let at_top = |bytes: fn(&DeviceActivity) -> u64| -> u64 {
        let devices = finished.devices.iter().filter(|device| device.level == top);
        devices.fold(0, |sum, device| sum.saturating_add(bytes(device)))
    };
    if !repeat.started.direct || written > 0 {
        return None;
    }
    let own = finished.process_io.map_or(read, |io| io.read_bytes.max(read));
    let beyond = |bytes: u64| {
        let share = bytes as f64 / own.max(1) as f64;
        (bytes > FOREIGN_BYTES && share > FOREIGN).then_some(share)
    };
    let reads = beyond(at_top(|d| d.read_bytes).saturating_sub(own));
    let writes = beyond(at_top(|d| d.written_bytes));
    let reads = reads.map(|share| (Disturbance::ForeignReads, share));
    reads.or(writes.map(|share| (Disturbance::ForeignWrites, share)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{run, workload};
    use model::{MachineCpu, Mix, ProcessIo, RepeatFinished, Workload};

    fn disturbed(change: impl Fn(&mut RepeatFinished)) -> Option<Disturbance> {
        of(workload(), change)
    }

    fn of(workload: Workload, change: impl Fn(&mut RepeatFinished)) -> Option<Disturbance> {
        let mut repeat = run(workload).repeats.remove(0);
        repeat.started.direct = true;
        change(repeat.finished.as_mut().unwrap());
        disturbance(&repeat).map(|(what, _)| what)
    }

    #[test]
    fn stolen_time_and_other_programs_are_disturbances_beyond_their_limits() {
        let steal = |ns: u64| {
            move |f: &mut RepeatFinished| {
                f.machine = Some(MachineCpu { idle_ns: 1000 - ns, steal_ns: ns, ..MachineCpu::default() });
            }
        };
        assert_eq!(disturbed(|_| {}), None);
        assert_eq!(disturbed(steal(100)), None);
        assert_eq!(disturbed(steal(101)), Some(Disturbance::StolenTime));
        assert_eq!(disturbed(|f| f.devices[0].read_bytes += 4 << 20), None);
        assert_eq!(disturbed(|f| f.devices[0].read_bytes += 5 << 20), Some(Disturbance::ForeignReads));
        assert_eq!(disturbed(|f| f.devices[0].written_bytes += 5 << 20), Some(Disturbance::ForeignWrites));
    }

    #[test]
    fn a_workload_is_not_blamed_for_what_its_filesystem_adds() {
        let writes = || Workload { mix: Mix::Transfer { read_percent: 0 }, ..workload() };
        assert_eq!(of(writes(), |f| f.devices[0].written_bytes *= 10), None);
        assert_eq!(of(writes(), |f| f.devices[0].read_bytes += 100 << 20), None);
        let extents = |f: &mut RepeatFinished| {
            f.devices[0].read_bytes += 100 << 20;
            f.process_io = Some(ProcessIo { read_bytes: f.devices[0].read_bytes, write_bytes: 0 });
        };
        assert_eq!(disturbed(extents), None);
    }
}
