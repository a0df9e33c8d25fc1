//! The C interface of Quern, as include/quern.h declares and describes it.
//!
//! A `quern_*_args_init` function sets the size and the defaults of an argument struct.  Enums are integers, so that a value of a
//! newer library is no undefined behaviour.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::marker::{PhantomData, PhantomPinned};

include!("bindings.rs");
