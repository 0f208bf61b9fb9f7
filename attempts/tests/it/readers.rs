//! A bounded number of attempts on all readers of external files; `lodestone-attempts read` makes more, the fuzzer with
//! coverage.

use attempts::readers::READERS;

/// Attempts on each reader.
const COUNT: u64 = 200;

#[test]
fn mutated_files_are_read_or_refused() {
    for reader in READERS {
        let outcome = reader.trials(COUNT, 1);
        assert_eq!((outcome.attempts, outcome.failed), (COUNT, 0), "{}: {outcome}", reader.name);
        assert!(outcome.counts.len() > 1, "{}: every attempt ends alike: {outcome}", reader.name);
    }
}

#[test]
fn files_of_the_corpus_are_read_whole() {
    for reader in READERS {
        let corpus = reader.corpus();
        assert!(!corpus.is_empty(), "{} has no corpus", reader.name);
        for (name, bytes) in corpus {
            (reader.read)(&bytes).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        }
    }
}
