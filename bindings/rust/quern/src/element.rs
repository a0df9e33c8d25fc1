//! The elements of arrays: 16-bit floats as C has them, and the traits of what the calls take.

use quern_sys::*;

/// The upper half of an `f32`, as its bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bf16(pub u16);

/// IEEE binary16, as its bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F16(pub u16);

/// Elements of logits, parameters and gradients: `f32`, [`Bf16`] or [`F16`].
pub trait Float: Copy + sealed::Dtype {
    /// Rounds to nearest, ties to even.  What is too large becomes infinity.  NaN stays NaN.
    fn from_f32(value: f32) -> Self;
    /// The same value: each 16-bit float is an `f32`.
    fn to_f32(self) -> f32;
}

/// Elements of the moments of AdamW: `f32` or [`Bf16`].
pub trait Moment: Float {}

/// Labels: `i32` or `i64`.
pub trait Label: Copy + sealed::Dtype {}

/// No type outside of the crate has a dtype: slices of these are passed to C, which writes any bits into them.
pub(crate) mod sealed {
    pub trait Dtype {
        const DTYPE: quern_sys::quern_dtype;
    }
}

impl Float for f32 {
    fn from_f32(value: f32) -> f32 {
        value
    }
    fn to_f32(self) -> f32 {
        self
    }
}

impl Float for Bf16 {
    fn from_f32(value: f32) -> Bf16 {
        let bits = value.to_bits();
        let rounded = if value.is_nan() { bits | 0x40_0000 } else { bits + 0x7FFF + (bits >> 16 & 1) };
        Bf16((rounded >> 16) as u16)
    }
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl Float for F16 {
    fn from_f32(value: f32) -> F16 {
        let (sign, magnitude) = (value.to_bits() >> 16 & 0x8000, value.abs());
        let bits = magnitude.to_bits();
        let rounded = if value.is_nan() {
            0x7E00
        } else if magnitude >= 65520.0 {   // nearer to infinity than to the largest finite value
            0x7C00
        } else if magnitude < f32::from_bits((127 - 14) << 23) {   // subnormal: beside 0.5 an f32 has its multiples of 2^-24
            (magnitude + 0.5).to_bits() - 0.5f32.to_bits()
        } else {
            (bits + 0xFFF + (bits >> 13 & 1) - (112 << 23)) >> 13
        };
        F16((sign | rounded) as u16)
    }
    fn to_f32(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 & 0x8000) << 16, u32::from(self.0 & 0x7FFF) << 13);
        let is_finite = self.0 & 0x7C00 != 0x7C00;
        let two_to_112 = f32::from_bits((127 + 112) << 23);   // from the exponents of binary16 to those of f32
        let bits = if is_finite { (f32::from_bits(magnitude) * two_to_112).to_bits() } else { magnitude | 0x7F80_0000 };
        f32::from_bits(sign | bits)
    }
}

macro_rules! dtypes {
    ($($element:ty: $dtype:ident, $($role:ident)?;)*) => {$(
        impl sealed::Dtype for $element {
            const DTYPE: quern_dtype = $dtype;
        }
        $(impl $role for $element {})?
    )*};
}
dtypes! { f32: QUERN_F32, Moment; Bf16: QUERN_BF16, Moment; F16: QUERN_F16,; i32: QUERN_INT32, Label; i64: QUERN_INT64, Label; }
