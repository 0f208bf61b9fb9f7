COMMENT ON SCHEMA lodestone IS 'Runs of the storage benchmark Lodestone. Written by lodestone push; docs/reference/database.md describes it.';

CREATE TABLE lodestone.run (
    checksum bytea PRIMARY KEY CHECK (octet_length(checksum) = 32),
    id text NOT NULL,
    host text NOT NULL,
    suite text NOT NULL,
    plan text NOT NULL,
    started timestamptz NOT NULL,
    seconds double precision,
    state text NOT NULL,
    version text NOT NULL,
    is_imported boolean NOT NULL,
    is_anonymous boolean NOT NULL,
    answer text[] NOT NULL,
    pushed timestamptz NOT NULL DEFAULT now(),
    log bytea NOT NULL
);
-- A log is compressed already.
ALTER TABLE lodestone.run ALTER COLUMN log SET STORAGE EXTERNAL;
CREATE INDEX ON lodestone.run (id);
CREATE INDEX ON lodestone.run (started);
COMMENT ON TABLE lodestone.run IS 'One row for each run.';
COMMENT ON COLUMN lodestone.run.checksum IS 'SHA-256 of the log as text, not compressed. A log is in the database once.';
COMMENT ON COLUMN lodestone.run.id IS 'Id of the run, as lodestone list shows it.';
COMMENT ON COLUMN lodestone.run.host IS 'Names of the machines that were measured, separated by commas.';
COMMENT ON COLUMN lodestone.run.suite IS 'Name of the suite.';
COMMENT ON COLUMN lodestone.run.plan IS 'Id of the plan: runs with the same id did the same work.';
COMMENT ON COLUMN lodestone.run.started IS 'When the run began.';
COMMENT ON COLUMN lodestone.run.seconds IS 'How long it took; null if it was killed.';
COMMENT ON COLUMN lodestone.run.state IS 'completed, interrupted, failed, or killed.';
COMMENT ON COLUMN lodestone.run.version IS 'Version of Lodestone that measured.';
COMMENT ON COLUMN lodestone.run.is_imported IS 'Another program measured, and its output was imported.';
COMMENT ON COLUMN lodestone.run.is_anonymous IS 'It was pushed with --anonymous: names are pseudonyms.';
COMMENT ON COLUMN lodestone.run.answer IS 'The answer in sentences.';
COMMENT ON COLUMN lodestone.run.pushed IS 'When the run was pushed.';
COMMENT ON COLUMN lodestone.run.log IS 'The log as it is stored, usually compressed by gzip. Every other column and table follows from it.';

CREATE TABLE lodestone.target (
    run bytea NOT NULL REFERENCES lodestone.run ON DELETE CASCADE,
    host text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    path text NOT NULL,
    bytes bigint NOT NULL,
    filesystem text,
    device text,
    labels jsonb NOT NULL,
    stack jsonb NOT NULL
);
CREATE INDEX ON lodestone.target (run);
COMMENT ON TABLE lodestone.target IS 'What a run measured.';
COMMENT ON COLUMN lodestone.target.run IS 'Checksum of the run.';
COMMENT ON COLUMN lodestone.target.host IS 'Name of its machine.';
COMMENT ON COLUMN lodestone.target.name IS 'Its name in the run.';
COMMENT ON COLUMN lodestone.target.kind IS 'directory, file or block_device.';
COMMENT ON COLUMN lodestone.target.path IS 'Its path.';
COMMENT ON COLUMN lodestone.target.bytes IS 'Bytes of the filesystem, file or device.';
COMMENT ON COLUMN lodestone.target.filesystem IS 'Type of the filesystem, such as ext4 or nfs4.';
COMMENT ON COLUMN lodestone.target.device IS 'Models of the disks, separated by commas.';
COMMENT ON COLUMN lodestone.target.labels IS 'What the user said of it with --label.';
COMMENT ON COLUMN lodestone.target.stack IS 'Its layers from the top down, each with kind, name, level and facts.';

CREATE TABLE lodestone.measurement (
    run bytea NOT NULL REFERENCES lodestone.run ON DELETE CASCADE,
    host text NOT NULL,
    target text NOT NULL,
    step text NOT NULL,
    title text NOT NULL,
    operation text NOT NULL,
    metric text NOT NULL,
    unit text NOT NULL,
    value double precision NOT NULL,
    low double precision,
    high double precision,
    repeats integer NOT NULL,
    is_headline boolean NOT NULL,
    better text NOT NULL
);
CREATE INDEX ON lodestone.measurement (run);
CREATE INDEX ON lodestone.measurement (host, target, step, operation, metric);
COMMENT ON TABLE lodestone.measurement IS 'The figures of a run: each metric of each operation of each step on each target.';
COMMENT ON COLUMN lodestone.measurement.run IS 'Checksum of the run.';
COMMENT ON COLUMN lodestone.measurement.host IS 'Name of the machine.';
COMMENT ON COLUMN lodestone.measurement.target IS 'Name of the target.';
COMMENT ON COLUMN lodestone.measurement.step IS 'Id of the step.';
COMMENT ON COLUMN lodestone.measurement.title IS 'What the figure is of, such as random read (4 KiB, depth 1).';
COMMENT ON COLUMN lodestone.measurement.operation IS 'read, write, durable_write, sync, trim, create, open, stat, unlink or mixed.';
COMMENT ON COLUMN lodestone.measurement.metric IS 'Such as bandwidth, iops, lat_mean, lat_p50, lat_p99.';
COMMENT ON COLUMN lodestone.measurement.unit IS 'B/s, 1/s, ns, or 1 for shares and ratios.';
COMMENT ON COLUMN lodestone.measurement.value IS 'The estimate over the repeats.';
COMMENT ON COLUMN lodestone.measurement.low IS 'Lower end of its 95 % interval; null where there is none.';
COMMENT ON COLUMN lodestone.measurement.high IS 'Upper end of its 95 % interval; null where there is none.';
COMMENT ON COLUMN lodestone.measurement.repeats IS 'Number of repeats that it rests on.';
COMMENT ON COLUMN lodestone.measurement.is_headline IS 'It is the figure by which the operation is judged in this step.';
COMMENT ON COLUMN lodestone.measurement.better IS 'higher, lower or neither.';

CREATE TABLE lodestone.comparison (
    run bytea NOT NULL REFERENCES lodestone.run ON DELETE CASCADE,
    step text NOT NULL,
    operation text NOT NULL,
    metric text NOT NULL,
    target text NOT NULL,
    baseline text NOT NULL,
    ratio double precision NOT NULL,
    low double precision,
    high double precision,
    verdict text NOT NULL
);
CREATE INDEX ON lodestone.comparison (run);
COMMENT ON TABLE lodestone.comparison IS 'Each target of a run against the baseline of the run.';
COMMENT ON COLUMN lodestone.comparison.run IS 'Checksum of the run.';
COMMENT ON COLUMN lodestone.comparison.step IS 'Id of the step.';
COMMENT ON COLUMN lodestone.comparison.operation IS 'The operation.';
COMMENT ON COLUMN lodestone.comparison.metric IS 'The metric.';
COMMENT ON COLUMN lodestone.comparison.target IS 'The target that is compared.';
COMMENT ON COLUMN lodestone.comparison.baseline IS 'The target that it is compared with.';
COMMENT ON COLUMN lodestone.comparison.ratio IS 'Target divided by baseline.';
COMMENT ON COLUMN lodestone.comparison.low IS 'Lower end of its 95 % interval.';
COMMENT ON COLUMN lodestone.comparison.high IS 'Upper end of its 95 % interval.';
COMMENT ON COLUMN lodestone.comparison.verdict IS 'faster, slower, same or undecided.';

CREATE TABLE lodestone.finding (
    run bytea NOT NULL REFERENCES lodestone.run ON DELETE CASCADE,
    severity text NOT NULL,
    rule text NOT NULL,
    target text,
    step text,
    message text NOT NULL,
    advice text
);
CREATE INDEX ON lodestone.finding (run);
COMMENT ON TABLE lodestone.finding IS 'What the figures of a run mean.';
COMMENT ON COLUMN lodestone.finding.run IS 'Checksum of the run.';
COMMENT ON COLUMN lodestone.finding.severity IS 'info, warning or error.';
COMMENT ON COLUMN lodestone.finding.rule IS 'Name of the rule, see docs/reference/findings.md.';
COMMENT ON COLUMN lodestone.finding.target IS 'The target that it is about, if it is about one.';
COMMENT ON COLUMN lodestone.finding.step IS 'The step that it is about, if it is about one.';
COMMENT ON COLUMN lodestone.finding.message IS 'The finding in words.';
COMMENT ON COLUMN lodestone.finding.advice IS 'What to do, if anything.';

CREATE TABLE lodestone.verdict (
    run bytea NOT NULL REFERENCES lodestone.run ON DELETE CASCADE,
    profile text NOT NULL,
    target text NOT NULL,
    step text NOT NULL,
    operation text NOT NULL,
    metric text NOT NULL,
    unit text NOT NULL,
    bound text NOT NULL,
    bound_value double precision NOT NULL,
    value double precision,
    low double precision,
    high double precision,
    verdict text NOT NULL,
    message text NOT NULL
);
CREATE INDEX ON lodestone.verdict (run);
COMMENT ON TABLE lodestone.verdict IS 'What a run required of its targets (run --require), and whether they have it.';
COMMENT ON COLUMN lodestone.verdict.run IS 'Checksum of the run.';
COMMENT ON COLUMN lodestone.verdict.profile IS 'Name of the profile that requires it.';
COMMENT ON COLUMN lodestone.verdict.target IS 'Name of the target.';
COMMENT ON COLUMN lodestone.verdict.step IS 'Id of the step.';
COMMENT ON COLUMN lodestone.verdict.operation IS 'The operation.';
COMMENT ON COLUMN lodestone.verdict.metric IS 'The metric.';
COMMENT ON COLUMN lodestone.verdict.unit IS 'Unit of the metric.';
COMMENT ON COLUMN lodestone.verdict.bound IS 'at_most or at_least.';
COMMENT ON COLUMN lodestone.verdict.bound_value IS 'The limit.';
COMMENT ON COLUMN lodestone.verdict.value IS 'The figure; null where it was not measured.';
COMMENT ON COLUMN lodestone.verdict.low IS 'Lower end of its 95 % interval.';
COMMENT ON COLUMN lodestone.verdict.high IS 'Upper end of its 95 % interval.';
COMMENT ON COLUMN lodestone.verdict.verdict IS 'met, missed or undecided.';
COMMENT ON COLUMN lodestone.verdict.message IS 'The verdict in words.';

CREATE TABLE lodestone.change (
    host text NOT NULL,
    target text NOT NULL,
    step text NOT NULL,
    workload text NOT NULL,
    title text NOT NULL,
    operation text NOT NULL,
    metric text NOT NULL,
    run text NOT NULL,
    started timestamptz NOT NULL,
    ratio double precision NOT NULL,
    low double precision,
    high double precision,
    is_confirmed boolean NOT NULL,
    PRIMARY KEY (host, target, step, workload, operation, metric, run)
);
CREATE INDEX ON lodestone.change (started DESC);
COMMENT ON TABLE lodestone.change IS 'What changed from run to run, as lodestone history shows it: of each machine the last state that was pushed.';
COMMENT ON COLUMN lodestone.change.host IS 'Name of the machine.';
COMMENT ON COLUMN lodestone.change.target IS 'Name of the target.';
COMMENT ON COLUMN lodestone.change.step IS 'Id of the step.';
COMMENT ON COLUMN lodestone.change.workload IS 'Digest of what the step does.';
COMMENT ON COLUMN lodestone.change.title IS 'What the figure is of.';
COMMENT ON COLUMN lodestone.change.operation IS 'The operation.';
COMMENT ON COLUMN lodestone.change.metric IS 'The metric.';
COMMENT ON COLUMN lodestone.change.run IS 'Id of the first run after the change.';
COMMENT ON COLUMN lodestone.change.started IS 'When that run began.';
COMMENT ON COLUMN lodestone.change.ratio IS 'Figure after the change divided by the figure before it.';
COMMENT ON COLUMN lodestone.change.low IS 'Lower end of its 95 % interval.';
COMMENT ON COLUMN lodestone.change.high IS 'Upper end of its 95 % interval.';
COMMENT ON COLUMN lodestone.change.is_confirmed IS 'False while it is only suspected.';
