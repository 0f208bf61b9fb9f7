//! Elementary functions that give the same bits on every machine.
//!
//! Those of the standard library are the C library's, which differ in the last bit between libraries and processors (glibc and
//! musl, with or without fused multiplication). A log then would not have the same figures everywhere. These are computed by
//! the crate libm from additions, multiplications, divisions and square roots, which IEEE 754 rounds exactly.

/// Logarithms, exponentials and powers that are the same everywhere. `clippy.toml` forbids the standard library's in what
/// makes figures.
pub trait PortableMath {
    /// The natural logarithm.
    fn portable_ln(self) -> Self;
    /// The natural logarithm of 1 + x.
    fn portable_ln_1p(self) -> Self;
    /// The logarithm to base 10.
    fn portable_log10(self) -> Self;
    /// The logarithm to base 2.
    fn portable_log2(self) -> Self;
    /// e to the power of x.
    fn portable_exp(self) -> Self;
    /// e to the power of x, less 1.
    fn portable_exp_m1(self) -> Self;
    /// x to this power.
    fn portable_powf(self, power: Self) -> Self;
}

impl PortableMath for f64 {
    fn portable_ln(self) -> Self {
        libm::log(self)
    }

    fn portable_ln_1p(self) -> Self {
        libm::log1p(self)
    }

    fn portable_log10(self) -> Self {
        libm::log10(self)
    }

    fn portable_log2(self) -> Self {
        libm::log2(self)
    }

    fn portable_exp(self) -> Self {
        libm::exp(self)
    }

    fn portable_exp_m1(self) -> Self {
        libm::expm1(self)
    }

    fn portable_powf(self, power: Self) -> Self {
        libm::pow(self, power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their bits, which the laboratory's tests on Arm compare too.
    #[test]
    fn the_bits_are_the_same_on_every_machine() {
        let found = [
            0.1_f64.portable_ln(),
            0.1_f64.portable_ln_1p(),
            0.3_f64.portable_log10(),
            0.3_f64.portable_log2(),
            0.7_f64.portable_exp(),
            0.7_f64.portable_exp_m1(),
            1.3_f64.portable_powf(0.7),
        ];
        let expected = [
            0xc002_6bb1_bbb5_5515,
            0x3fb8_663f_793c_46c7,
            0xbfe0_bb6c_34d8_1502,
            0xbffb_ca9c_6f53_897b,
            0x4000_1c2a_6126_8987,
            0x3ff0_3854_c24d_130d,
            0x3ff3_39c2_2907_cfa9,
        ];
        assert_eq!(found.map(f64::to_bits), expected, "{found:?}");
    }
}
