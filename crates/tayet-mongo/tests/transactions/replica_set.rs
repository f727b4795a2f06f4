//! A replica set that keeps nothing, and answers as a test tells it.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tayet_mongo::bson::{Bson, Document, doc, serialize_to_vec};

const OP_REPLY: i32 = 1;
const OP_QUERY: i32 = 2004;
const OP_MSG: i32 = 2013;
const HEADER_BYTES: usize = 16;

/// What was asked of it, in a few words: `insert 1 start` begins the session's transaction 1, `insert 1` goes on with it.
type Asked = Arc<Mutex<Vec<String>>>;
type Script = Arc<Mutex<dyn FnMut(&str) -> Document + Send>>;

pub(crate) struct ReplicaSet {
    pub(crate) uri: String,
    asked: Asked,
}

impl ReplicaSet {
    /// Starts it. `script` is given the name of each command that concerns transactions, and what it returns is the answer,
    /// which is a success where it does not say otherwise.
    pub(crate) fn start(script: impl FnMut(&str) -> Document + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let uri = format!("mongodb://{address}/bank?replicaSet=rs0");
        let (asked, script): (Asked, Script) = (Asked::default(), Arc::new(Mutex::new(script)));
        let set = Self { uri, asked: Arc::clone(&asked) };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let member = Member {
                    address: address.clone(),
                    asked: Arc::clone(&asked),
                    script: Arc::clone(&script),
                };
                thread::spawn(move || member.serve(stream));
            }
        });
        set
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

struct Member {
    address: String,
    asked: Asked,
    script: Script,
}

impl Member {
    /// Answers a client until it goes.
    fn serve(&self, mut stream: TcpStream) {
        while let Ok((id, operation, message)) = receive(&mut stream) {
            let reply = match operation {
                OP_QUERY => old_reply(&self.hello()),
                OP_MSG => reply(&self.answer(&message)),
                other => panic!("operation {other}"),
            };
            if send(&mut stream, id, &reply).is_err() {
                return;
            }
        }
    }

    fn answer(&self, message: &[u8]) -> Document {
        // Behind the flags comes the command's own section; documents to be inserted may follow in others.
        let command = Document::from_reader(&message[5..]).unwrap();
        let name = command.keys().next().unwrap().as_str();
        if ["hello", "isMaster"].contains(&name) {
            return self.hello();
        }
        let Ok(number) = command.get_i64("txnNumber") else { return doc! { "ok": 1 } };
        assert_eq!(command.get("autocommit"), Some(&Bson::Boolean(false)), "{command}");
        let start = if command.contains_key("startTransaction") { " start" } else { "" };
        self.asked.lock().unwrap().push(format!("{name} {number}{start}"));
        let mut answer = (self.script.lock().unwrap())(name);
        answer.entry("ok".to_owned()).or_insert(Bson::Int32(1));
        answer.entry("n".to_owned()).or_insert(Bson::Int32(1));
        answer
    }

    fn hello(&self) -> Document {
        doc! {
            "helloOk": true, "isWritablePrimary": true, "ismaster": true, "secondary": false,
            "setName": "rs0", "setVersion": 1, "hosts": [&self.address], "me": &self.address,
            "primary": &self.address, "logicalSessionTimeoutMinutes": 30, "maxBsonObjectSize": 16_777_216,
            "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "minWireVersion": 0,
            "maxWireVersion": 21, "ok": 1,
        }
    }
}

fn receive(stream: &mut TcpStream) -> io::Result<(i32, i32, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let [length, id, _, operation] =
        [0, 4, 8, 12].map(|at| i32::from_le_bytes(header[at..at + 4].try_into().unwrap()));
    let mut message = vec![0; usize::try_from(length).unwrap() - HEADER_BYTES];
    stream.read_exact(&mut message)?;
    Ok((id, operation, message))
}

fn send(stream: &mut TcpStream, answers: i32, (operation, message): &(i32, Vec<u8>)) -> io::Result<()> {
    let length = i32::try_from(HEADER_BYTES + message.len()).unwrap();
    let header = [length, 0, answers, *operation].map(i32::to_le_bytes);
    stream.write_all(&[header.as_flattened(), message].concat())
}

fn reply(document: &Document) -> (i32, Vec<u8>) {
    (OP_MSG, [vec![0; 5], serialize_to_vec(document).unwrap()].concat())
}

/// What a client's first question is answered with: flags, cursor and offset of no meaning, and one document.
fn old_reply(document: &Document) -> (i32, Vec<u8>) {
    (OP_REPLY, [vec![0; 16], 1_i32.to_le_bytes().to_vec(), serialize_to_vec(document).unwrap()].concat())
}
