//! What a server answers to a request.

use anyhow::{Context, bail};

const MAX_FIELDS: usize = 32;

pub struct Answer {
    pub status: u16,
    fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Nothing while there is more to come.
    pub fn parse(received: &[u8]) -> anyhow::Result<Option<Self>> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut head = httparse::Response::new(&mut fields);
        let httparse::Status::Complete(head_bytes) = head.parse(received)? else { return Ok(None) };
        let status = head.code.context("the answer has no status")?;
        let fields = head
            .headers
            .iter()
            .map(|field| Ok((field.name.to_ascii_lowercase(), String::from_utf8(field.value.to_vec())?)));
        let mut answer = Self { status, fields: fields.collect::<anyhow::Result<_>>()?, body: Vec::new() };
        let body_bytes = match answer.field("content-length") {
            Some(length) => length.parse()?,
            None if status == 204 => 0,
            None => bail!("an answer of {status} has no length"),
        };
        let Some(body) = received[head_bytes..].get(..body_bytes) else { return Ok(None) };
        answer.body = body.to_vec();
        Ok(Some(answer))
    }

    /// The field's value; `name` in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Fails unless the status is `expected`.
    pub fn require(&self, expected: u16) -> anyhow::Result<()> {
        if self.status == expected {
            return Ok(());
        }
        bail!("it answered {} instead of {expected}: {}", self.status, String::from_utf8_lossy(&self.body));
    }
}
