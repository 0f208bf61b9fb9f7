//! The parsers of option values. Each returns what is wrong with a text, with the allowed values where they are a list.

use std::fmt::Display;
use std::str::FromStr;

use model::units::{parse_duration_ns, parse_size};
use model::{Distribution, LatencyTarget, Regions, SizeShare, SteadyFigure, SteadyRule, Think, Zone};

use crate::problem::{listed, nearest};

pub(crate) fn word<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let names = || words.iter().map(|(name, _)| *name);
    let found = words.iter().find(|(name, _)| *name == text.trim());
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let guess = nearest(text, names()).map(|w| format!(" (did you mean `{w}`?)")).unwrap_or_default();
        format!("`{text}` is not one of {}{guess}", listed(names()))
    })
}

pub(crate) fn list<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<Vec<T>, String> {
    text.split(',').map(|part| word(part.trim(), words)).collect()
}

pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    word(text, &[("true", true), ("false", false)])
}

/// `None` for the given word, else the value.
pub(crate) fn or_word<T, E: Display>(
    none: &str,
    text: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, String> {
    if text.trim() == none {
        return Ok(None);
    }
    read(text).map(Some).map_err(|e| format!("{e}; or write {none}"))
}

pub(crate) fn number<T: FromStr + PartialOrd + Display + Copy>(
    text: &str,
    low: T,
    high: T,
) -> Result<T, String> {
    let range = format!("a whole number from {low} to {high}");
    let value: T = text.trim().replace('_', "").parse().map_err(|_| format!("`{text}` is not {range}"))?;
    within(text, value, low, high, &range)
}

/// A real number above `low` and at most `high`.
/// True if a name given with `--only` or `--skip` stands for this step.
pub(crate) fn names_step(name: &str, id: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

pub(crate) fn real(text: &str, low: f64, high: f64) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("`{text}` is not a number"))?;
    if value > low && value <= high {
        Ok(value)
    } else {
        Err(format!("{text} is not above {low} and at most {high}"))
    }
}

pub(crate) fn within<T: PartialOrd>(text: &str, value: T, low: T, high: T, range: &str) -> Result<T, String> {
    if value < low || value > high { Err(format!("{} is outside {range}", text.trim())) } else { Ok(value) }
}

/// A share in percent, such as `2%` or `0.5`, in parts per million; from 0.01 % to 100 %.
pub fn parts_per_million(text: &str) -> Option<u32> {
    let percent: f64 = text.trim().trim_end_matches('%').trim_end().parse().ok()?;
    (0.01..=100.0).contains(&percent).then(|| (percent * 1e4).round() as u32)
}

pub(crate) fn bytes_per_second(text: &str) -> Result<f64, String> {
    let size = text.trim();
    let bytes = parse_size(size.strip_suffix("/s").unwrap_or(size)).map_err(|e| e.to_string())?;
    if bytes == 0 { Err("a rate of 0 starts no operation".into()) } else { Ok(bytes as f64) }
}

pub(crate) fn block_sizes(text: &str) -> Result<[u32; 3], String> {
    if text.contains('=') {
        return named_block_sizes(text);
    }
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let bytes = parse_size(part).map_err(|e| e.to_string())?;
        let bytes = within(part, bytes, 1, 1 << 30, "1 to 1GiB")?;
        sizes.push(bytes as u32);
    }
    match sizes[..] {
        [all] => Ok([all; 3]),
        [read, write] => Ok([read, write, write]),
        [read, write, trim] => Ok([read, write, trim]),
        _ => Err(format!("`{text}` has {} sizes; give at most three, for read, write and trim", sizes.len())),
    }
}

/// Sizes by direction, such as `read=4k,write=64k`. Without one for trims, that of writes counts.
fn named_block_sizes(text: &str) -> Result<[u32; 3], String> {
    const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
    let mut sizes = [None; 3];
    for part in text.split(',') {
        let (name, size) = part.split_once('=').unwrap_or((part, ""));
        let at = DIRECTIONS.iter().position(|direction| *direction == name.trim());
        let at = at.ok_or_else(|| format!("`{part}` is not one of read=SIZE, write=SIZE and trim=SIZE"))?;
        let bytes = parse_size(size.trim()).map_err(|e| e.to_string())?;
        sizes[at] = Some(within(part, bytes, 1, 1 << 30, "1 to 1GiB")? as u32);
    }
    match sizes {
        [Some(read), Some(write), trim] => Ok([read, write, trim.unwrap_or(write)]),
        _ => Err(format!("`{text}` lacks a size; write read=SIZE,write=SIZE")),
    }
}

pub(crate) fn some_bytes(text: &str) -> Result<u64, String> {
    within(text, parse_size(text).map_err(|e| e.to_string())?, 1, u64::MAX, "a size of at least 1 byte")
}

pub(crate) fn call_size(text: &str) -> Result<u64, String> {
    within(text, parse_size(text).map_err(|e| e.to_string())?, 1, 1 << 30, "1 to 1GiB")
}

pub(crate) fn distribution(text: &str) -> Result<Distribution, String> {
    const LAWS: [&str; 7] = ["uniform", "zipf", "pareto", "normal", "zoned", "sequence", "sequence+"];
    let (law, parameters) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
    let parameter = |name: &str, usual: f64, low: f64, high: f64| {
        real(parameters, low, high).map_err(|e| format!("{law} needs its {name}, as in {law}:{usual}: {e}"))
    };
    match law {
        "uniform" if parameters.is_empty() => Ok(Distribution::Uniform),
        "uniform" => Err("uniform takes no parameter".into()),
        "zipf" => Ok(Distribution::Zipf { theta: parameter("theta", 0.99, 0.0, 10.0)? }),
        "pareto" => Ok(Distribution::Pareto { h: parameter("share of hot blocks", 0.2, 0.0, 0.499_999)? }),
        "normal" => {
            let percent = parameters.trim_end_matches('%');
            let deviation_percent = real(percent, 0.0, 1000.0)
                .map_err(|e| format!("normal needs its deviation in percent, as in normal:10: {e}"))?;
            Ok(Distribution::Normal { deviation_percent })
        }
        "zoned" => zones(parameters),
        "sequence" | "sequence+" => {
            let number =
                |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is not a block number"));
            let blocks = parameters.split(',').map(number).collect::<Result<Vec<u64>, String>>()?;
            Ok(Distribution::Sequence { blocks, moves_on: law.ends_with('+') })
        }
        _ => {
            let guess = nearest(law, LAWS).map(|w| format!(" (did you mean `{w}`?)")).unwrap_or_default();
            Err(format!("`{law}` is not one of {}{guess}", listed(LAWS)))
        }
    }
}

/// Two sizes, the second of which may be negative.
pub(crate) fn stride(text: &str) -> Result<(u64, i64), String> {
    let (run, skip) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is not RUN:SKIP, such as 4k:64k"))?;
    let size = |text: &str| parse_size(text).map_err(|e| e.to_string());
    let (back, skip) = skip.strip_prefix('-').map_or((false, skip), |skip| (true, skip));
    let skip = i64::try_from(size(skip)?).map_err(|e| e.to_string())?;
    match size(run)? {
        0 => Err("the run of a stride must not be 0".into()),
        run => Ok((run, if back { -skip } else { skip })),
    }
}

/// Shares of block sizes for each direction.
pub(crate) type Splits = [Vec<SizeShare>; 3];

pub(crate) fn splits(text: &str) -> Result<Splits, String> {
    let each = text.split(',').map(split).collect::<Result<Vec<_>, String>>()?;
    match &each[..] {
        [all] => Ok([all.clone(), all.clone(), all.clone()]),
        [read, write] => Ok([read.clone(), write.clone(), write.clone()]),
        [read, write, trim] => Ok([read.clone(), write.clone(), trim.clone()]),
        _ => Err(format!("`{text}` has {} parts; give at most three, for read, write and trim", each.len())),
    }
}

fn split(text: &str) -> Result<Vec<SizeShare>, String> {
    let mut shares = Vec::new();
    for part in text.split(':') {
        let (size, percent) = part
            .split_once('/')
            .ok_or_else(|| format!("`{part}` is not SIZE/PERCENT, as in 4k/60:64k/40"))?;
        let bytes = within(size, parse_size(size).map_err(|e| e.to_string())?, 1, 1 << 30, "1 to 1GiB")?;
        let percent = real(percent.trim_end_matches('%'), 0.0, 100.0)?;
        shares.push(SizeShare { bytes: bytes as u32, percent });
    }
    let sum: f64 = shares.iter().map(|share| share.percent).sum();
    if (sum - 100.0).abs() > 0.01 {
        Err(format!("the shares add up to {sum} %, not to 100 %"))
    } else {
        Ok(shares)
    }
}

pub(crate) fn think(text: &str) -> Result<Think, String> {
    let (time, every) = text.split_once('/').unwrap_or((text, "1"));
    let ns = parse_duration_ns(time).map_err(|e| e.to_string())?;
    Ok(Think { ns, every: number(every, 1, u32::MAX)? })
}

pub(crate) fn regions(text: &str) -> Result<Regions, String> {
    let words = [("disjoint", Regions::Disjoint), ("shared", Regions::Shared)];
    if !text.contains(':') {
        return word(text, &words);
    }
    let sizes: Vec<u64> =
        text.split(':').map(|part| parse_size(part).map_err(|e| e.to_string())).collect::<Result<_, _>>()?;
    match sizes[..] {
        [offset_bytes, increment_bytes] => {
            Ok(Regions::Spaced { offset_bytes, increment_bytes, len_bytes: 0 })
        }
        [offset_bytes, increment_bytes, len_bytes] => {
            Ok(Regions::Spaced { offset_bytes, increment_bytes, len_bytes })
        }
        _ => Err(format!("`{text}` is not OFFSET:INCREMENT or OFFSET:INCREMENT:LENGTH")),
    }
}

pub(crate) fn steady(text: &str) -> Result<SteadyRule, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (figure, percent, window, ramp) = match parts[..] {
        [figure, percent, window] => (figure, percent, window, "0s"),
        [figure, percent, window, ramp] => (figure, percent, window, ramp),
        _ => return Err(format!("`{text}` is not FIGURE:PERCENT:WINDOW, such as iops:10%:30s")),
    };
    let name = figure.strip_suffix("_slope").unwrap_or(figure);
    let figures =
        [("iops", SteadyFigure::Iops), ("bw", SteadyFigure::Bandwidth), ("lat", SteadyFigure::Latency)];
    let time = |text: &str| parse_duration_ns(text).map_err(|e| e.to_string());
    Ok(SteadyRule {
        figure: word(name, &figures)?,
        slope: name != figure,
        limit_percent: real(percent.trim_end_matches('%'), 0.0, 1000.0)?,
        window_ns: within(window, time(window)?, 2_000_000_000, u64::MAX, "2s or more")?,
        ramp_ns: time(ramp)?,
    })
}

pub(crate) fn latency_target(text: &str) -> Result<LatencyTarget, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [ns, percent, window] = parts[..] else {
        return Err(format!("`{text}` is not TIME:PERCENT:WINDOW, such as 2ms:99:5s"));
    };
    let time = |text: &str| parse_duration_ns(text).map_err(|e| e.to_string());
    Ok(LatencyTarget {
        ns: time(ns)?,
        percent: real(percent.trim_end_matches('%'), 0.0, 100.0)?,
        window_ns: within(window, time(window)?, 1_000_000, u64::MAX, "1ms or more")?,
    })
}

fn zones(text: &str) -> Result<Distribution, String> {
    let mut zones = Vec::new();
    for part in text.split(':') {
        let zone = part.split_once('/').ok_or_else(|| {
            format!("`{part}` is not a zone; write ACCESS/SIZE in percent, as in zoned:60/10:30/20:10/70")
        })?;
        let (access_percent, size_percent) = (real(zone.0, 0.0, 100.0)?, real(zone.1, 0.0, 100.0)?);
        zones.push(Zone { access_percent, size_percent });
    }
    for (what, sum) in [
        ("accesses", zones.iter().map(|z| z.access_percent).sum::<f64>()),
        ("sizes", zones.iter().map(|z| z.size_percent).sum::<f64>()),
    ] {
        if (sum - 100.0).abs() > 0.01 {
            return Err(format!("the zones' {what} add up to {sum} %, not to 100 %"));
        }
    }
    Ok(Distribution::Zoned(zones))
}
