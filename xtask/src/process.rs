//! Running other programs: without a standard input, within a time limit, and never left behind.

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGINT, SIGTERM};

const POLL_INTERVAL_MS: u64 = 20;

/// Runs programs, each in a process group of its own, so that a limit or Ctrl-C ends their children too.
pub(crate) struct Runner {
    interrupted: Arc<AtomicBool>,
}

impl Runner {
    /// A runner that from now on takes SIGINT and SIGTERM as the wish to end the running program.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self { interrupted })
    }

    /// Runs `command` to its end; an error says why it failed, overran `limit` or was interrupted.
    pub(crate) fn run(&self, command: &mut Command, limit: Duration) -> anyhow::Result<()> {
        let shown = show(command);
        println!("$ {}{shown}", show_variables(command));
        let mut child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        let status = self.wait(&mut child, limit).with_context(|| format!("`{shown}`"))?;
        ensure!(status.success(), "`{shown}` failed ({status})");
        Ok(())
    }

    fn wait(&self, child: &mut Child, limit: Duration) -> anyhow::Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if self.interrupted.load(Ordering::Relaxed) {
                end_group(child)?;
                bail!("interrupted");
            }
            if Instant::now() >= deadline {
                end_group(child)?;
                bail!("not done after {} s", limit.as_secs());
            }
            thread::sleep(Duration::from_millis(POLL_INTERVAL_MS));
        }
    }

    /// Whether the user has asked to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Does all of `jobs` at once, each to its end; an error is the first one's that failed, in their order.
pub(crate) fn side_by_side(jobs: &[&(dyn Fn() -> anyhow::Result<()> + Sync)]) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> = jobs.iter().map(|job| scope.spawn(job)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })
}

/// `command` with what others leave of the cores.
pub(crate) fn behind_others(command: &Command) -> Command {
    let mut nice = Command::new("nice");
    nice.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        nice.current_dir(directory);
    }
    nice
}

/// What `command` writes to its standard output; an error carries what it wrote to its standard error.
pub(crate) fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let shown = show(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{shown}`"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{shown}` failed ({}): {}", output.status, complaint.trim());
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` did not write UTF-8"))
}

/// Whether `command` can be started and succeeds; what it prints is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn end_group(child: &mut Child) -> anyhow::Result<()> {
    // The child is not reaped yet, so its id still names its own group.
    kill_process_group(Pid::from_child(child), Signal::KILL)?;
    child.wait()?;
    Ok(())
}

fn show(command: &Command) -> String {
    let mut shown = command.get_program().display().to_string();
    for argument in command.get_args() {
        let _ = write!(shown, " {}", argument.display());
    }
    shown
}

/// The variables that the command gets beside those of this process; `PATH` would only hide the others.
fn show_variables(command: &Command) -> String {
    let mut shown = String::new();
    for (name, value) in command.get_envs().filter(|(name, _)| *name != "PATH") {
        if let Some(value) = value {
            let _ = write!(shown, "{}={:?} ", name.display(), value.display().to_string());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const A_MINUTE: Duration = Duration::from_secs(60);

    fn runner() -> Runner {
        Runner { interrupted: Arc::new(AtomicBool::new(false)) }
    }

    #[test]
    fn success_is_ok_and_failure_names_the_command() {
        runner().run(&mut Command::new("true"), A_MINUTE).unwrap();
        let error = runner().run(&mut Command::new("false"), A_MINUTE).unwrap_err();
        assert_eq!(error.to_string(), "`false` failed (exit status: 1)");
    }

    #[test]
    fn a_command_past_its_limit_is_ended() {
        let error = runner().run(Command::new("sleep").arg("600"), Duration::ZERO).unwrap_err();
        assert_eq!(error.root_cause().to_string(), "not done after 0 s");
    }

    #[test]
    fn a_command_behind_others_is_the_same_one_with_less_priority() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $(nice):$PWD:$VALUE:$USER"]);
        command.current_dir("/").env("VALUE", "1").env_remove("USER");
        let niceness = |command: &mut Command| {
            let output = output_of(command).unwrap();
            output
                .trim()
                .strip_suffix(":/:1:")
                .expect("the same directory and variables")
                .parse::<i32>()
                .unwrap()
        };
        let before = niceness(&mut command);
        assert_eq!(niceness(&mut behind_others(&command)), (before + 10).min(19));
    }

    #[test]
    fn an_interrupt_ends_the_command() {
        let runner = runner();
        runner.interrupted.store(true, Ordering::Relaxed);
        let error = runner.run(Command::new("sleep").arg("600"), A_MINUTE).unwrap_err();
        assert_eq!(error.root_cause().to_string(), "interrupted");
    }

    #[test]
    fn all_jobs_are_done_and_the_first_failure_is_told() {
        let done = AtomicBool::new(false);
        let fail = |why: &'static str| bail!(why);
        let succeed = || {
            done.store(true, Ordering::Relaxed);
            Ok(())
        };
        let error = side_by_side(&[&|| fail("first"), &|| fail("second"), &succeed]).unwrap_err();
        assert_eq!(error.to_string(), "first");
        assert!(done.load(Ordering::Relaxed));
        side_by_side(&[&succeed, &succeed]).unwrap();
    }

    #[test]
    fn output_is_returned_and_a_complaint_is_kept() {
        assert_eq!(output_of(Command::new("echo").arg("x")).unwrap(), "x\n");
        let error = output_of(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().ends_with("(exit status: 3): why"), "{error}");
    }

    #[test]
    fn a_command_is_shown_with_what_sets_it_apart() {
        let mut command = Command::new("cargo");
        command.args(["test", "--lib"]).env("RUSTFLAGS", "--cfg loom").env("PATH", "/bin");
        assert_eq!(show(&command), "cargo test --lib");
        assert_eq!(show_variables(&command), "RUSTFLAGS=\"--cfg loom\" ");
    }

    #[test]
    fn a_missing_program_does_not_succeed() {
        assert!(!succeeds(&mut Command::new("no-such-program-anywhere")));
    }
}
