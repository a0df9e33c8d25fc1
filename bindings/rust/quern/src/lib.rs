//! Fused training kernels on the CPU: cross-entropy with its gradient, AdamW over a list of tensors, casts to E4M3.
//!
//! ```
//! use quern::{CrossEntropy, Device, Logits, Loss, Operation};
//!
//! let device = Device::open(&[Operation::CrossEntropy])?;
//! let mut logits = [1f32, 2.0, 3.0, 0.0, 0.0, 0.0];
//! let mut losses = [0f32; 2];
//! device.cross_entropy(Logits::InPlace(&mut logits), &[2, 0], 3, Loss::Rows(&mut losses), &CrossEntropy::default())?;
//! assert!((losses[0] - 0.4076).abs() < 1e-4 && (losses[1] - 1.0986).abs() < 1e-4);
//! assert!((logits[3] + 2.0 / 3.0).abs() < 1e-6);   // the gradient, in the place of the logits
//! # Ok::<(), quern::Error>(())
//! ```
//!
//! ```
//! use quern::{AdamTensor, AdamW, Bf16, Device, Float, Operation};
//!
//! let device = Device::open(&[Operation::Adam])?;
//! let (mut param, grad) = ([Bf16::default(); 3], [1f32, -1.0, 0.5].map(Bf16::from_f32));
//! let (mut m, mut v, mut master) = ([Bf16::default(); 3], [Bf16::default(); 3], [1f32, 2.0, 3.0]);
//! let tensor = AdamTensor { param: &mut param, grad: &grad, m: &mut m, v: &mut v, master: Some(&mut master) };
//! device.adamw(&mut [tensor], 1, &AdamW { weight_decay: 0.1, ..AdamW::default() })?;
//! assert_eq!(master.map(|value| format!("{value:.4}")), ["0.9989", "2.0008", "2.9987"]);
//! # Ok::<(), quern::Error>(())
//! ```
//!
//! These are the main calls for CPUs, without GPUs, ranks and plans; [`sys`] has all functions.  include/quern.h describes the
//! arithmetic.  What the crate relies on is promised there: a call reads and writes only the arrays of its arguments and its
//! workspace, keeps no pointer, is complete when it returns, may run in several threads on one device, reads no logit through a
//! label that is out of range, refuses what it does not know, and never exits or unwinds.  The crate adds what C cannot see: the
//! lengths of the slices.  The borrows rule out that an array which is written overlaps another one.
//!
//! A call needs up to 64 KiB of its thread's stack.  [`Device::open`] reads variables of the environment (`QUERN_THREADS`,
//! `QUERN_KERNEL`, `QUERN_LOG`): no other thread may be inside `std::env::set_var` then.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod element;
mod error;

pub use element::{Bf16, Float, Label, Moment, F16};
pub use error::{Error, Kind};
pub use quern_sys as sys;
pub use quern_sys::quern_cross_entropy_report as Report;

use error::{check, expect_length};
use quern_sys::*;
use std::ffi::{c_int, CStr};
use std::mem::{size_of, zeroed, MaybeUninit};
use std::ptr::{from_mut, null, null_mut};

/// What [`Device::prepare`] loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// [`Device::cross_entropy`].
    CrossEntropy = QUERN_CROSS_ENTROPY as isize,
    /// [`Device::adamw`].
    Adam = QUERN_ADAM as isize,
    /// [`Device::quantize`].
    Quantize = QUERN_QUANTIZE as isize,
}

/// The CPU.  Threads may share it.  It closes when it is dropped.
#[derive(Debug)]
pub struct Device(*mut quern_device);

// SAFETY: quern.h ties a handle to no thread, and each function that takes a shared Device is thread-safe there.
unsafe impl Send for Device {}
// SAFETY: as above.  quern_device_close has the only reference, and set_threads an exclusive one.
unsafe impl Sync for Device {}

/// The logits `[rows, width]`, one row for each label, and where their gradient goes.
#[derive(Debug)]
pub enum Logits<'a, T> {
    /// No gradient.
    Only(&'a [T]),
    /// The gradient is written to the second array, which is as long as the first.
    Apart(&'a [T], &'a mut [T]),
    /// The gradient overwrites the logits.
    InPlace(&'a mut [T]),
}

/// Which loss is computed, and where it goes.
#[derive(Debug)]
pub enum Loss<'a> {
    /// The sum divided by the number of counted rows or, with class weights, by those of their labels.
    Mean(&'a mut f32),
    /// The sum over the counted rows.
    Sum(&'a mut f32),
    /// That of each row.
    Rows(&'a mut [f32]),
}

/// Options of [`Device::cross_entropy`].
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropy<'a> {
    /// Elements of a row with its padding: columns from the vocab on are not read, and their gradient is 0.  0: the vocab.
    pub width: usize,
    /// Rows with this label are skipped: loss and gradient 0.  -100.
    pub ignore_index: i64,
    /// Whether another label outside of the vocab is an error, or skips its row.  True, unlike in C.
    pub strict_labels: bool,
    /// In `[0, 1]`.
    pub label_smoothing: f32,
    /// The factor of `lse^2`.
    pub z_loss: f32,
    /// Logits become `softcap * tanh(logit / softcap)`; 0: as they are.
    pub softcap: f32,
    /// Divides the logits, after the softcap.  1.
    pub temperature: f32,
    /// `[vocab]`; none: 1.
    pub class_weights: Option<&'a [f32]>,
    /// A factor of the gradient of each row; none: 1.
    pub grad_loss: Option<&'a [f32]>,
    /// A factor of all gradients.  1.
    pub grad_scale: f32,
    /// The same bits on every CPU and GPU, without softcap and label smoothing.
    pub portable_bits: bool,
}

impl Default for CrossEntropy<'_> {
    fn default() -> Self {
        CrossEntropy {
            width: 0, ignore_index: -100, strict_labels: true, label_smoothing: 0.0, z_loss: 0.0, softcap: 0.0, temperature: 1.0,
            class_weights: None, grad_loss: None, grad_scale: 1.0, portable_bits: false,
        }
    }
}

/// A parameter, its gradient and its state: arrays of one length.  All tensors of a call have a master, or none.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct AdamTensor<'a, P, G, M> {
    pub param: &'a mut [P],
    pub grad: &'a [G],
    pub m: &'a mut [M],
    pub v: &'a mut [M],
    /// The fp32 copy of a 16-bit parameter, which is rounded from it.  Without one a 16-bit parameter is rounded stochastically.
    pub master: Option<&'a mut [f32]>,
}

/// Options of [`Device::adamw`], with PyTorch's defaults.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct AdamW {
    pub lr: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay: f64,
    /// The factor that the gradients contain, by which they are divided.
    pub grad_scale: f64,
    /// Ascend the gradient.
    pub maximize: bool,
    /// Of stochastic rounding.  Calls for several lists in one step need different ones.
    pub seed: u64,
}

impl Default for AdamW {
    fn default() -> Self {
        let (lr, beta1, beta2, eps, weight_decay) = (1e-3, 0.9, 0.999, 1e-8, 1e-2);
        AdamW { lr, beta1, beta2, eps, weight_decay, grad_scale: 1.0, maximize: false, seed: 0 }
    }
}

/// A struct with its size and defaults.
macro_rules! initialised {
    ($init:ident) => {{
        let mut args = MaybeUninit::uninit();
        // SAFETY: an initialiser of quern.h writes its whole struct, which is that of the declarations: the versions were compared.
        unsafe {
            $init(args.as_mut_ptr());
            args.assume_init()
        }
    }};
}

impl Device {
    /// Opens the CPU and prepares operations.
    pub fn open(operations: &[Operation]) -> Result<Device, Error> {
        // SAFETY: has no arguments.
        let version = unsafe { quern_version() };
        if version != QUERN_VERSION {
            return Err(Error::new(QUERN_NOT_SUPPORTED, format!("libquern has version {version}: expected {QUERN_VERSION}")));
        }
        let mut handle = null_mut();
        // SAFETY: the handle may be written.
        check(unsafe { quern_device_open(QUERN_CPU, 0, &mut handle) })?;
        let device = Device(handle);
        device.prepare(operations)?;
        Ok(device)
    }

    /// Loads the kernels of operations.  A call of one that is not prepared fails.
    pub fn prepare(&self, operations: &[Operation]) -> Result<(), Error> {
        let bits = operations.iter().fold(0, |bits, each| bits | *each as u32);
        if bits == 0 {
            return Ok(());
        }
        // SAFETY: the handle is open as long as self lives; the same holds below.
        check(unsafe { quern_prepare(self.0, bits) })
    }

    /// Sets the number of threads; 0: by `QUERN_THREADS` or the cores that the process may use.  Results do not depend on it.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), Error> {
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: without a hook the library's own threads do the work.
        check(unsafe { quern_set_threads(self.0, threads, None, null_mut()) })
    }

    fn info(&self) -> quern_device_info {
        let mut info = initialised!(quern_device_info_init);
        // SAFETY: info is initialised, which is all that the call asks for.
        unsafe { quern_device_get_info(self.0, &mut info) };
        info
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.info().multiprocessors as usize
    }

    /// The best target that serves the device: `avx512`, `avx2`, `neon` or `portable`.
    pub fn target(&self) -> String {
        // SAFETY: the text ends with a zero, at the latest that of the initialiser.
        unsafe { CStr::from_ptr(self.info().target.as_ptr()) }.to_string_lossy().into_owned()
    }

    /// The loss of logits `[labels.len(), vocab]` against labels and, in the same pass, the gradient of the logits.
    pub fn cross_entropy<T: Float, L: Label>(
        &self, logits: Logits<'_, T>, labels: &[L], vocab: usize, loss: Loss<'_>, options: &CrossEntropy<'_>,
    ) -> Result<Report, Error> {
        let (rows, width) = (labels.len(), if options.width == 0 { vocab } else { options.width });
        if vocab > width || isize::try_from(width).is_err() {
            return Err(Error::new(QUERN_INVALID_SHAPE, format!("width is {width}: expected at least the vocab, {vocab}")));
        }
        if !(options.temperature > 0.0 && options.temperature.is_finite()) {
            let detail = format!("temperature is {}: expected a number above 0", options.temperature);
            return Err(Error::new(QUERN_INVALID_ARGUMENT, detail));
        }
        let elements = rows.saturating_mul(width);   // no slice has as many as the largest
        let mut args = initialised!(quern_cross_entropy_args_init);
        let (input, count, grad) = match logits {
            Logits::Only(input) => (input.as_ptr(), input.len(), null_mut()),
            Logits::Apart(input, grad) => {
                expect_length("the gradient", grad.len(), elements)?;
                (input.as_ptr(), input.len(), grad.as_mut_ptr())
            }
            Logits::InPlace(both) => {
                let (count, grad) = (both.len(), both.as_mut_ptr());
                (grad.cast_const(), count, grad)
            }
        };
        expect_length("the logits", count, elements)?;
        (args.reduction, args.loss) = match loss {
            Loss::Mean(value) => (QUERN_REDUCTION_MEAN, from_mut(value)),
            Loss::Sum(value) => (QUERN_REDUCTION_SUM, from_mut(value)),
            Loss::Rows(values) => {
                expect_length("the losses", values.len(), rows)?;
                (QUERN_REDUCTION_NONE, values.as_mut_ptr())
            }
        };
        args.class_weights = optional("class_weights", options.class_weights, vocab)?;
        args.grad_loss = optional("grad_loss", options.grad_loss, rows)?;
        (args.logits_dtype, args.logits, args.grad) = (T::DTYPE, input.cast(), grad.cast());
        (args.labels_dtype, args.labels) = (L::DTYPE, labels.as_ptr().cast());
        (args.rows, args.vocab) = (rows as i64, vocab as i64);
        (args.logits_stride, args.grad_stride, args.padded_vocab) = (width as i64, width as i64, width as i64);
        (args.ignore_index, args.strict_labels) = (options.ignore_index, options.strict_labels.into());
        (args.label_smoothing, args.z_loss, args.softcap) = (options.label_smoothing, options.z_loss, options.softcap);
        (args.inverse_temperature, args.grad_scale) = (1.0 / options.temperature, options.grad_scale);
        args.bits = if options.portable_bits { QUERN_BITS_PORTABLE } else { QUERN_BITS_DEFAULT };
        // SAFETY: a report of numbers only.
        let mut report: Report = unsafe { zeroed() };
        args.report = &mut report;
        let mut bytes = 0;
        // SAFETY: reads the numbers of the arguments.
        check(unsafe { quern_cross_entropy_workspace(self.0, &args, &mut bytes) })?;
        let mut workspace = Vec::<u128>::new();   // 16-byte aligned
        let is_there = workspace.try_reserve_exact(bytes.div_ceil(size_of::<u128>()));
        is_there.map_err(|_| Error::new(QUERN_OUT_OF_MEMORY, format!("a workspace of {bytes} bytes")))?;
        // SAFETY: each array has the elements that the numbers of the arguments say, as compared above, and is borrowed during the
        // call: those that are written exclusively.  The capacity of the workspace is at least so many bytes.
        check(unsafe { quern_cross_entropy(self.0, &args, workspace.as_mut_ptr().cast(), bytes, null_mut()) })?;
        Ok(report)
    }

    /// One step of AdamW over a list of tensors.  Steps count from 1.  Stochastic rounding depends on the seed, the step and the
    /// places of tensor and element alone, not on threads.
    pub fn adamw<P: Float, G: Float, M: Moment>(
        &self, tensors: &mut [AdamTensor<'_, P, G, M>], step: i64, options: &AdamW,
    ) -> Result<(), Error> {
        let has_master = tensors.first().is_some_and(|first| first.master.is_some());
        let mut rows = Vec::with_capacity(tensors.len());
        for (i, tensor) in tensors.iter_mut().enumerate() {
            let count = tensor.param.len();
            let master = tensor.master.as_deref_mut();
            let lengths = [
                ("grad", tensor.grad.len()), ("m", tensor.m.len()), ("v", tensor.v.len()),
                ("master", master.as_ref().map_or(count, |master| master.len())),
            ];
            for (name, length) in lengths {
                expect_length(&format!("{name} of tensor {i}"), length, count)?;
            }
            if master.is_some() != has_master {
                let detail = format!("tensor {i} is not like the first one: expected a master for all tensors, or none");
                return Err(Error::new(QUERN_INVALID_ARGUMENT, detail));
            }
            // SAFETY: a struct of pointers and numbers; those that are NULL or 0 are not used.
            let mut row: quern_adam_tensor = unsafe { zeroed() };
            (row.param, row.grad) = (tensor.param.as_mut_ptr().cast(), tensor.grad.as_ptr().cast_mut().cast());
            (row.m, row.v) = (tensor.m.as_mut_ptr().cast(), tensor.v.as_mut_ptr().cast());
            row.master = master.map_or(null_mut(), |master| master.as_mut_ptr().cast());
            row.count = count as i64;
            rows.push(row);
        }
        let mut args = initialised!(quern_adam_args_init);
        (args.param_dtype, args.grad_dtype, args.m_dtype, args.v_dtype) = (P::DTYPE, G::DTYPE, M::DTYPE, M::DTYPE);
        args.master_dtype = if has_master { QUERN_F32 } else { QUERN_NO_DTYPE };
        (args.tensors, args.tensor_count) = (rows.as_ptr(), rows.len() as i64);
        (args.lr, args.beta1, args.beta2, args.eps) = (options.lr, options.beta1, options.beta2, options.eps);
        (args.weight_decay, args.grad_scale) = (options.weight_decay, options.grad_scale);
        (args.maximize, args.step, args.seed) = (options.maximize.into(), step, options.seed);
        // SAFETY: the arrays of a tensor have one length, as compared above, and are borrowed during the call, all but the gradient
        // exclusively.  The gradient is written only with zero_grads, which is 0.  A CPU needs no workspace.
        check(unsafe { quern_adam(self.0, &args, null_mut(), 0, null_mut()) })
    }

    /// Casts an array to codes of OCP E4M3, with one scale from its largest magnitude.  Returns the inverse of the scale: the
    /// value of a code times that is near its element.
    pub fn quantize<T: Float>(&self, input: &[T], codes: &mut [u8]) -> Result<f32, Error> {
        expect_length("the codes", codes.len(), input.len())?;
        let (mut amax, mut scale_inv) = (0.0, 0.0);
        // SAFETY: a struct of pointers and numbers; those that are NULL or 0 are not used.
        let mut row: quern_quantize_tensor = unsafe { zeroed() };
        (row.input, row.output, row.count) = (input.as_ptr().cast(), codes.as_mut_ptr().cast(), input.len() as i64);
        let mut args = initialised!(quern_quantize_args_init);
        (args.input_dtype, args.output_dtype) = (T::DTYPE, QUERN_E4M3);
        (args.tensors, args.tensor_count) = (&row, 1);
        (args.amax, args.scale_inv) = (&mut amax, &mut scale_inv);
        // SAFETY: both arrays have so many elements, the numbers one each, and the codes are borrowed exclusively.  A CPU needs no
        // workspace.
        check(unsafe { quern_quantize(self.0, &args, null_mut(), 0, null_mut()) })?;
        Ok(scale_inv)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: this was the only reference.  The crate makes no plans and groups, and no work goes on after its call.
        unsafe { quern_device_close(self.0) }
    }
}

/// The address of an optional array.
fn optional(name: &str, array: Option<&[f32]>, expected: usize) -> Result<*const f32, Error> {
    let Some(array) = array else { return Ok(null()) };
    expect_length(name, array.len(), expected)?;
    Ok(array.as_ptr())
}
