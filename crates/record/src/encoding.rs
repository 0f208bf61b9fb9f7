//! The lines of a log. An event is a line, but readings that are written together are one, and in it a series has a
//! number: its names are written once in a log.

use std::collections::BTreeMap;

use model::{Event, Reading};
use serde::{Deserialize, Serialize};

/// Start of a line of readings.
const READINGS: &[u8] = b"{\"event\":\"readings\",";

/// Probe, key and unit of a series, and the number of its machine.
type Series = (String, String, String, u32);

/// A series with its number. That of the first machine is left out.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberedSeries {
    /// Of the first machine.
    Here(u32, String, String, String),
    /// Of another.
    There(u32, String, String, String, u32),
}

/// A line of readings.
#[derive(Serialize, Deserialize)]
struct Readings<'a> {
    /// Always `readings`.
    event: &'a str,
    /// The moment from which the polls count, in nanoseconds since the start of the run.
    at_ns: u64,
    /// The series that are new in this line, with their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    series: Vec<NumberedSeries>,
    /// Nanoseconds after `at_ns`, and each value after the number of its series.
    polls: Vec<(i64, Vec<(u32, f64)>)>,
}

/// Puts events into lines.
#[derive(Debug, Default)]
pub struct Encoder {
    numbers: BTreeMap<Series, u32>,
}

impl Encoder {
    /// Passes each line, without its end, to `write`.
    ///
    /// # Errors
    /// An event has no JSON form.
    pub fn encode(&mut self, events: &[Event], mut write: impl FnMut(Vec<u8>)) -> serde_json::Result<()> {
        let both_are_readings =
            |a: &Event, b: &Event| matches!((a, b), (Event::Reading(_), Event::Reading(_)));
        for together in events.chunk_by(both_are_readings) {
            write(match together {
                [Event::Reading(first), ..] => serde_json::to_vec(&self.readings(first.at_ns, together))?,
                [event, ..] => serde_json::to_vec(event)?,
                [] => continue,
            });
        }
        Ok(())
    }

    fn readings(&mut self, at_ns: u64, events: &[Event]) -> Readings<'static> {
        let mut line = Readings { event: "readings", at_ns, series: Vec::new(), polls: Vec::new() };
        for event in events {
            let Event::Reading(Reading { at_ns: moment, probe, key, value, unit, host }) = event else {
                continue;
            };
            let series = (probe.clone(), key.clone(), unit.clone(), *host);
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(series).or_insert_with(|| {
                let [probe, key, unit] = [probe, key, unit].map(String::clone);
                line.series.push(match host {
                    0 => NumberedSeries::Here(next, probe, key, unit),
                    _ => NumberedSeries::There(next, probe, key, unit, *host),
                });
                next
            });
            let after_ns = moment.wrapping_sub(at_ns) as i64;
            match line.polls.last_mut().filter(|(last, _)| *last == after_ns) {
                Some((_, values)) => values.push((number, *value)),
                None => line.polls.push((after_ns, vec![(number, *value)])),
            }
        }
        line
    }
}

/// The most bytes that the readings of a line may take in memory. Names stand in a line once and in memory with each value, so that
/// a line made for it could fill any memory.
const MOST_BYTES: usize = 256 << 20;

/// Reads the events of lines.
#[derive(Debug, Default)]
pub struct Decoder {
    series: BTreeMap<u32, Series>,
}

impl Decoder {
    /// The events of a line. A value whose series was named in a line that is missing is left out.
    ///
    /// # Errors
    /// The line is none of a log.
    pub fn decode(&mut self, line: &[u8]) -> serde_json::Result<Vec<Event>> {
        if !line.starts_with(READINGS) {
            return Ok(vec![serde_json::from_slice(line)?]);
        }
        let Readings { at_ns, series, polls, .. } = serde_json::from_slice(line)?;
        self.series.extend(series.into_iter().map(|series| match series {
            NumberedSeries::Here(number, probe, key, unit) => (number, (probe, key, unit, 0)),
            NumberedSeries::There(number, probe, key, unit, host) => (number, (probe, key, unit, host)),
        }));
        let (mut events, mut bytes) = (Vec::new(), 0);
        for (after_ns, values) in polls {
            let at_ns = at_ns.wrapping_add_signed(after_ns);
            for (number, value) in values {
                let Some((probe, key, unit, host)) = self.series.get(&number).cloned() else { continue };
                bytes += size_of::<Event>() + probe.len() + key.len() + unit.len();
                if bytes > MOST_BYTES {
                    return Err(serde::de::Error::custom("the readings of one line fill more than 256 MiB"));
                }
                events.push(Event::Reading(Reading { at_ns, probe, key, value, unit, host }));
            }
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ns: u64, key: &str, value: f64) -> Event {
        let [probe, key, unit] = ["cpu", key, "1"].map(str::to_owned);
        Event::Reading(Reading { at_ns, probe, key, value, unit, host: 0 })
    }

    fn lines(encoder: &mut Encoder, events: &[Event]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        encoder.encode(events, |line| lines.push(line)).unwrap();
        lines
    }

    #[test]
    fn readings_survive_their_line_in_their_order() {
        // A reading that was held back is earlier than the one before it.
        let events =
            [reading(7, "a", 0.1), reading(7, "b", 1e-300), reading(3, "a", -5.0), reading(9, "b", 2.0)];
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for together in [&events[..], &events[1..]] {
            let lines = lines(&mut encoder, together);
            assert!(lines.len() == 1 && lines[0].starts_with(READINGS), "{lines:?}");
            assert_eq!(decoder.decode(&lines[0]).unwrap(), together);
        }
    }

    #[test]
    fn a_series_of_another_machine_is_another_series() {
        let Event::Reading(first) = reading(1, "a", 1.0) else { unreachable!() };
        let events = [0, 2].map(|host| Event::Reading(Reading { host, ..first.clone() }));
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for _ in 0..2 {
            assert_eq!(decoder.decode(&lines(&mut encoder, &events)[0]).unwrap(), events);
        }
    }

    #[test]
    fn a_line_does_not_fill_the_memory() {
        let Event::Reading(reading) = reading(1, &"k".repeat(1 << 20), 1.0) else { unreachable!() };
        let events = vec![Event::Reading(reading); 300];
        let line = &lines(&mut Encoder::default(), &events)[0];
        assert!(line.len() < 2 << 20);
        let error = Decoder::default().decode(line).unwrap_err();
        assert!(error.to_string().contains("more than 256 MiB"), "{error}");
    }

    #[test]
    fn a_value_of_a_series_whose_name_is_lost_is_left_out() {
        let mut encoder = Encoder::default();
        let _lost = lines(&mut encoder, &[reading(1, "a", 1.0)]);
        let line = lines(&mut encoder, &[reading(2, "a", 1.0), reading(2, "b", 4.0)]);
        assert_eq!(Decoder::default().decode(&line[0]).unwrap(), [reading(2, "b", 4.0)]);
    }
}
