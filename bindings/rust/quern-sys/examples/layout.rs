//! Prints C that does not compile unless the C compiler gives each struct, and each field, the size and place that it has in Rust.
//! Called by tests/consumers/run.sh.

use quern_sys::*;
use std::mem::{align_of, offset_of, size_of, MaybeUninit};

macro_rules! check {
    ($name:ident: $($field:ident),*) => {
        let (name, whole) = (stringify!($name), MaybeUninit::<$name>::uninit());
        println!("_Static_assert(sizeof({name}) == {}, \"size of {name}\");", size_of::<$name>());
        println!("_Static_assert(_Alignof({name}) == {}, \"alignment of {name}\");", align_of::<$name>());
        $({
            let field = stringify!($field);
            let bytes = size_of_pointee(unsafe { &raw const (*whole.as_ptr()).$field });
            println!("_Static_assert(offsetof({name}, {field}) == {}, \"offset of {name}.{field}\");", offset_of!($name, $field));
            println!("_Static_assert(sizeof((({name} *)0)->{field}) == {bytes}, \"size of {name}.{field}\");");
        })*
    };
}

fn size_of_pointee<T>(_: *const T) -> usize {
    size_of::<T>()
}

fn main() {
    println!("#include <quern.h>");
    for_each_struct!(check);
}
