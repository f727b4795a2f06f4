//! What the arena is told on its command line.

use std::num::NonZeroUsize;

use clap::{Parser, ValueEnum};
use tayet::{Address, ExecutionModel, Server};

/// An application of small, exact endpoints for benchmarks and for tests over the wire.
#[derive(Debug, Parser)]
#[command(name = "arena", version)]
pub(crate) struct Options {
    /// Where to listen: 127.0.0.1:8080, [::1]:0, :8080 or unix:/run/arena.sock; may be given several times
    #[arg(long, value_name = "ADDRESS", default_value = tayet::DEFAULT_LISTEN)]
    listen: Vec<Address>,

    /// Which threads run handlers: task-pool[:MOST], thread-pool:THREADS or inline
    #[arg(long, value_name = "MODEL", default_value = "task-pool")]
    execution: ExecutionModel,

    /// How many event loops there are [default: the number of cores]
    #[arg(long, value_name = "COUNT")]
    loops: Option<NonZeroUsize>,

    /// How sockets are driven
    #[arg(long, value_enum, default_value_t = Io::Epoll)]
    io: Io,

    /// Expect a PROXY protocol header at the start of every connection
    #[arg(long)]
    proxy_protocol: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Io {
    Epoll,
    #[value(name = "io_uring")]
    IoUring,
}

impl Options {
    /// The server as it is told to be.
    pub(crate) fn apply(self, server: Server) -> tayet::Result<Server> {
        if self.io == Io::IoUring {
            return Err(
                std::io::Error::other("this version is built without io_uring; use --io epoll").into()
            );
        }
        let mut server = server.execution(self.execution).proxy_protocol(self.proxy_protocol);
        for address in self.listen {
            server = server.bind(address.to_string())?;
        }
        Ok(match self.loops {
            Some(loops) => server.loops(loops.get()),
            None => server,
        })
    }
}
