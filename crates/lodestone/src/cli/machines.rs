//! The flags of a run about other machines.

use std::ffi::OsString;

use clap::Args;

const MACHINES: &str = "Other machines";

/// Other machines: which, how they are reached, and whether they work together.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Machines to choose from: an inventory of Ansible (INI, YAML, or what `ansible-inventory --list` prints), a file with a name in
    /// each line, - for standard input, or a list such as pi1,node[01-40] as Slurm has it
    #[arg(long, short, hide_short_help = true, value_name = "FILE|LIST", help_heading = MACHINES)]
    pub inventory: Option<OsString>,

    /// Measure this path on these machines of the inventory: names of machines or groups by commas, with *, !NAME leaves out. May
    /// be given several times. Groups and variables become labels
    #[arg(long, short, hide_short_help = true, value_name = "GROUP:PATH", requires = "inventory", help_heading = MACHINES)]
    pub limit: Vec<String>,

    /// How the other machines are reached.
    #[command(flatten)]
    pub reach: ReachArgs,

    /// Measure all targets at the same time, as clients of one storage: each repeat begins at one moment on all of them, and what
    /// counts is what they did together
    #[arg(long, hide_short_help = true, help_heading = MACHINES, conflicts_with_all = [
        "stack", "leave", "with_layers", "makings", "by_region", "precondition", "via",
    ])]
    pub together: bool,

    /// Compare these numbers of clients, the first of the targets each: how the storage scales
    #[arg(long, hide_short_help = true, value_name = "N,N…", value_delimiter = ',', requires = "together", conflicts_with_all = ["stack", "via"],
          value_parser = clap::value_parser!(u32).range(1..), help_heading = MACHINES)]
    pub clients: Vec<u32>,
}

/// How other machines are reached.
#[derive(Debug, Default, Args)]
pub struct ReachArgs {
    /// How another machine is reached: ssh with options, docker, podman, kubectl, lxc, srun, sudo, or a command with {host} for the
    /// machine; HOST=COMMAND for one machine. May be given several times [default: ssh]
    #[arg(long, hide_short_help = true, value_name = "[HOST=]COMMAND", help_heading = MACHINES)]
    pub connect: Vec<String>,

    /// Lodestone's program on other machines: a path, or a name that their shells find
    #[arg(long, hide_short_help = true, value_name = "PROGRAM", default_value = "lodestone", help_heading = MACHINES)]
    pub remote_program: String,

    /// Send this program, or FILE, to machines without the same version of it; it is gone from there at the end
    #[arg(long, hide_short_help = true, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = "", help_heading = MACHINES)]
    pub send_program: Option<OsString>,
}
