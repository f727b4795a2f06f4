//! What an application has to say about uploads.

use std::fmt;

use tayet::{Request, Result};

use crate::{Finished, Upload, UploadId};

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Begin an upload.
    Create,
    /// Ask how far an upload is.
    Look(UploadId),
    /// Add to an upload.
    Write(UploadId),
    /// Remove an upload.
    Terminate(UploadId),
    /// Read the figures.
    Stats,
}

type Authorize = Box<dyn Fn(&Request, Action) -> Result + Send + Sync>;
type OnCreate = Box<dyn Fn(&Upload, &Request) -> Result + Send + Sync>;
type OnProgress = Box<dyn Fn(&Upload, u64) + Send + Sync>;
type OnComplete = Box<dyn Fn(&Upload, &Finished) + Send + Sync>;
type OnTerminate = Box<dyn Fn(UploadId) + Send + Sync>;

/// What an application has to say about uploads, in the order in which it was added.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) authorize: Vec<Authorize>,
    pub(crate) on_create: Vec<OnCreate>,
    pub(crate) on_progress: Vec<OnProgress>,
    pub(crate) on_complete: Vec<OnComplete>,
    pub(crate) on_terminate: Vec<OnTerminate>,
}

impl Hooks {
    pub(crate) fn authorize(&self, request: &Request, action: Action) -> Result {
        self.authorize.iter().try_for_each(|hook| hook(request, action))
    }

    pub(crate) fn create(&self, upload: &Upload, request: &Request) -> Result {
        self.on_create.iter().try_for_each(|hook| hook(upload, request))
    }

    pub(crate) fn progress(&self, upload: &Upload, received_bytes: u64) {
        self.on_progress.iter().for_each(|hook| hook(upload, received_bytes));
    }

    pub(crate) fn complete(&self, upload: &Upload, finished: &Finished) {
        self.on_complete.iter().for_each(|hook| hook(upload, finished));
    }

    pub(crate) fn terminate(&self, id: UploadId) {
        self.on_terminate.iter().for_each(|hook| hook(id));
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}
