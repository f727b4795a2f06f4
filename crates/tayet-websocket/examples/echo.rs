//! A WebSocket server that sends back what it gets, in as few lines as blocking sockets allow:
//!
//!     cargo run --release -p tayet-websocket --example echo -- 127.0.0.1:9001
//!
//! It has no time-outs, no limit on connections and hardly an HTTP parser: it shows how the crate is used, and
//! conformance suites can talk to it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use tayet_websocket::{
    CloseFrame, Codec, DeflateAgreement, DeflateSettings, Event, Offer, Receiver, Role, Sender,
};

const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
const MAX_HEAD_BYTES: u64 = 16 * 1024;

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9001".to_owned());
    let listener = TcpListener::bind(address)?;
    println!("ws://{}", listener.local_addr()?);
    for socket in listener.incoming() {
        let socket = socket?;
        thread::spawn(move || {
            if let Err(error) = serve(socket) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

fn serve(socket: TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 * 1024, &socket);
    let Some(deflate) = shake_hands(&mut reader, &socket)? else { return Ok(()) };
    Echo {
        receiver: Receiver::new(Role::Server, deflate),
        sender: Sender::new(Role::Server, deflate),
        codec: Codec::new(),
        out: Vec::new(),
    }
    .run(&mut reader, &socket)
}

/// Answers the request; what was agreed on, if it opens a WebSocket.
fn shake_hands(
    reader: &mut impl BufRead,
    mut socket: &TcpStream,
) -> std::io::Result<Option<Option<DeflateAgreement>>> {
    let lines = reader.take(MAX_HEAD_BYTES).lines();
    let head = lines.take_while(|line| !line.as_ref().is_ok_and(String::is_empty));
    let head = head.collect::<Result<Vec<_>, _>>()?;
    let (request_line, fields) = head.split_first().ok_or(ErrorKind::UnexpectedEof)?;
    let (method, _) = request_line.split_once(' ').ok_or(ErrorKind::InvalidData)?;
    let values = |name: &str| -> Vec<&[u8]> {
        let fields = fields.iter().filter_map(|line| line.split_once(':'));
        let wanted = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        wanted.map(|(_, value)| value.trim().as_bytes()).collect()
    };
    let offer = match Offer::read(method, request_line.ends_with("HTTP/1.1"), values) {
        Ok(offer) => offer,
        Err(refusal) => {
            write!(
                socket,
                "HTTP/1.1 {} {refusal}\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                 Connection: close\r\n\r\n",
                refusal.status()
            )?;
            return Ok(None);
        }
    };
    let deflate = offer.negotiate_deflate(&DeflateSettings::default());
    let extensions = deflate
        .as_ref()
        .map(|(_, answer)| format!("Sec-WebSocket-Extensions: {answer}\r\n"))
        .unwrap_or_default();
    write!(
        socket,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n{extensions}\r\n",
        offer.accept()
    )?;
    Ok(Some(deflate.map(|(agreement, _)| agreement)))
}

struct Echo {
    receiver: Receiver,
    sender: Sender,
    codec: Codec,
    /// What is to be sent.
    out: Vec<u8>,
}

impl Echo {
    fn run(&mut self, reader: &mut impl BufRead, mut socket: &TcpStream) -> std::io::Result<()> {
        loop {
            let mut input = reader.fill_buf()?;
            if input.is_empty() {
                return Ok(());
            }
            let length = input.len();
            let is_open = self.answer(&mut input, socket)?;
            socket.write_all(&self.out)?;
            self.out.clear();
            if !is_open {
                return linger(reader, socket);
            }
            reader.consume(length);
        }
    }

    /// Answers all of `input`; whether more may come.
    fn answer(&mut self, input: &mut &[u8], mut socket: &TcpStream) -> std::io::Result<bool> {
        loop {
            match self.receiver.receive(input, MAX_MESSAGE_BYTES, &mut self.codec) {
                Ok(None) => return Ok(true),
                Ok(Some(Event::Message(message))) => {
                    if let Some(tail) = self.sender.message(&message, &mut self.codec, &mut self.out) {
                        socket.write_all(&self.out)?;
                        socket.write_all(&tail)?;
                        self.out.clear();
                    }
                }
                Ok(Some(Event::Ping(payload))) => self.sender.pong(&payload, &mut self.out),
                Ok(Some(Event::Pong(_))) => {}
                Ok(Some(Event::Close(frame))) => {
                    let answer = frame.map(|frame| CloseFrame::from(frame.code()));
                    self.sender.close(answer.as_ref(), &mut self.out);
                    return Ok(false);
                }
                Err(failure) => {
                    let frame = CloseFrame::new(failure.code(), failure.reason());
                    self.sender.close(Some(&frame), &mut self.out);
                    return Ok(false);
                }
            }
        }
    }
}

/// Reads on until the peer has closed: to close with unread input would reset the connection, and the close
/// frame could be lost.
fn linger(reader: &mut impl Read, socket: &TcpStream) -> std::io::Result<()> {
    socket.shutdown(std::net::Shutdown::Write)?;
    match std::io::copy(reader, &mut std::io::sink()) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
        outcome => outcome.map(drop),
    }
}
