# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_lodestone_global_optspecs
    string join \n store= accept-damage color= units= v/verbose q/quiet h/help V/version
end

function __fish_lodestone_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_lodestone_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_lodestone_using_subcommand
    set -l cmd (__fish_lodestone_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c lodestone -n "__fish_lodestone_needs_command" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_needs_command" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_needs_command" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_needs_command" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_needs_command" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_needs_command" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_needs_command" -s V -l version -d 'Print version'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "run" -d 'Measure one or more targets, interleaved, and compare them'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "watch" -d 'Run again and again, and tell when something has changed'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "targets" -d 'Show this machine\'s storage, down to the disks: everything that can be measured'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "suites" -d 'List the suites, show one, or explain the options that a suite may set'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "profiles" -d 'List what storage can be required to be good enough for, or show one such profile'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "list" -d 'List the stored runs'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "show" -d 'Show the result of a run'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "compare" -d 'Compare runs, including runs of different machines'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "history" -d 'Tell what changed in the stored runs, when, and what changed of the machine at the same time'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "report" -d 'Write a run, or a comparison of several, as an HTML page with charts for any browser'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "site" -d 'Write pages of all runs, their machines and what changed, for any web server; only what is new is made'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "export" -d 'Export a run as JSON, CSV, Markdown or one chart, or for InfluxDB or Prometheus'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "import" -d 'Import the output of other storage benchmarks as a run'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "push" -d 'Write runs to a PostgreSQL database'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "pull" -d 'Read runs from a PostgreSQL database into the store'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "crosscheck" -d 'Run the classic tools and Lodestone in turn on the same storage, and check whether their figures agree'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "clean" -d 'Find and remove the leftovers of killed runs'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "agent" -d 'Do on this machine what a run on another one orders; `run HOST:PATH` starts it by itself'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "stack" -d 'Show how storage stacks are made, which there are, and remove those of killed runs'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "selftest" -d 'Measure the load generator itself: clock, timers and its highest rates on this machine'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "rm" -d 'Remove stored runs: their logs and their pages'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "completions" -d 'Write a shell\'s completions to standard output'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "man" -d 'Write the manual page to standard output'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "schema" -d 'Write the JSON Schema of an export to standard output'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l on -d 'Make storage stacks, measure them in turn, and remove them (root): where they are made, as image:SIZE for image files of this size each in the current directory, image:DIRECTORY:SIZE, or block devices by commas, which --overwrite must name too; HOST:GROUND is on another machine, which serves it to this one by iscsi, nvmet-tcp or nfs' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l stack -d 'The stacks to make, by commas, each from its lowest layer to its filesystem: ext4, luks+btrfs, \'raid1(luks)+xfs\', \'btrfs(compress=zstd:1)\'; `lodestone stack kinds` lists what they can be made of' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l makings -d 'Make each stack so many times, each time elsewhere, and measure these in turn: verdicts then allow for the luck of one making [default: 4 on disks that may rotate, whose regions are not equally fast, else 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l precondition -d 'What is done with each device or image first [default: discard where all disks can, else none]' -r -f -a "none\t'Nothing'
discard\t'What it had is discarded: flash is as if new'
write-once\t'It is written with random data'
write-twice\t'It is written twice, so that flash has used up its spare blocks'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s s -l suite -d 'Suite to run: the name of a built-in suite, a TOML file, or - for standard input; several, separated by commas, run as one [default: quick; with --rw: the one workload that the options describe]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l require -d 'Say whether the storage is good enough: profiles, or TOML files with [[require]], separated by commas. The exit code is 1 if one is missed; `lodestone profiles` lists them' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l against -d 'Measure what an earlier run measured, and say whether it is slower by more than the margin (--margin). RUN is an id, `last`, or the path of a log. Without TARGET, the same targets' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fio -d 'Run the jobs of a fio job file with Lodestone\'s own engines; without TARGET, the file names the targets. FILE may be - for standard input' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l only -d 'Run only these steps of the suite; a name stands for the step with this id, or for all whose ids begin with it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l skip -d 'Leave out these steps' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l via -d 'Run the steps with another program, as far as it can; Lodestone still controls rounds, order and data' -r -f -a "fio\t'The installed fio'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s n -l rounds -l repeats -d 'Number of repeats of each step, or auto: repeat until every comparison is decided or precise enough, within the budget [default: the suite\'s, else auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l precision -d 'With rounds auto: half-width of a confidence interval that is precise enough [default: 2%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l margin -d 'Targets that differ by less than this count as the same [default: 3%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l decide -d 'Ask for verdicts at this margin: the same as --rounds auto --margin PERCENT; after a few rounds the run tells how long it will take' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l budget -d 'Time for the whole run, including the layout of the test files [default: the suite\'s, else 90s for each target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l scale -d 'Multiply the times of all steps by this factor, such as 0.05' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l telemetry -d 'Period of the telemetry readings (processors, devices, temperatures, other processes): a time from 100ms, or off [default: 1s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l settle -d 'Longest wait before the first round for devices that are busy with other I/O; at most a tenth of the expected time of the run [default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l baseline -d 'Target that the others are compared with [default: the first]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l label -d 'Say something of all targets, such as encryption=luks, or of one, such as usb:encryption=luks: labels tell runs apart in tables, and what a label costs is computed' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l overwrite -d 'Allow a file or block device to be overwritten: repeat its path here, then name everything on it that would be destroyed, separated by commas. May be given several times. Write `\\,` for a comma in a name, unless the whole value is an existing path' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s i -l inventory -d 'Machines to choose from: an inventory of Ansible (INI, YAML, or what `ansible-inventory --list` prints), a file with a name in each line, - for standard input, or a list such as pi1,node[01-40] as Slurm has it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s l -l limit -d 'Measure this path on these machines of the inventory: names of machines or groups by commas, with *, !NAME leaves out. May be given several times. Groups and variables become labels' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l connect -d 'How another machine is reached: ssh with options, docker, podman, kubectl, lxc, srun, sudo, or a command with {host} for the machine; HOST=COMMAND for one machine. May be given several times [default: ssh]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l remote-program -d 'Lodestone\'s program on other machines: a path, or a name that their shells find' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l send-program -d 'Send this program, or FILE, to machines without the same version of it; it is gone from there at the end' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l clients -d 'Compare these numbers of clients, the first of the targets each: how the storage scales' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l seed -d 'Seed of all random numbers, to repeat a run exactly' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l push -d 'Push the run to this PostgreSQL database when it has ended, as `push` does; while the database is away, the run waits in a queue' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rw -d 'Operation and access pattern [suite default: randread]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l stride -d 'For sequential I/O: bytes accessed in a row, then bytes skipped (negative: backwards) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l spaced -d 'For sequential I/O: only N blocks, evenly spaced from the start to the end of the data [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l mix-order -d 'Order of reads and writes in rw and randrw [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rwmixread -d 'Share of reads in rw and randrw [suite default: 50]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l update-percent -d 'For update and randupdate: share of the blocks read that are modified (one byte) and written back [suite default: 100]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l bs -d 'Block size: bytes per operation, per direction if they differ [suite default: 4KiB]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l bs-split -d 'Block sizes to draw from, with their shares, instead of bs [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l bs-align -d 'With bs_split: alignment of random offsets [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l call -d 'Bytes per call when a block takes several; the block is still one operation [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l stream -d 'With call: buffer between the calls and the kernel, as in a C library stream (stdio) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l iodepth -d 'Operations that each job keeps in flight [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l jobs -l threads -l numjobs -d 'Concurrent workers, each with its own queue [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l size -d 'Size of the test data per target, all files together [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l files -d 'Number of files that hold the test data [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l file-set -d 'Number of the test data set; different numbers are different files [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l runtime -l time -d 'Longest measured time of one repeat, after the ramp: with rounds auto the run chooses shorter repeats where they decide sooner; =TIME is the time of every repeat [suite default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l min-runtime -d 'Shortest measured time: io_size, ops, loops and fresh files start again, with their last sync, until then [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l ramp -d 'Time at the start of each repeat that is not measured [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l io-size -d 'Bytes after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l ops -d 'Operations after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l loops -d 'Passes over its part of the data after which a job ends [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l start-delay -d 'Delay of the jobs after the common start [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l thinktime -d 'Pause of a job after every operation, or after every N; operations in flight complete first [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l flow -d 'Weight of the workload among the operations of a step with concurrent workloads [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l ends-all -d 'A job that ends also ends the other jobs of the step [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l steady -d 'End a repeat early, as soon as a figure is steady [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l latency-target -d 'Adjust the queue depth, up to iodepth, so that PERCENT of the operations complete within TIME [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l engine -l ioengine -d 'How I/O is submitted to the kernel [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l direct -d 'Bypass the page cache (O_DIRECT) [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l cache -d 'State of the page cache at the start of a buffered repeat [suite default: cold]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l prepare -d 'State of the files before a repeat [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l once -d 'Run the step only in the first round, before all others, as preconditioning [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l distribution -d 'Distribution of random operations over the blocks [suite default: uniform]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l norandommap -d 'Draw random blocks with replacement instead of each once per pass [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l regions -d 'How jobs share the data [suite default: disjoint]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rate-iops -d 'Offered operations per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rate -d 'Offered bytes per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rate-process -d 'How operations arrive at a given rate [suite default: fixed]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l sync -d 'Open flag that makes every write durable [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fsync -d 'fsync after every N writes of a job; operations in flight complete first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fsync-files -d 'Files that a periodic sync covers [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fdatasync -d 'fdatasync after every N writes of a job; operations in flight complete first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l end-fsync -d 'One sync at the end of a repeat, in the measured time; for metadata operations after each pass that changes names [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l data -d 'Content of written blocks [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l compress -d 'Share of each written block that is zeros [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l dedupe -d 'Share of the written blocks that are identical [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l verify -d 'Stamp every block with its offset, generation and checksum, and check what is read [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l read-first -d 'What is read at the same offset before each operation, outside its latency and rate [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l log-offset -d 'Log offset and time of each operation, the first 4096 of a kind in each repeat, for the position graph [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l buffers -d 'Pages of the memory that is read into and written from [suite default: huge]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l interval -d 'Time covered by one record of the time series [suite default: 500ms]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l max-errors -d 'Failed operations after which a repeat is aborted [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-ops -d 'For rw = metadata: passes over all files, in this order [suite default: create,stat,open,unlink]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-files -d 'For rw = metadata: files per job [suite default: 1000]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-dirs -d 'For rw = metadata: directories per job over which the files are spread [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-of -d 'For rw = metadata: what the passes create, look up and remove [suite default: files]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-names -d 'For rw = metadata: form of the names [suite default: numbered]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-order -d 'For rw = metadata: order of all passes except create [suite default: created]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l file-size -d 'For rw = metadata: bytes written into each file [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rwmixwrite -d 'Share of writes in a mix: 100 less --rwmixread' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l with-layers -d 'Make each stack also without its layers, and without each of them, to measure what they cost'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l by-region -d 'Measure what the regions of a disk are worth: one stack, made 8 times from its beginning to its end, or as --makings says'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l leave -d 'Leave the stacks as they stand, until `lodestone stack destroy` removes them'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l strict -d 'Also end with 1 if what is required is undecided'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l together -d 'Measure all targets at the same time, as clients of one storage: each repeat begins at one moment on all of them, and what counts is what they did together'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l allow-unsafe-directory -d 'As root, also measure in a directory that another user owns, or that others can write to without a sticky bit'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l dry-run -d 'Show what would be done, and do nothing'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l json -d 'Write only the result, as JSON, to standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l details -d 'Show the tables of every step, the circumstances and all findings, not only the answer'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l push-anonymous -d 'With --push: replace names with pseudonyms, as `push --anonymous` does'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l no-report -d 'Do not write the HTML report'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l every -d 'Measure once in each of these intervals, such as 1h or 30m' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l at -d 'Measure at these times of the day, such as 08:00,20:00' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l spread -d 'Each machine begins by a part of this time later, always the same one of its own, so that many do not begin at once [default: a tenth of the interval, 5m with --at]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l runs -d 'End after this many runs; those that are left out count' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l on-change -d 'Run this command by the shell when something has changed; LODESTONE_CHANGE has the sentence, LODESTONE_RUN the run' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l write-limit -d 'Leave a run out if more than this would be written within a day, by this and earlier runs on the same targets' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l max-temperature -d 'Leave a run out while a processor or the board is warmer than this' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l on -d 'Make storage stacks, measure them in turn, and remove them (root): where they are made, as image:SIZE for image files of this size each in the current directory, image:DIRECTORY:SIZE, or block devices by commas, which --overwrite must name too; HOST:GROUND is on another machine, which serves it to this one by iscsi, nvmet-tcp or nfs' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l stack -d 'The stacks to make, by commas, each from its lowest layer to its filesystem: ext4, luks+btrfs, \'raid1(luks)+xfs\', \'btrfs(compress=zstd:1)\'; `lodestone stack kinds` lists what they can be made of' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l makings -d 'Make each stack so many times, each time elsewhere, and measure these in turn: verdicts then allow for the luck of one making [default: 4 on disks that may rotate, whose regions are not equally fast, else 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l precondition -d 'What is done with each device or image first [default: discard where all disks can, else none]' -r -f -a "none\t'Nothing'
discard\t'What it had is discarded: flash is as if new'
write-once\t'It is written with random data'
write-twice\t'It is written twice, so that flash has used up its spare blocks'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s s -l suite -d 'Suite to run: the name of a built-in suite, a TOML file, or - for standard input; several, separated by commas, run as one [default: quick; with --rw: the one workload that the options describe]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l require -d 'Say whether the storage is good enough: profiles, or TOML files with [[require]], separated by commas. The exit code is 1 if one is missed; `lodestone profiles` lists them' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l against -d 'Measure what an earlier run measured, and say whether it is slower by more than the margin (--margin). RUN is an id, `last`, or the path of a log. Without TARGET, the same targets' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l fio -d 'Run the jobs of a fio job file with Lodestone\'s own engines; without TARGET, the file names the targets. FILE may be - for standard input' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l only -d 'Run only these steps of the suite; a name stands for the step with this id, or for all whose ids begin with it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l skip -d 'Leave out these steps' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l via -d 'Run the steps with another program, as far as it can; Lodestone still controls rounds, order and data' -r -f -a "fio\t'The installed fio'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s n -l rounds -l repeats -d 'Number of repeats of each step, or auto: repeat until every comparison is decided or precise enough, within the budget [default: the suite\'s, else auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l precision -d 'With rounds auto: half-width of a confidence interval that is precise enough [default: 2%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l margin -d 'Targets that differ by less than this count as the same [default: 3%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l decide -d 'Ask for verdicts at this margin: the same as --rounds auto --margin PERCENT; after a few rounds the run tells how long it will take' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l budget -d 'Time for the whole run, including the layout of the test files [default: the suite\'s, else 90s for each target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l scale -d 'Multiply the times of all steps by this factor, such as 0.05' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l telemetry -d 'Period of the telemetry readings (processors, devices, temperatures, other processes): a time from 100ms, or off [default: 1s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l settle -d 'Longest wait before the first round for devices that are busy with other I/O; at most a tenth of the expected time of the run [default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l baseline -d 'Target that the others are compared with [default: the first]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l label -d 'Say something of all targets, such as encryption=luks, or of one, such as usb:encryption=luks: labels tell runs apart in tables, and what a label costs is computed' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l overwrite -d 'Allow a file or block device to be overwritten: repeat its path here, then name everything on it that would be destroyed, separated by commas. May be given several times. Write `\\,` for a comma in a name, unless the whole value is an existing path' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s i -l inventory -d 'Machines to choose from: an inventory of Ansible (INI, YAML, or what `ansible-inventory --list` prints), a file with a name in each line, - for standard input, or a list such as pi1,node[01-40] as Slurm has it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s l -l limit -d 'Measure this path on these machines of the inventory: names of machines or groups by commas, with *, !NAME leaves out. May be given several times. Groups and variables become labels' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l connect -d 'How another machine is reached: ssh with options, docker, podman, kubectl, lxc, srun, sudo, or a command with {host} for the machine; HOST=COMMAND for one machine. May be given several times [default: ssh]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l remote-program -d 'Lodestone\'s program on other machines: a path, or a name that their shells find' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l send-program -d 'Send this program, or FILE, to machines without the same version of it; it is gone from there at the end' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l clients -d 'Compare these numbers of clients, the first of the targets each: how the storage scales' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l seed -d 'Seed of all random numbers, to repeat a run exactly' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l push -d 'Push the run to this PostgreSQL database when it has ended, as `push` does; while the database is away, the run waits in a queue' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l rw -d 'Operation and access pattern [suite default: randread]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l stride -d 'For sequential I/O: bytes accessed in a row, then bytes skipped (negative: backwards) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l spaced -d 'For sequential I/O: only N blocks, evenly spaced from the start to the end of the data [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l mix-order -d 'Order of reads and writes in rw and randrw [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l rwmixread -d 'Share of reads in rw and randrw [suite default: 50]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l update-percent -d 'For update and randupdate: share of the blocks read that are modified (one byte) and written back [suite default: 100]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l bs -d 'Block size: bytes per operation, per direction if they differ [suite default: 4KiB]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l bs-split -d 'Block sizes to draw from, with their shares, instead of bs [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l bs-align -d 'With bs_split: alignment of random offsets [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l call -d 'Bytes per call when a block takes several; the block is still one operation [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l stream -d 'With call: buffer between the calls and the kernel, as in a C library stream (stdio) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l iodepth -d 'Operations that each job keeps in flight [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l jobs -l threads -l numjobs -d 'Concurrent workers, each with its own queue [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l size -d 'Size of the test data per target, all files together [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l files -d 'Number of files that hold the test data [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l file-set -d 'Number of the test data set; different numbers are different files [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l runtime -l time -d 'Longest measured time of one repeat, after the ramp: with rounds auto the run chooses shorter repeats where they decide sooner; =TIME is the time of every repeat [suite default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l min-runtime -d 'Shortest measured time: io_size, ops, loops and fresh files start again, with their last sync, until then [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l ramp -d 'Time at the start of each repeat that is not measured [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l io-size -d 'Bytes after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l ops -d 'Operations after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l loops -d 'Passes over its part of the data after which a job ends [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l start-delay -d 'Delay of the jobs after the common start [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l thinktime -d 'Pause of a job after every operation, or after every N; operations in flight complete first [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l flow -d 'Weight of the workload among the operations of a step with concurrent workloads [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l ends-all -d 'A job that ends also ends the other jobs of the step [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l steady -d 'End a repeat early, as soon as a figure is steady [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l latency-target -d 'Adjust the queue depth, up to iodepth, so that PERCENT of the operations complete within TIME [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l engine -l ioengine -d 'How I/O is submitted to the kernel [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l direct -d 'Bypass the page cache (O_DIRECT) [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l cache -d 'State of the page cache at the start of a buffered repeat [suite default: cold]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l prepare -d 'State of the files before a repeat [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l once -d 'Run the step only in the first round, before all others, as preconditioning [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l distribution -d 'Distribution of random operations over the blocks [suite default: uniform]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l norandommap -d 'Draw random blocks with replacement instead of each once per pass [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l regions -d 'How jobs share the data [suite default: disjoint]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l rate-iops -d 'Offered operations per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l rate -d 'Offered bytes per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l rate-process -d 'How operations arrive at a given rate [suite default: fixed]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l sync -d 'Open flag that makes every write durable [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l fsync -d 'fsync after every N writes of a job; operations in flight complete first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l fsync-files -d 'Files that a periodic sync covers [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l fdatasync -d 'fdatasync after every N writes of a job; operations in flight complete first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l end-fsync -d 'One sync at the end of a repeat, in the measured time; for metadata operations after each pass that changes names [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l data -d 'Content of written blocks [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l compress -d 'Share of each written block that is zeros [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l dedupe -d 'Share of the written blocks that are identical [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l verify -d 'Stamp every block with its offset, generation and checksum, and check what is read [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l read-first -d 'What is read at the same offset before each operation, outside its latency and rate [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l log-offset -d 'Log offset and time of each operation, the first 4096 of a kind in each repeat, for the position graph [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l buffers -d 'Pages of the memory that is read into and written from [suite default: huge]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l interval -d 'Time covered by one record of the time series [suite default: 500ms]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l max-errors -d 'Failed operations after which a repeat is aborted [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l metadata-ops -d 'For rw = metadata: passes over all files, in this order [suite default: create,stat,open,unlink]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l metadata-files -d 'For rw = metadata: files per job [suite default: 1000]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l metadata-dirs -d 'For rw = metadata: directories per job over which the files are spread [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l metadata-of -d 'For rw = metadata: what the passes create, look up and remove [suite default: files]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l metadata-names -d 'For rw = metadata: form of the names [suite default: numbered]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l metadata-order -d 'For rw = metadata: order of all passes except create [suite default: created]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l file-size -d 'For rw = metadata: bytes written into each file [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l rwmixwrite -d 'Share of writes in a mix: 100 less --rwmixread' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l now -d 'Make the first run at once: what a timer starts'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l until-change -d 'End with exit code 1 as soon as something has changed'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l even-if-busy -d 'Measure also while the machine is busy'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l with-layers -d 'Make each stack also without its layers, and without each of them, to measure what they cost'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l by-region -d 'Measure what the regions of a disk are worth: one stack, made 8 times from its beginning to its end, or as --makings says'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l leave -d 'Leave the stacks as they stand, until `lodestone stack destroy` removes them'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l strict -d 'Also end with 1 if what is required is undecided'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l together -d 'Measure all targets at the same time, as clients of one storage: each repeat begins at one moment on all of them, and what counts is what they did together'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l allow-unsafe-directory -d 'As root, also measure in a directory that another user owns, or that others can write to without a sticky bit'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l dry-run -d 'Show what would be done, and do nothing'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l json -d 'Write only the result, as JSON, to standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l details -d 'Show the tables of every step, the circumstances and all findings, not only the answer'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l push-anonymous -d 'With --push: replace names with pseudonyms, as `push --anonymous` does'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l no-report -d 'Do not write the HTML report'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -a "install" -d 'Have systemd watch: for the user, or for the system if root installs it. Without systemd, print a line for cron'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -a "list" -d 'List what systemd watches'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -a "remove" -d 'Have systemd watch it no longer'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and not __fish_seen_subcommand_from install list remove help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l name -d 'Name of the units: lodestone-watch-NAME' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l every -d 'Measure once in each of these intervals, such as 1h or 30m' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l at -d 'Measure at these times of the day, such as 08:00,20:00' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l spread -d 'Each machine begins by a part of this time later, always the same one of its own, so that many do not begin at once [default: a tenth of the interval, 5m with --at]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l runs -d 'End after this many runs; those that are left out count' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l on-change -d 'Run this command by the shell when something has changed; LODESTONE_CHANGE has the sentence, LODESTONE_RUN the run' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l write-limit -d 'Leave a run out if more than this would be written within a day, by this and earlier runs on the same targets' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l max-temperature -d 'Leave a run out while a processor or the board is warmer than this' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l on -d 'Make storage stacks, measure them in turn, and remove them (root): where they are made, as image:SIZE for image files of this size each in the current directory, image:DIRECTORY:SIZE, or block devices by commas, which --overwrite must name too; HOST:GROUND is on another machine, which serves it to this one by iscsi, nvmet-tcp or nfs' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l stack -d 'The stacks to make, by commas, each from its lowest layer to its filesystem: ext4, luks+btrfs, \'raid1(luks)+xfs\', \'btrfs(compress=zstd:1)\'; `lodestone stack kinds` lists what they can be made of' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l makings -d 'Make each stack so many times, each time elsewhere, and measure these in turn: verdicts then allow for the luck of one making [default: 4 on disks that may rotate, whose regions are not equally fast, else 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l precondition -d 'What is done with each device or image first [default: discard where all disks can, else none]' -r -f -a "none\t'Nothing'
discard\t'What it had is discarded: flash is as if new'
write-once\t'It is written with random data'
write-twice\t'It is written twice, so that flash has used up its spare blocks'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s s -l suite -d 'Suite to run: the name of a built-in suite, a TOML file, or - for standard input; several, separated by commas, run as one [default: quick; with --rw: the one workload that the options describe]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l require -d 'Say whether the storage is good enough: profiles, or TOML files with [[require]], separated by commas. The exit code is 1 if one is missed; `lodestone profiles` lists them' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l against -d 'Measure what an earlier run measured, and say whether it is slower by more than the margin (--margin). RUN is an id, `last`, or the path of a log. Without TARGET, the same targets' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l fio -d 'Run the jobs of a fio job file with Lodestone\'s own engines; without TARGET, the file names the targets. FILE may be - for standard input' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l only -d 'Run only these steps of the suite; a name stands for the step with this id, or for all whose ids begin with it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l skip -d 'Leave out these steps' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l via -d 'Run the steps with another program, as far as it can; Lodestone still controls rounds, order and data' -r -f -a "fio\t'The installed fio'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s n -l rounds -l repeats -d 'Number of repeats of each step, or auto: repeat until every comparison is decided or precise enough, within the budget [default: the suite\'s, else auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l precision -d 'With rounds auto: half-width of a confidence interval that is precise enough [default: 2%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l margin -d 'Targets that differ by less than this count as the same [default: 3%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l decide -d 'Ask for verdicts at this margin: the same as --rounds auto --margin PERCENT; after a few rounds the run tells how long it will take' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l budget -d 'Time for the whole run, including the layout of the test files [default: the suite\'s, else 90s for each target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l scale -d 'Multiply the times of all steps by this factor, such as 0.05' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l telemetry -d 'Period of the telemetry readings (processors, devices, temperatures, other processes): a time from 100ms, or off [default: 1s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l settle -d 'Longest wait before the first round for devices that are busy with other I/O; at most a tenth of the expected time of the run [default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l baseline -d 'Target that the others are compared with [default: the first]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l label -d 'Say something of all targets, such as encryption=luks, or of one, such as usb:encryption=luks: labels tell runs apart in tables, and what a label costs is computed' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l overwrite -d 'Allow a file or block device to be overwritten: repeat its path here, then name everything on it that would be destroyed, separated by commas. May be given several times. Write `\\,` for a comma in a name, unless the whole value is an existing path' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s i -l inventory -d 'Machines to choose from: an inventory of Ansible (INI, YAML, or what `ansible-inventory --list` prints), a file with a name in each line, - for standard input, or a list such as pi1,node[01-40] as Slurm has it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s l -l limit -d 'Measure this path on these machines of the inventory: names of machines or groups by commas, with *, !NAME leaves out. May be given several times. Groups and variables become labels' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l connect -d 'How another machine is reached: ssh with options, docker, podman, kubectl, lxc, srun, sudo, or a command with {host} for the machine; HOST=COMMAND for one machine. May be given several times [default: ssh]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l remote-program -d 'Lodestone\'s program on other machines: a path, or a name that their shells find' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l send-program -d 'Send this program, or FILE, to machines without the same version of it; it is gone from there at the end' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l clients -d 'Compare these numbers of clients, the first of the targets each: how the storage scales' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l seed -d 'Seed of all random numbers, to repeat a run exactly' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l push -d 'Push the run to this PostgreSQL database when it has ended, as `push` does; while the database is away, the run waits in a queue' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l rw -d 'Operation and access pattern [suite default: randread]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l stride -d 'For sequential I/O: bytes accessed in a row, then bytes skipped (negative: backwards) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l spaced -d 'For sequential I/O: only N blocks, evenly spaced from the start to the end of the data [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l mix-order -d 'Order of reads and writes in rw and randrw [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l rwmixread -d 'Share of reads in rw and randrw [suite default: 50]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l update-percent -d 'For update and randupdate: share of the blocks read that are modified (one byte) and written back [suite default: 100]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l bs -d 'Block size: bytes per operation, per direction if they differ [suite default: 4KiB]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l bs-split -d 'Block sizes to draw from, with their shares, instead of bs [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l bs-align -d 'With bs_split: alignment of random offsets [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l call -d 'Bytes per call when a block takes several; the block is still one operation [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l stream -d 'With call: buffer between the calls and the kernel, as in a C library stream (stdio) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l iodepth -d 'Operations that each job keeps in flight [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l jobs -l threads -l numjobs -d 'Concurrent workers, each with its own queue [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l size -d 'Size of the test data per target, all files together [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l files -d 'Number of files that hold the test data [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l file-set -d 'Number of the test data set; different numbers are different files [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l runtime -l time -d 'Longest measured time of one repeat, after the ramp: with rounds auto the run chooses shorter repeats where they decide sooner; =TIME is the time of every repeat [suite default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l min-runtime -d 'Shortest measured time: io_size, ops, loops and fresh files start again, with their last sync, until then [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l ramp -d 'Time at the start of each repeat that is not measured [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l io-size -d 'Bytes after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l ops -d 'Operations after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l loops -d 'Passes over its part of the data after which a job ends [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l start-delay -d 'Delay of the jobs after the common start [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l thinktime -d 'Pause of a job after every operation, or after every N; operations in flight complete first [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l flow -d 'Weight of the workload among the operations of a step with concurrent workloads [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l ends-all -d 'A job that ends also ends the other jobs of the step [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l steady -d 'End a repeat early, as soon as a figure is steady [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l latency-target -d 'Adjust the queue depth, up to iodepth, so that PERCENT of the operations complete within TIME [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l engine -l ioengine -d 'How I/O is submitted to the kernel [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l direct -d 'Bypass the page cache (O_DIRECT) [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l cache -d 'State of the page cache at the start of a buffered repeat [suite default: cold]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l prepare -d 'State of the files before a repeat [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l once -d 'Run the step only in the first round, before all others, as preconditioning [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l distribution -d 'Distribution of random operations over the blocks [suite default: uniform]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l norandommap -d 'Draw random blocks with replacement instead of each once per pass [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l regions -d 'How jobs share the data [suite default: disjoint]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l rate-iops -d 'Offered operations per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l rate -d 'Offered bytes per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l rate-process -d 'How operations arrive at a given rate [suite default: fixed]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l sync -d 'Open flag that makes every write durable [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l fsync -d 'fsync after every N writes of a job; operations in flight complete first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l fsync-files -d 'Files that a periodic sync covers [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l fdatasync -d 'fdatasync after every N writes of a job; operations in flight complete first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l end-fsync -d 'One sync at the end of a repeat, in the measured time; for metadata operations after each pass that changes names [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l data -d 'Content of written blocks [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l compress -d 'Share of each written block that is zeros [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l dedupe -d 'Share of the written blocks that are identical [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l verify -d 'Stamp every block with its offset, generation and checksum, and check what is read [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l read-first -d 'What is read at the same offset before each operation, outside its latency and rate [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l log-offset -d 'Log offset and time of each operation, the first 4096 of a kind in each repeat, for the position graph [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l buffers -d 'Pages of the memory that is read into and written from [suite default: huge]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l interval -d 'Time covered by one record of the time series [suite default: 500ms]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l max-errors -d 'Failed operations after which a repeat is aborted [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l metadata-ops -d 'For rw = metadata: passes over all files, in this order [suite default: create,stat,open,unlink]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l metadata-files -d 'For rw = metadata: files per job [suite default: 1000]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l metadata-dirs -d 'For rw = metadata: directories per job over which the files are spread [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l metadata-of -d 'For rw = metadata: what the passes create, look up and remove [suite default: files]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l metadata-names -d 'For rw = metadata: form of the names [suite default: numbered]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l metadata-order -d 'For rw = metadata: order of all passes except create [suite default: created]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l file-size -d 'For rw = metadata: bytes written into each file [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l rwmixwrite -d 'Share of writes in a mix: 100 less --rwmixread' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l now -d 'Make the first run at once: what a timer starts'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l until-change -d 'End with exit code 1 as soon as something has changed'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l even-if-busy -d 'Measure also while the machine is busy'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l with-layers -d 'Make each stack also without its layers, and without each of them, to measure what they cost'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l by-region -d 'Measure what the regions of a disk are worth: one stack, made 8 times from its beginning to its end, or as --makings says'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l leave -d 'Leave the stacks as they stand, until `lodestone stack destroy` removes them'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l strict -d 'Also end with 1 if what is required is undecided'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l together -d 'Measure all targets at the same time, as clients of one storage: each repeat begins at one moment on all of them, and what counts is what they did together'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l allow-unsafe-directory -d 'As root, also measure in a directory that another user owns, or that others can write to without a sticky bit'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l dry-run -d 'Show what would be done, and do nothing'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l json -d 'Write only the result, as JSON, to standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l details -d 'Show the tables of every step, the circumstances and all findings, not only the answer'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l push-anonymous -d 'With --push: replace names with pseudonyms, as `push --anonymous` does'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l no-report -d 'Do not write the HTML report'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from help" -f -a "install" -d 'Have systemd watch: for the user, or for the system if root installs it. Without systemd, print a line for cron'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from help" -f -a "list" -d 'List what systemd watches'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Have systemd watch it no longer'
complete -c lodestone -n "__fish_lodestone_using_subcommand watch; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l all -d 'Also show storage that is rarely measured: empty devices, images, and what programs mounted for themselves'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l health -d 'Show only the health of the disks, the worst first: SMART and NVMe wear, temperature, errors and hours, and whether arrays are complete'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l explain -d 'Show what is behind the paths, such as which volume of which cloud, with the evidence: what the firmware and the disks say of themselves, and latency, limits and burst credit from stored runs'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l json -d 'Print JSON, with the health'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -f -a "list" -d 'List the suites'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -f -a "show" -d 'Print the text of a suite, as a starting point for your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -f -a "options" -d 'List every option that a suite may set, with its meaning, default and allowed values'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from list show options help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the suites'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the text of a suite, as a starting point for your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "options" -d 'List every option that a suite may set, with its meaning, default and allowed values'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -f -a "list" -d 'List the profiles with what they require'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -f -a "show" -d 'Print the text of a profile, with the sources of its limits, as a starting point for your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and not __fish_seen_subcommand_from list show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the profiles with what they require'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the text of a profile, with the sources of its limits, as a starting point for your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand profiles; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -s n -l limit -d 'Show only the last N of the runs' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l host -d 'Only runs of this machine' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -s s -l suite -d 'Only runs of this suite' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l since -d 'Only runs that began on this day or later (2026-11-24), or within this time (7d, 12h)' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l json -d 'Print JSON'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l baseline -d 'Target that the others are compared with [default: as in the run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l layout -d 'Layout of the figures' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table with labels as rows and columns'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l rows -d 'With --layout matrix and scores: labels of the rows (step, target, run, host, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step; with scores, target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l columns -d 'With --layout matrix: labels of the columns [default: target; of several runs also host, or run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l cell -d 'With --layout matrix and scores: headline, or operations separated by slashes, each followed by a colon and a metric unless that is bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l telemetry -d 'Show the telemetry of each step instead of the result'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l details -d 'Show the tables of every step, the circumstances and all findings, not only the answer'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l pairs -d 'Compare every target with every other, not only with the baseline'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l json -d 'Show the result as JSON, as `export` does'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l margin -d 'Targets that differ by less than this count as the same [default: as in the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l baseline -d 'Baseline of the comparison, as RUN:TARGET [default: the first target of the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l layout -d 'Layout of the figures' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table with labels as rows and columns'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l rows -d 'With --layout matrix and scores: labels of the rows (step, target, run, host, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step; with scores, target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l columns -d 'With --layout matrix: labels of the columns [default: target; of several runs also host, or run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l cell -d 'With --layout matrix and scores: headline, or operations separated by slashes, each followed by a colon and a metric unless that is bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l details -d 'Show the tables of every step, too, not only the answer'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l pairs -d 'Compare every target with every other, not only with the baseline'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l by-hour -d 'Show only whether speed depends on the hour of the day, for three or more runs of one plan'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l json -d 'Print JSON'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l host -d 'Only runs on this machine' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l suite -d 'Only runs of this suite' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l since -d 'Only runs since then: a date such as 2026-11-24, or a time before now such as 90d or 12h' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l target -d 'Only targets of this name, by commas' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l step -d 'Only these steps, by commas: ids, or the beginnings of ids that a sweep made' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l label -d 'Only targets with this label; may be given several times' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l metric -d 'Follow this metric, such as lat_p99, instead of the figure that the tables show' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -s f -l format -d 'Output format' -r -f -a "text\t'Sentences and a table for the terminal'
json\t'Every value and change, in the published schema'
influx\t'Each figure as it is now and its changes, in InfluxDB\'s line protocol'
prometheus\t'Each figure as it is now and its changes, as gauges in Prometheus\' text format'"
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l by-hour -d 'Show whether speed depends on the hour of the day'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l by-weekday -d 'Show whether speed depends on the day of the week'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l json -d 'Print JSON: the same as --format json'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -s o -l output -d 'HTML file to write, or - for standard output [default: a file in the store, named after the runs]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l margin -d 'With several runs: targets that differ by less than this count as the same [default: as in the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l baseline -d 'Baseline of the comparison: a target\'s name; with several runs, RUN:TARGET [default: as in the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l force -d 'Overwrite FILE if it exists; a report written by Lodestone is overwritten without this flag'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l anonymous -d 'Replace the names of the host, targets, paths, servers and volumes with pseudonyms (constant within a store), omit the command line and all messages, and report what was replaced. The suite, step ids and titles remain'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l from -d 'Store with runs: a directory, or HOST: for the store of another machine (HOST:PATH if it is elsewhere there), whose new runs are copied to this one first. May be given several times [default: the store]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l connect -d 'How another machine is reached: ssh with options, docker, podman, kubectl, lxc, srun, sudo, or a command with {host} for the machine; HOST=COMMAND for one machine. May be given several times [default: ssh]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l remote-program -d 'Lodestone\'s program on other machines: a path, or a name that their shells find' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l send-program -d 'Send this program, or FILE, to machines without the same version of it; it is gone from there at the end' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l title -d 'Title of the first page' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l again -d 'Make every page again, also those that are up to date'
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand site" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s f -l format -d 'Output format' -r -f -a "json\t'Everything, in the published schema'
csv\t'One row per repeat and metric'
md\t'Tables and findings'
svg\t'One chart as vector graphics'
png\t'One chart in pixels'
influx\t'One line of InfluxDB line protocol per repeat and metric, and per requirement'
prometheus\t'Estimates and verdicts as gauges in Prometheus\' text format'
junit\t'What was required of the storage as JUnit XML, for build servers'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l chart -d 'With --format svg and png: the chart, such as bars, timeline or latency-1 [default: the first]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l width -d 'Width of a chart; below 784, its parts are stacked [default: 964]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l scale -d 'With --format png: pixels of the file per pixel of --width, 0.25 to 8 [default: 2]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l baseline -d 'Target that the others are compared with [default: as in the run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l layout -d 'Layout of the figures' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table with labels as rows and columns'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l rows -d 'With --layout matrix and scores: labels of the rows (step, target, run, host, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step; with scores, target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l columns -d 'With --layout matrix: labels of the columns [default: target; of several runs also host, or run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l cell -d 'With --layout matrix and scores: headline, or operations separated by slashes, each followed by a colon and a metric unless that is bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s o -l output -d 'File to write [default: standard output]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l dark -d 'With --format png: light on black. An SVG follows the viewer\'s colour scheme'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l telemetry -d 'Export the telemetry of each step instead of the result'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l offsets -d 'Export offset, size and latency of each operation instead of the result, as CSV, for runs that log them'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l anonymous -d 'Replace the names of the host, targets, paths, servers and volumes with pseudonyms (constant within a store), omit the command line and all messages, and report what was replaced. The suite, step ids and titles remain'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l force -d 'Overwrite FILE if it exists'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l label -d 'Label of all results, such as host=node1' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l path-labels -d 'Labels of the directory levels below PATH, from the top down, such as device/machine; `-` for no label, `repeat` for repeats of one target [default: device, level2, level3, …, but parts such as run1 or 2024-05-01 are repeats]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l summary -d 'How repeats are summarised in one figure' -r -f -a "mean\t'The mean, with Student\'s t interval'
median\t'The median, with a bootstrap interval'
trimmed\t'The mean without the best and the worst repeat'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l layout -d 'Layout of the figures' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table with labels as rows and columns'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l rows -d 'With --layout matrix and scores: labels of the rows (step, target, run, host, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step; with scores, target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l columns -d 'With --layout matrix: labels of the columns [default: target; of several runs also host, or run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l cell -d 'With --layout matrix and scores: headline, or operations separated by slashes, each followed by a colon and a metric unless that is bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l again -d 'Import files again that an earlier import contains: those with the same path and content'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l dry-run -d 'Show what would be imported, and store nothing'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l details -d 'Show the tables of every step, the circumstances and all findings, not only the answer'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -l to -d 'Address of the PostgreSQL database' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -l anonymous -d 'Replace the names of the host, targets, paths, servers and volumes with pseudonyms (constant within a store), omit the command line and all messages, in the log, too, and report what was replaced. The suite, step ids and titles remain'
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand push" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -l from -d 'Address of the PostgreSQL database' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand pull" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l with -d 'Tools to compare with: fio, sysbench, dd, hdparm, iozone, bonnie, ioping [default: all]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l only -d 'Run only these checks, such as fio-randread-d16 or dd-write-fsync, or only these steps of a check, such as bonnie-seeks' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l rounds -d 'Number of repeats of each check, by the tool and by Lodestone [default: until its rates are decided, or the budget ends]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l budget -d 'How long to go on at most [default: 30m, without --rounds]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l size -d 'Size of the test data of each check' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l runtime -d 'Runtime of one repeat, for checks that end by time' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l seed -d 'Seed of Lodestone\'s random numbers and of the order' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s f -l format -d 'Output format' -r -f -a "text\t'Tables for the terminal'
md\t'Tables in Markdown'
json\t'Every figure, in the published schema'"
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l show -d 'Show a stored crosscheck instead of running one' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l allow-unsafe-directory -d 'As root, also measure in a directory that another user owns, or that others can write to without a sticky bit'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l dry-run -d 'Only list the leftovers'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand agent" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -f -a "plan" -d 'Show the commands that `run` with the same --on and --stack carries out, and those that undo them'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -f -a "list" -d 'List the stacks of this machine: those of runs in progress, and those that killed runs left'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -f -a "destroy" -d 'Remove stacks that killed runs left'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -f -a "kinds" -d 'List what stacks can be made of, and what is missing here'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and not __fish_seen_subcommand_from plan list destroy kinds help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l on -d 'Where the stacks are made: image:SIZE, image:DIRECTORY:SIZE, or block devices by commas; with HOST: before it, on another machine' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l stack -d 'The stacks, by commas' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l makings -d 'Make each stack so many times, each time elsewhere, and measure these in turn: verdicts then allow for the luck of one making [default: 4 on disks that may rotate, whose regions are not equally fast, else 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l precondition -d 'What is done with each device or image first [default: discard where all disks can, else none]' -r -f -a "none\t'Nothing'
discard\t'What it had is discarded: flash is as if new'
write-once\t'It is written with random data'
write-twice\t'It is written twice, so that flash has used up its spare blocks'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l connect -d 'How another machine is reached: ssh with options, docker, podman, kubectl, lxc, srun, sudo, or a command with {host} for the machine; HOST=COMMAND for one machine. May be given several times [default: ssh]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l remote-program -d 'Lodestone\'s program on other machines: a path, or a name that their shells find' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l send-program -d 'Send this program, or FILE, to machines without the same version of it; it is gone from there at the end' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l with-layers -d 'Make each stack also without its layers, and without each of them, to measure what they cost'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l by-region -d 'Measure what the regions of a disk are worth: one stack, made 8 times from its beginning to its end, or as --makings says'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -l all -d 'All that no run in progress uses'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from destroy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from kinds" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show the commands that `run` with the same --on and --stack carries out, and those that undo them'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the stacks of this machine: those of runs in progress, and those that killed runs left'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from help" -f -a "destroy" -d 'Remove stacks that killed runs left'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from help" -f -a "kinds" -d 'List what stacks can be made of, and what is missing here'
complete -c lodestone -n "__fish_lodestone_using_subcommand stack; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l install -d 'Instead say what is missing on this machine for which use, and how to get it'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -l dry-run -d 'Only list what would be removed'
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l store -d 'Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l color -d 'When to use colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l units -d 'Unit prefixes for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'
as-published\t'Rates of imported results in the unit in which they were printed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l accept-damage -d 'Use every readable line of a damaged log, including those after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -s v -l verbose -d 'After an error, print the errors that caused it; with --version, what this program is built from'
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -s q -l quiet -d 'Do not show progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "run" -d 'Measure one or more targets, interleaved, and compare them'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "watch" -d 'Run again and again, and tell when something has changed'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "targets" -d 'Show this machine\'s storage, down to the disks: everything that can be measured'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "suites" -d 'List the suites, show one, or explain the options that a suite may set'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "profiles" -d 'List what storage can be required to be good enough for, or show one such profile'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "list" -d 'List the stored runs'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "show" -d 'Show the result of a run'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "compare" -d 'Compare runs, including runs of different machines'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "history" -d 'Tell what changed in the stored runs, when, and what changed of the machine at the same time'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "report" -d 'Write a run, or a comparison of several, as an HTML page with charts for any browser'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "site" -d 'Write pages of all runs, their machines and what changed, for any web server; only what is new is made'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "export" -d 'Export a run as JSON, CSV, Markdown or one chart, or for InfluxDB or Prometheus'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "import" -d 'Import the output of other storage benchmarks as a run'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "push" -d 'Write runs to a PostgreSQL database'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "pull" -d 'Read runs from a PostgreSQL database into the store'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "crosscheck" -d 'Run the classic tools and Lodestone in turn on the same storage, and check whether their figures agree'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "clean" -d 'Find and remove the leftovers of killed runs'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "agent" -d 'Do on this machine what a run on another one orders; `run HOST:PATH` starts it by itself'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "stack" -d 'Show how storage stacks are made, which there are, and remove those of killed runs'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "selftest" -d 'Measure the load generator itself: clock, timers and its highest rates on this machine'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "rm" -d 'Remove stored runs: their logs and their pages'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "completions" -d 'Write a shell\'s completions to standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "man" -d 'Write the manual page to standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "schema" -d 'Write the JSON Schema of an export to standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run watch targets suites profiles list show compare history report site export import push pull crosscheck clean agent stack selftest rm completions man schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from watch" -f -a "install" -d 'Have systemd watch: for the user, or for the system if root installs it. Without systemd, print a line for cron'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from watch" -f -a "list" -d 'List what systemd watches'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from watch" -f -a "remove" -d 'Have systemd watch it no longer'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from suites" -f -a "list" -d 'List the suites'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from suites" -f -a "show" -d 'Print the text of a suite, as a starting point for your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from suites" -f -a "options" -d 'List every option that a suite may set, with its meaning, default and allowed values'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from profiles" -f -a "list" -d 'List the profiles with what they require'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from profiles" -f -a "show" -d 'Print the text of a profile, with the sources of its limits, as a starting point for your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from stack" -f -a "plan" -d 'Show the commands that `run` with the same --on and --stack carries out, and those that undo them'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from stack" -f -a "list" -d 'List the stacks of this machine: those of runs in progress, and those that killed runs left'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from stack" -f -a "destroy" -d 'Remove stacks that killed runs left'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from stack" -f -a "kinds" -d 'List what stacks can be made of, and what is missing here'
