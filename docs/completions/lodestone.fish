# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_lodestone_global_optspecs
    string join \n store= accept-damage color= units= h/help V/version
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

complete -c lodestone -n "__fish_lodestone_needs_command" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_needs_command" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_needs_command" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_needs_command" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_needs_command" -s V -l version -d 'Print version'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "run" -d 'Measure one or more places, interleaved, and compare them'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "targets" -d 'Show the storage that is here, down to the disks: everything that could be measured'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "suites" -d 'Show what can be run'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "list" -d 'List the runs that are kept'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "show" -d 'Show what a run came to'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "compare" -d 'Compare runs with each other, also of different machines'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "report" -d 'Write a run, or several compared, as a page with pictures that opens in any browser'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "export" -d 'Write a run as JSON, CSV, Markdown, one picture, or for InfluxDB or Prometheus'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "import" -d 'Make a run of what other storage benchmarks printed'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "crosscheck" -d 'Run the classic tools and Lodestone in turn on the same storage, and see whether their figures agree'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "clean" -d 'Find and remove what killed runs had to leave behind'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "selftest" -d 'Measure the generator itself: clock, timers, and the most that can be driven here'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "reindex" -d 'Make the index of runs anew from their logs'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "completions" -d 'Write a shell\'s completions to the standard output'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "man" -d 'Write the manual page to the standard output'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "schema" -d 'Write the JSON Schema of an export to the standard output'
complete -c lodestone -n "__fish_lodestone_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s s -l suite -d 'Suite to run: the name of a built-in suite, a TOML file, or - for standard input [default: quick; with --rw: the one workload that the options describe]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fio -d 'Run the jobs of a fio job file with Lodestone\'s own engines; without TARGET, the file names the targets. FILE may be - for standard input' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l via -d 'Have another program do the work of the steps, as far as it can; rounds, order and data stay Lodestone\'s' -r -f -a "fio\t'The fio that is installed'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rounds -d 'How often each step is repeated: a number, or auto, which goes on until every comparison is decided or precise enough, and no longer than the budget allows [default: the suite\'s, else auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l precision -d 'With rounds auto: half the width of an interval that is precise enough [default: 2%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l margin -d 'Targets that are less apart than this count as the same [default: 3%]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l summary -d 'How repeats are put into one figure' -r -f -a "mean\t'Their mean, with Student\'s interval'
median\t'Their median, with a bootstrap interval'
trimmed\t'Their mean without the best and the worst'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l budget -d 'Time for the whole run, layout of the test files included [default: the suite\'s, else 90s, for each target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l scale -d 'Make the times of all steps longer or shorter by this factor, such as 0.05, for who has not got a day' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l baseline -d 'Target that the others are compared with [default: the first]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l overwrite -d 'Allow a file or block device to be overwritten: repeat its path here, followed, separated by commas, by everything on it that would be destroyed. May be given several times. Write `\\,` for a comma in a name, unless the whole value is an existing path' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l seed -d 'Seed of everything random, to repeat a run exactly' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l telemetry -d 'How often to read what the machine does meanwhile (processors, devices, temperatures, other processes): a time from 100ms, or off [default: 1s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rw -d 'What is done, and in which order over the data [suite default: randread]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l stride -d 'For sequential work: bytes done in a row, and bytes left out after that (negative: gone back) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l spaced -d 'For sequential work: only so many blocks, evenly spaced from the start of the data to their end [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l mix-order -d 'How reads and writes of rw and randrw follow each other [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rwmixread -d 'Share of reads in rw and randrw [suite default: 50]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l update-percent -d 'For update and randupdate: share of the blocks read in which a byte is altered and which are written back [suite default: 100]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l bs -d 'Block size: bytes per operation, for each direction if they differ [suite default: 4KiB]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l bs-split -d 'Block sizes that are drawn, with their shares, instead of bs [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l bs-align -d 'With bs_split: random operations begin at multiples of this [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l call -d 'Bytes of one call, where a block is moved in several; it stays one operation [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l stream -d 'With call: buffer between the calls and the kernel, as streams of the C library have one [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l iodepth -d 'Operations that each job keeps in flight [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l jobs -d 'Workers that run at the same time, each with its own queue [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l size -d 'Size of the test data per target, all files together [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l files -d 'Files that the test data are spread over [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l file-set -d 'Which test data: sets of different numbers are different files [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l runtime -d 'Measured time of one repeat, after the ramp [suite default: 5s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l min-runtime -d 'What io_size, ops, loops or fresh files end is done again, its last sync too, until it has lasted so long [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l ramp -d 'Time at the start of each repeat that does not count [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l io-size -d 'Bytes after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l ops -d 'Operations after which a repeat ends, all jobs together [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l loops -d 'Passes over its part of the data after which a job ends [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l start-delay -d 'Time after the common start at which the jobs begin [suite default: 0s]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l thinktime -d 'Pause of a job after every operation, or after every N; operations in flight end first [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l flow -d 'Weight in the operations of a step where several workloads run beside each other [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l ends-all -d 'A job that has ended ends the others of the step too [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l steady -d 'A repeat may end before its time, as soon as a figure is steady [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l latency-target -d 'Queue depth is adjusted, up to iodepth, so that so many operations keep to a latency [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l engine -d 'How I/O is handed to the kernel [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l direct -d 'Bypass the page cache (O_DIRECT) [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l cache -d 'Page cache at the start of a buffered repeat [suite default: cold]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l prepare -d 'What the files are like before a repeat [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l once -d 'Do the step in the first round only, before all others, as what prepares the storage [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l distribution -d 'Which blocks random operations prefer [suite default: uniform]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l norandommap -d 'Draw random blocks with replacement instead of each once per pass [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l regions -d 'How jobs share the data [suite default: disjoint]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rate-iops -d 'Offered operations per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rate -d 'Offered bytes per second, all jobs together (open loop) [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l rate-process -d 'How operations arrive at a given rate [suite default: fixed]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l sync -d 'Open flag that makes every write durable [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fsync -d 'fsync after every N writes of a job; operations in flight end first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fsync-files -d 'What a periodic sync is of [suite default: written]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l fdatasync -d 'fdatasync after every N writes of a job; operations in flight end first [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l end-fsync -d 'One sync at the end of a repeat, inside the measured time; of work on names after each pass that changes them [suite default: auto]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l data -d 'What is written [suite default: random]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l compress -d 'Share of each written block that is zeros [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l dedupe -d 'Share of the written blocks that are all the same [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l verify -d 'Stamp every block with its place, generation and checksum, and check what is read [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l read-first -d 'What is read at its place before each operation, outside its latency and rate [suite default: none]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l keep-places -d 'Keep place and time of each operation in the log, the first 4096 of a kind in each repeat, for the position graph [suite default: false]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l interval -d 'Time covered by one record of the time series [suite default: 500ms]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l max-errors -d 'Failed operations after which a repeat is given up [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-ops -d 'For rw = metadata: the passes over all files, in this order [suite default: create,stat,open,unlink]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-files -d 'For rw = metadata: files per job [suite default: 1000]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-dirs -d 'For rw = metadata: directories per job over which the files are spread [suite default: 1]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-of -d 'For rw = metadata: what is created, looked up and removed [suite default: files]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-names -d 'For rw = metadata: what the names look like [suite default: numbered]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l metadata-order -d 'For rw = metadata: the order of all passes but the creating one [suite default: created]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l file-size -d 'For rw = metadata: bytes written into each file [suite default: 0]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l allow-unsafe-directory -d 'As root, also measure in a directory that another user owns, or that others can write to without a sticky bit'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l dry-run -d 'Show what would be done, and do nothing'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l json -d 'Write the result as JSON to the standard output, and nothing else'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l all-findings -d 'Show all findings, not only those of most weight'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l no-report -d 'Write no page with pictures'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s q -l quiet -d 'No progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l all -d 'Also show what hardly anybody would measure: empty devices, images, what programs mounted for themselves'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l json -d 'As JSON'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand targets" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -f -a "show" -d 'The text of a suite, as a start for one of your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -f -a "options" -d 'Every option that a suite may set, with its meaning, default and allowed values'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and not __fish_seen_subcommand_from show options help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from options" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "show" -d 'The text of a suite, as a start for one of your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "options" -d 'Every option that a suite may set, with its meaning, default and allowed values'
complete -c lodestone -n "__fish_lodestone_using_subcommand suites; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l json -d 'As JSON'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l summary -d 'How repeats are put into one figure' -r -f -a "mean\t'Their mean, with Student\'s interval'
median\t'Their median, with a bootstrap interval'
trimmed\t'Their mean without the best and the worst'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l baseline -d 'Target that the others are compared with [default: as in the run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l layout -d 'How the figures are laid out' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table over labels'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l rows -d 'With --layout matrix and scores: labels that make the rows (step, target, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step, with scores target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l columns -d 'With --layout matrix: labels that make the columns [default: target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l cell -d 'With --layout matrix and scores: headline, or operations between slashes, each with a metric behind a colon if it is not bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l telemetry -d 'Show what the machine did meanwhile instead of the result, step by step'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l all-findings -d 'Show all findings, not only those of most weight'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l margin -d 'Targets that are less apart than this count as the same [default: as in the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l baseline -d 'What the others are compared with, as RUN:TARGET [default: the first target of the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l by-hour -d 'Only whether speed depends on the hour of the day, for three runs or more of one plan'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l json -d 'As JSON'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -s o -l output -d 'HTML file to write, or - for standard output [default: a file in the store, named after the runs]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l summary -d 'How repeats are put into one figure' -r -f -a "mean\t'Their mean, with Student\'s interval'
median\t'Their median, with a bootstrap interval'
trimmed\t'Their mean without the best and the worst'"
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l baseline -d 'What the others are compared with: a target\'s name, with several runs RUN:TARGET [default: as in the first run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l force -d 'Overwrite FILE if it exists; a report written by Lodestone is overwritten without this flag'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l anonymous -d 'Replace the names of the host, targets, paths, servers and volumes by pseudonyms (constant within a store), omit the command line and all messages, and report what was replaced. The suite, step ids and titles are kept'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s f -l format -d 'The form' -r -f -a "json\t'Everything, by the published schema'
csv\t'One row per repeat and metric'
md\t'Tables and findings'
svg\t'One picture that can be drawn at any size'
png\t'One picture in pixels'
influx\t'One line of InfluxDB\'s protocol per repeat and metric'
prometheus\t'Estimates as gauges in Prometheus\' text format'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l picture -d 'Which picture, with --format svg or png, such as bars, timeline or latency-1 [default: the first]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l width -d 'How wide a picture is drawn; below 784 its parts stand below each other [default: 964]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l scale -d 'With --format png: pixels of the file for each that is drawn, 0.25 to 8 [default: 2]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l summary -d 'How repeats are put into one figure' -r -f -a "mean\t'Their mean, with Student\'s interval'
median\t'Their median, with a bootstrap interval'
trimmed\t'Their mean without the best and the worst'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l baseline -d 'Target that the others are compared with [default: as in the run]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l layout -d 'How the figures are laid out' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table over labels'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l rows -d 'With --layout matrix and scores: labels that make the rows (step, target, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step, with scores target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l columns -d 'With --layout matrix: labels that make the columns [default: target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l cell -d 'With --layout matrix and scores: headline, or operations between slashes, each with a metric behind a colon if it is not bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s o -l output -d 'File to write to [default: the standard output]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l dark -d 'With --format png: light on black. An svg follows its reader\'s light'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l telemetry -d 'What the machine did meanwhile instead of the result, step by step'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l places -d 'The places of single operations instead of the result, for runs that keep them, as CSV'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l anonymous -d 'Replace the names of the host, targets, paths, servers and volumes by pseudonyms (constant within a store), omit the command line and all messages, and report what was replaced. The suite, step ids and titles are kept'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l force -d 'Overwrite FILE if it exists'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l label -d 'Something true of all of them, such as host=node1' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l path-labels -d 'What the directories below PATH stand for, from the top down, such as device/machine; `-` for nothing [default: device, level2, level3, …]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l summary -d 'With --layout: how repeats are put into one figure' -r -f -a "mean\t'Their mean, with Student\'s interval'
median\t'Their median, with a bootstrap interval'
trimmed\t'Their mean without the best and the worst'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l layout -d 'How the figures are laid out' -r -f -a "steps\t'A table for each step, with findings'
matrix\t'One table over labels'
scores\t'One table with a row for each target, a column for each figure, the score last'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l rows -d 'With --layout matrix and scores: labels that make the rows (step, target, operation, bs, iodepth, jobs, rw, direct, tool, filesystem, device, and those of imported files) [default: step, with scores target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l columns -d 'With --layout matrix: labels that make the columns [default: target]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l cell -d 'With --layout matrix and scores: headline, or operations between slashes, each with a metric behind a colon if it is not bandwidth, such as write/read or read:lat_p99' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l again -d 'Import files again that an earlier import already contains: those with the same path and content'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l dry-run -d 'Show what would be imported, and keep nothing'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l with -d 'The tools: fio, sysbench, dd, hdparm, iozone, bonnie, ioping [default: all]' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l only -d 'Only these checks, such as fio-randread-d16 or dd-write-fsync; a part of one stands for the whole' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l rounds -d 'How often each is done by either' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l size -d 'Size of the test data of each' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l runtime -d 'Time of one repeat, where time ends it' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l seed -d 'Seed of everything random on Lodestone\'s side, and of the order' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s f -l format -d 'The form of the result' -r -f -a "text\t'Tables for the terminal'
md\t'Tables in Markdown'
json\t'Every figure, by the published schema'"
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l show -d 'Show a crosscheck that is kept, instead of making one' -r
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l allow-unsafe-directory -d 'As root, also measure in a directory that another user owns, or that others can write to without a sticky bit'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s q -l quiet -d 'No progress'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand crosscheck" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l dry-run -d 'Only show what is there'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand clean" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand selftest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand reindex" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand reindex" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand reindex" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand reindex" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand reindex" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l store -d 'Directory in which runs are kept [default: $XDG_DATA_HOME/lodestone, else ~/.local/share/lodestone]' -r -F
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l color -d 'Colours in tables and progress' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l units -d 'Powers for bytes: MB (10^6) or MiB (2^20)' -r -f -a "si\t'1 MB is 1,000,000 bytes'
iec\t'1 MiB is 1,048,576 bytes'"
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -l accept-damage -d 'Use every readable line of a damaged log, also after the first damaged line (show, compare, export, report)'
complete -c lodestone -n "__fish_lodestone_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "run" -d 'Measure one or more places, interleaved, and compare them'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "targets" -d 'Show the storage that is here, down to the disks: everything that could be measured'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "suites" -d 'Show what can be run'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "list" -d 'List the runs that are kept'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "show" -d 'Show what a run came to'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "compare" -d 'Compare runs with each other, also of different machines'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "report" -d 'Write a run, or several compared, as a page with pictures that opens in any browser'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "export" -d 'Write a run as JSON, CSV, Markdown, one picture, or for InfluxDB or Prometheus'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "import" -d 'Make a run of what other storage benchmarks printed'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "crosscheck" -d 'Run the classic tools and Lodestone in turn on the same storage, and see whether their figures agree'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "clean" -d 'Find and remove what killed runs had to leave behind'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "selftest" -d 'Measure the generator itself: clock, timers, and the most that can be driven here'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "reindex" -d 'Make the index of runs anew from their logs'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "completions" -d 'Write a shell\'s completions to the standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "man" -d 'Write the manual page to the standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "schema" -d 'Write the JSON Schema of an export to the standard output'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and not __fish_seen_subcommand_from run targets suites list show compare report export import crosscheck clean selftest reindex completions man schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from suites" -f -a "show" -d 'The text of a suite, as a start for one of your own'
complete -c lodestone -n "__fish_lodestone_using_subcommand help; and __fish_seen_subcommand_from suites" -f -a "options" -d 'Every option that a suite may set, with its meaning, default and allowed values'
