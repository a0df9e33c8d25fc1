//! What a call returns that has failed.

use quern_sys::*;
use std::ffi::CStr;
use std::fmt;

/// A failed call.  After [`Kind::InvalidArgument`] and [`Kind::NotSupported`] nothing has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// A value of `quern_status`.
    pub status: u32,
    /// Its name, `QUERN_INVALID_SHAPE` for instance.
    pub name: &'static str,
    /// The wrong value or the failed step, and what was expected.
    pub detail: String,
}

/// Who is responsible for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// 1xxx: an argument is wrong.
    InvalidArgument,
    /// 2xxx: a valid request that this library or device cannot serve.
    NotSupported,
    /// 3000.
    OutOfMemory,
    /// Other 3xxx: the system failed.
    System,
    /// 4xxx: another rank is missing, has ended, or made another call.
    Peer,
}

impl Error {
    pub(crate) fn new(status: quern_status, detail: String) -> Error {
        // SAFETY: takes any number; the text is static and ends with a zero.
        let name = unsafe { CStr::from_ptr(quern_status_string(status)) };
        Error { status, name: name.to_str().unwrap_or("unknown quern_status"), detail }
    }

    /// By the thousands of the status.
    pub fn kind(&self) -> Kind {
        match self.status {
            1000..=1999 => Kind::InvalidArgument,
            2000..=2999 => Kind::NotSupported,
            QUERN_OUT_OF_MEMORY => Kind::OutOfMemory,
            4000..=4999 => Kind::Peer,
            _ => Kind::System,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.name, self.detail)
    }
}

impl std::error::Error for Error {}

/// The error of a status that a call on this thread has just returned.
pub(crate) fn check(status: quern_status) -> Result<(), Error> {
    if status == QUERN_OK {
        return Ok(());
    }
    let mut text = [0u8; 256];
    // SAFETY: writes at most so many bytes, of which the last is a zero.
    unsafe { quern_error_detail(text.as_mut_ptr().cast(), text.len()) };
    let detail = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    Err(Error::new(status, detail.to_string_lossy().into_owned()))
}

pub(crate) fn expect_length(name: &str, length: usize, expected: usize) -> Result<(), Error> {
    if length == expected {
        return Ok(());
    }
    Err(Error::new(QUERN_INVALID_SHAPE, format!("{name} has {length} elements: expected {expected}")))
}
