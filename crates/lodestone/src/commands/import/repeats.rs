//! Parts of a path that number or date the repeats of one target, so that they are not names of targets.

/// Words before the number of a repeat.
const WORDS: [&str; 16] = [
    "r",
    "run",
    "rep",
    "repeat",
    "round",
    "pass",
    "try",
    "trial",
    "attempt",
    "iter",
    "iteration",
    "test",
    "result",
    "bench",
    "output",
    "out",
];
/// Most parts of a name that together are a date and a time: `2024-05-01-09-00-00`.
const MOST_PARTS: usize = 6;
const SEPARATORS: [char; 3] = ['-', '_', ' '];

/// What a part of a path numbers, if it is a repeat, a date or a time of day.
pub(super) fn kind(text: &str) -> Option<&'static str> {
    let small = text.to_ascii_lowercase();
    if is_number(&small) {
        Some("number")
    } else if after_date(&small).is_some_and(|rest| rest.is_empty() || is_time_after_date(rest)) {
        Some("date")
    } else {
        is_time(&small).then_some("time")
    }
}

/// A name without its repeats, dates and times, and these.
pub(super) fn split(name: &str) -> (String, Vec<String>) {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
        return (String::new(), vec![name.to_owned()]);
    }
    let parts: Vec<&str> = name.split(SEPARATORS).collect();
    let (mut kept, mut repeats) = (String::new(), Vec::new());
    let (mut first, mut at) = (0, 0);
    while first < parts.len() {
        let joined = |last: usize| {
            let length = parts[first..=last].iter().map(|part| part.len() + 1).sum::<usize>() - 1;
            &name[at..at + length]
        };
        let longest = (first..parts.len().min(first + MOST_PARTS)).rev();
        let numbers = |last: &usize| {
            // A number alone counts only at the end: `disk_2`.
            let is_last = *last + 1 == parts.len() && first > 0 && *last == first;
            kind(joined(*last)).is_some() || (is_last && is_small(parts[first]))
        };
        let found = { longest }.find(numbers);
        let text = joined(found.unwrap_or(first));
        if found.is_some() {
            repeats.push(text.to_owned());
        } else {
            // The separator before it.
            kept.push_str(&name[at.saturating_sub(1)..at]);
            kept.push_str(text);
        }
        at += text.len() + 1;
        first = found.unwrap_or(first) + 1;
    }
    (kept.trim_matches(SEPARATORS).to_owned(), repeats)
}

/// At most two digits, or more with a leading zero: `970` is the name of a model.
fn is_small(text: &str) -> bool {
    (1..=4).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text.len() <= 2 || text.starts_with('0'))
}

/// `_1`, `#2`, or a word for repeats with a number: `run1`, `try-2`.
fn is_number(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix(['_', '#']) {
        return is_small(rest);
    }
    let word = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &text[word.len()..];
    let word = word.trim_end_matches(['-', '_', ' ', '#']);
    // `r720` is a model.
    let most = if word == "r" { 2 } else { 4 };
    (1..=most).contains(&digits.len()) && WORDS.contains(&word)
}

/// The text after a date such as `2024-05-01` or `20240501`.
fn after_date(text: &str) -> Option<&str> {
    let bare = digits(text, 8).and_then(|date| Some((&date[..4], digits(&date[4..], 2)?, &date[6..], 8)));
    let parted = || {
        let separator = text.get(4..5).filter(|s| ["-", "_", "."].contains(s))?;
        let same = text.get(7..8)? == separator;
        same.then_some((digits(text, 4)?, digits(&text[5..], 2)?, digits(&text[8..], 2)?, 10))
    };
    let (year, month, day, length) = bare.or_else(parted)?;
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let is_date = (1980..2100).contains(&number(year))
        && (1..=12).contains(&number(month))
        && (1..=31).contains(&number(day));
    is_date.then(|| &text[length..])
}

fn is_time_after_date(rest: &str) -> bool {
    let Some(time) = rest.strip_prefix(['t', '-', '_', ' ']) else { return false };
    is_time(time)
        || digits(time, 6)
            .is_some_and(|d| d.len() == time.len() && is_clock(&d[..2], &d[2..4]) && &d[4..] < "60")
}

/// `09h`, `09h30`, `0900`, `09-00`, `09:00`, also with seconds.
fn is_time(text: &str) -> bool {
    let Some(hour) = digits(text, 2) else { return false };
    let rest = &text[2..];
    match rest.strip_prefix(['h', '-', ':', '_']) {
        Some("") => rest == "h" && is_clock(hour, "00"),
        Some(rest) => digits(rest, 2).is_some_and(|minute| {
            let seconds = &rest[2..];
            let is_second = |s: &str| s.len() == 2 && digits(s, 2).is_some_and(|s| s < "60");
            let is_end = seconds.is_empty() || seconds.strip_prefix(['-', ':', '_']).is_some_and(is_second);
            is_clock(hour, minute) && is_end
        }),
        // 1000 and 2048 are models, sizes or years.
        None => {
            digits(text, 4).is_some_and(|d| d.len() == text.len())
                && is_clock(hour, rest)
                && hour.starts_with('0')
        }
    }
}

fn is_clock(hour: &str, minute: &str) -> bool {
    hour < "24" && minute < "60"
}

/// The first characters, if they are digits.
fn digits(text: &str, count: usize) -> Option<&str> {
    text.get(..count).filter(|start| start.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_dates_and_times_are_recognised_and_names_of_devices_are_not() {
        for text in ["r1", "run1", "run-2", "_1", "try-2", "rep3", "#2", "R10", "Run_03", "run#4"] {
            assert_eq!(kind(text), Some("number"), "{text}");
        }
        for text in ["2024-05-01", "20240501", "2024_05_01", "2024-05-01T09-00", "20240501-093000"] {
            assert_eq!(kind(text), Some("date"), "{text}");
        }
        for text in ["09h", "0900", "09-00", "09:00", "23h59", "09-00-59"] {
            assert_eq!(kind(text), Some("time"), "{text}");
        }
        for text in [
            "",
            "r",
            "ssd1",
            "sda2",
            "raid5",
            "r720",
            "24h",
            "2460",
            "1024",
            "2048",
            "1000",
            "2024",
            "1",
            "970",
            "morning",
            "2024-13-01",
            "20241301",
            "9999-01-01",
            "nvme0n1",
            "run",
            "rün1",
            "ä1234567",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn names_lose_their_repeats_wherever_they_stand() {
        for (name, bare) in [
            ("ssd-run5", "ssd"),
            ("run-2-ssd", "ssd"),
            ("ssd_2024-05-01_0900_write", "ssd_write"),
            ("20240501-090000", ""),
            ("ssd-#2", "ssd"),
            ("output_benchmark_3", "output_benchmark"),
            ("disk_2", "disk"),
            ("ssd-1000", "ssd-1000"),
            ("samsung-970", "samsung-970"),
            ("raid5", "raid5"),
            ("3", ""),
            ("a 2 b", "a 2 b"),
            ("", ""),
        ] {
            assert_eq!(split(name).0, bare, "{name}");
        }
    }
}
