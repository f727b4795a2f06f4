//! Clients' addresses as an environ's texts.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Ports and addresses that are remembered. A connection's requests have both in common, and a proxy's connections the address.
const PORTS: usize = 512;
const IPS: usize = 16;

/// The texts of the addresses that were seen last.
#[derive(Default)]
pub(crate) struct Peers {
    ips: Texts<IpAddr, IPS>,
    ports: Texts<u16, PORTS>,
}

impl Peers {
    pub(crate) fn ip<'py>(&self, py: Python<'py>, ip: IpAddr) -> Bound<'py, PyString> {
        let last_byte = match ip {
            IpAddr::V4(ip) => ip.octets()[3],
            IpAddr::V6(ip) => ip.octets()[15],
        };
        let slot = usize::from(last_byte) % IPS;
        self.ips.get(py, slot, ip, || PyString::new(py, &ip.to_canonical().to_string()))
    }

    pub(crate) fn port<'py>(&self, py: Python<'py>, port: u16) -> Bound<'py, PyString> {
        // Most clients' ports are even.
        let slot = usize::from(port / 2) % PORTS;
        self.ports.get(py, slot, port, || PyString::new(py, itoa::Buffer::new().format(port)))
    }
}

/// Texts that are remembered, each in its slot.
struct Texts<T, const SLOTS: usize>(Mutex<[Option<Text<T>>; SLOTS]>);

/// What a text was made of, and the text.
type Text<T> = (T, Py<PyString>);

impl<T, const SLOTS: usize> Default for Texts<T, SLOTS> {
    fn default() -> Self {
        Self(Mutex::new([const { None }; SLOTS]))
    }
}

impl<T: Copy + PartialEq, const SLOTS: usize> Texts<T, SLOTS> {
    fn get<'py>(
        &self,
        py: Python<'py>,
        slot: usize,
        of: T,
        make: impl FnOnce() -> Bound<'py, PyString>,
    ) -> Bound<'py, PyString> {
        // Nothing is made under the lock, as in `Environ::begin`.
        let known =
            self.lock()[slot].as_ref().filter(|known| known.0 == of).map(|known| known.1.bind(py).clone());
        known.unwrap_or_else(|| {
            let text = make();
            let before = self.lock()[slot].replace((of, text.clone().unbind()));
            drop(before);
            text
        })
    }

    fn lock(&self) -> MutexGuard<'_, [Option<Text<T>>; SLOTS]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
