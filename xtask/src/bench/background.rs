//! A program that runs beside the harness and never outlives it.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

const POLL_INTERVAL_MS: u64 = 5;
/// How long a program may take to end of its own will before it is killed.
const END_LIMIT_MS: u64 = 2_000;

/// A running program. It stays in the harness's session: the kernel's scheduler shares the cores among sessions, which
/// would give servers and load tails of hundreds of milliseconds.
pub(crate) struct Background {
    child: Child,
    program: String,
}

impl Background {
    /// Starts `command` without a standard input.
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// Starts `command` with pipes to its standard input and from its standard output.
    pub(crate) fn start_with_pipes(command: &mut Command) -> anyhow::Result<(Self, ChildStdin, ChildStdout)> {
        let mut this = Self::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let input = this.child.stdin.take().context("the standard input is no pipe")?;
        let output = this.child.stdout.take().context("the standard output is no pipe")?;
        Ok((this, input, output))
    }

    fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let program = command.get_program().display().to_string();
        let child = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
        Ok(Self { child, program })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the program ended, if it has.
    pub(super) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Waits for the end; past `limit`, the program is ended, which is an error.
    pub(crate) fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        if let Some(status) = self.wait_until(Instant::now() + limit)? {
            return Ok(status);
        }
        self.stop()?;
        bail!("`{}` was not done after {} s", self.program, limit.as_secs_f64())
    }

    /// What the program has written to a standard output that its command made a pipe, up to its end.
    pub(super) fn output(&mut self) -> anyhow::Result<String> {
        let pipe = self.child.stdout.take().context("the standard output is no pipe")?;
        Ok(io::read_to_string(pipe)?)
    }

    /// Asks for the end; false if it does not come soon.
    pub(super) fn ends_when_asked(&mut self) -> anyhow::Result<bool> {
        if self.ended()?.is_some() {
            return Ok(true);
        }
        self.signal(Signal::TERM)?;
        let status = self.wait_until(Instant::now() + Duration::from_millis(END_LIMIT_MS))?;
        Ok(status.is_some())
    }

    /// Asks for the end, and forces it when it does not come soon.
    fn stop(&mut self) -> anyhow::Result<()> {
        if !self.ends_when_asked()? {
            self.child.kill()?;
            self.child.wait()?;
        }
        Ok(())
    }

    fn wait_until(&mut self, deadline: Instant) -> anyhow::Result<Option<ExitStatus>> {
        loop {
            let status = self.ended()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(POLL_INTERVAL_MS));
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("bench: cannot end `{}` (process {}): {error:#}", self.program, self.pid());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn is_running(pid: u32) -> bool {
        Path::new(&format!("/proc/{pid}")).exists()
    }

    #[test]
    fn a_dropped_program_has_ended() {
        let sleeper = Background::start(Command::new("sleep").arg("600")).unwrap();
        let pid = sleeper.pid();
        assert!(is_running(pid));
        drop(sleeper);
        assert!(!is_running(pid));
    }

    #[test]
    fn a_program_that_ignores_the_wish_is_killed() {
        let script = "trap '' TERM; touch \"$0\"; while :; do sleep 0.01; done";
        let mark = std::env::temp_dir().join(format!("xtask-background-{}", std::process::id()));
        let mut stubborn = Background::start(Command::new("sh").args(["-c", script]).arg(&mark)).unwrap();
        while !mark.exists() {
            thread::sleep(Duration::from_millis(1));
        }
        stubborn.stop().unwrap();
        assert!(!stubborn.ended().unwrap().unwrap().success());
        std::fs::remove_file(mark).unwrap();
    }

    #[test]
    fn output_is_there_after_the_end() {
        let mut echo = Background::start(Command::new("echo").arg("x").stdout(Stdio::piped())).unwrap();
        assert!(echo.wait(Duration::from_secs(60)).unwrap().success());
        assert_eq!(echo.output().unwrap(), "x\n");
    }

    #[test]
    fn past_the_limit_is_an_error() {
        let mut sleeper = Background::start(Command::new("sleep").arg("600")).unwrap();
        let error = sleeper.wait(Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "`sleep` was not done after 0 s");
        assert!(sleeper.ended().unwrap().is_some());
    }
}
