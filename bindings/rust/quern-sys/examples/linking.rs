//! Calls both operations and prints their results: examples/linking/program.c in Rust.

use quern_sys::*;
use std::ffi::{c_char, c_int, CStr};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Ends the program with the detail of a failed call.
fn check(status: quern_status) {
    if status != QUERN_OK {
        let mut detail: [c_char; 512] = [0; 512];
        unsafe { quern_error_detail(detail.as_mut_ptr(), detail.len()) };
        panic!("{}", unsafe { CStr::from_ptr(detail.as_ptr()) }.to_string_lossy());
    }
}

/// A struct with its size and defaults, which `set` writes.
fn initialised<T>(set: unsafe extern "C" fn(*mut T)) -> T {
    let mut args = MaybeUninit::uninit();
    unsafe {
        set(args.as_mut_ptr());
        args.assume_init()
    }
}

fn main() {
    assert_eq!(unsafe { quern_version() }, QUERN_VERSION, "the declarations and libquern.a are of different versions");
    let mut device = null_mut();
    check(unsafe { quern_device_open(QUERN_CPU, 0, &mut device) });
    check(unsafe { quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM) });

    let mut logits: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]];
    let mut loss = [0f32; 2];
    let labels: [c_int; 2] = [2, 0];
    let mut workspace = [0u128; 256]; // 16-byte aligned
    let mut loss_args = initialised(quern_cross_entropy_args_init);
    loss_args.logits_dtype = QUERN_F32;
    loss_args.labels_dtype = QUERN_INT32;
    loss_args.rows = 2;
    loss_args.vocab = 3;
    loss_args.logits = logits.as_ptr().cast();
    loss_args.grad = logits.as_mut_ptr().cast();
    loss_args.labels = labels.as_ptr().cast();
    loss_args.loss = loss.as_mut_ptr();
    let bytes = std::mem::size_of_val(&workspace);
    check(unsafe { quern_cross_entropy(device, &loss_args, workspace.as_mut_ptr().cast(), bytes, null_mut()) });

    let (mut param, mut m, mut v) = ([1f32; 3], [0f32; 3], [0f32; 3]);
    let mut tensor: quern_adam_tensor = unsafe { std::mem::zeroed() };
    tensor.param = param.as_mut_ptr().cast();
    tensor.grad = logits[1].as_mut_ptr().cast();
    tensor.m = m.as_mut_ptr().cast();
    tensor.v = v.as_mut_ptr().cast();
    tensor.count = 3;
    let mut adam_args = initialised(quern_adam_args_init);
    adam_args.param_dtype = QUERN_F32;
    adam_args.grad_dtype = QUERN_F32;
    adam_args.m_dtype = QUERN_F32;
    adam_args.v_dtype = QUERN_F32;
    adam_args.tensors = &tensor;
    adam_args.tensor_count = 1;
    adam_args.lr = 0.5;
    adam_args.step = 1;
    check(unsafe { quern_adam(device, &adam_args, null_mut(), 0, null_mut()) });
    unsafe { quern_device_close(device) };
    println!("losses {:.4} {:.4}, parameters {:.2} {:.2} {:.2}", loss[0], loss[1], param[0], param[1], param[2]);
}
