//! The calls against formulas in f64, and what is refused.

use quern::*;

const ALL: &[Operation] = &[Operation::CrossEntropy, Operation::Adam, Operation::Quantize];

/// Numbers from -1 to 1 without a pattern, the same in each run.
fn numbers<T: Float>(count: usize, seed: u64, factor: f32) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| T::from_f32(factor * next())).collect()
}

fn wide<T: Float>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f32().into()).collect()
}

fn expect_near(found: &[f64], expected: &[f64], relative: f64, absolute: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= relative * expected.abs() + absolute, "{i}: {found}: expected {expected}");
    }
}

fn expect_refused<T: std::fmt::Debug>(result: Result<T, Error>, name: &str, word: &str) {
    let error = result.expect_err(word);
    assert!(error.name == name && error.detail.contains(word), "{error}: expected {name} with {word:?}");
}

/// The loss of a row as quern.h defines it.
fn loss_of(row: &[f64], label: usize, weights: &[f64], options: &CrossEntropy) -> f64 {
    let y: Vec<f64> = row.iter().map(|x| x / f64::from(options.temperature)).collect();
    let lse = y.iter().map(|y| y.exp()).sum::<f64>().ln();
    let smoothed: f64 = y.iter().zip(weights).map(|(y, weight)| weight * (lse - y)).sum();
    let e = f64::from(options.label_smoothing);
    (1.0 - e) * weights[label] * (lse - y[label]) + e / row.len() as f64 * smoothed + f64::from(options.z_loss) * lse * lse
}

/// Each kind of loss, with the gradient apart and in place, against that loss and its slopes by differences.
fn expect_cross_entropy<T: Float + std::fmt::Debug + PartialEq, L: Label + TryFrom<i64>>(device: &Device, rounding: f64) {
    let (given, vocab, width) = ([3, -100, 36, 0, 3], 37, 40);
    let labels = given.map(|label| L::try_from(label).ok().unwrap());
    let weights: Vec<f32> = numbers(vocab, 5, 0.5).iter().map(|x: &f32| x + 1.0).collect();
    let factors: Vec<f32> = numbers(given.len(), 6, 2.0);
    let options = CrossEntropy {
        width, label_smoothing: 0.125, z_loss: 0.01, temperature: 1.5, class_weights: Some(&weights), grad_loss: Some(&factors),
        grad_scale: 8.0, ..CrossEntropy::default()
    };
    let (logits, weights): (Vec<T>, _) = (numbers(given.len() * width, 7, 6.0), wide(&weights));
    let (mut losses, mut slopes, mut weight) = (vec![0.0; given.len()], vec![0.0; logits.len()], 0.0);
    for (i, label) in given.iter().enumerate().filter(|(_, label)| **label >= 0) {
        let (mut row, label) = (wide(&logits[i * width..][..vocab]), *label as usize);
        losses[i] = loss_of(&row, label, &weights, &options);
        weight += weights[label];
        for j in 0..vocab {
            let x = row[j];
            let [above, below] = [x + 1e-5, x - 1e-5].map(|moved| {
                row[j] = moved;
                loss_of(&row, label, &weights, &options)
            });
            row[j] = x;
            slopes[i * width + j] = (above - below) / 2e-5 * f64::from(factors[i]) * 8.0;
        }
    }
    let sum: f64 = losses.iter().sum();
    for divisor in [weight, 1.0] {
        let kind = |value| if divisor == 1.0 { Loss::Sum(value) } else { Loss::Mean(value) };
        let ([mut first, mut second], mut in_place, mut grad) = ([0f32; 2], logits.clone(), logits.clone());
        let report = device.cross_entropy(Logits::Apart(&logits, &mut grad), &labels, vocab, kind(&mut first), &options).unwrap();
        device.cross_entropy(Logits::InPlace(&mut in_place), &labels, vocab, kind(&mut second), &options).unwrap();
        assert_eq!((report.counted_rows, report.ignored_rows, report.bad_labels), (4, 1, 0));
        expect_near(&wide(&[first, second]), &[sum / divisor; 2], 1e-6, 0.0);
        expect_near(&wide(&grad), &slopes.iter().map(|slope| slope / divisor).collect::<Vec<_>>(), rounding, 2e-6);
        assert_eq!(in_place, grad);
    }
    let mut found = [0f32; 5];
    device.cross_entropy(Logits::Only(&logits), &labels, vocab, Loss::Rows(&mut found), &options).unwrap();
    expect_near(&wide(&found), &losses, 1e-6, 0.0);
}

#[test]
fn cross_entropy_is_the_formula_and_its_slope() {
    let device = Device::open(ALL).unwrap();
    expect_cross_entropy::<f32, i32>(&device, 1e-6);
    expect_cross_entropy::<f32, i64>(&device, 1e-6);
    expect_cross_entropy::<Bf16, i32>(&device, 1.0 / 256.0);
    expect_cross_entropy::<F16, i64>(&device, 1.0 / 2048.0);
}

#[test]
fn threads_share_a_device_and_portable_bits_depend_on_the_row_alone() {
    let mut device = Device::open(ALL).unwrap();
    let (vocab, options) = (1000, CrossEntropy { portable_bits: true, ..CrossEntropy::default() });
    let (logits, labels): (Vec<f32>, Vec<i32>) = (numbers(64 * vocab, 1, 4.0), (0..64).collect());
    let rows_of = |device: &Device, first: usize, last: usize| {
        let (mut losses, mut grad) = (vec![0.0; last - first], logits[first * vocab..last * vocab].to_vec());
        let loss = Loss::Rows(&mut losses);
        device.cross_entropy(Logits::InPlace(&mut grad), &labels[first..last], vocab, loss, &options).unwrap();
        (losses, grad)
    };
    device.set_threads(3).unwrap();
    assert_eq!(device.threads(), 3);
    let (losses, grad) = rows_of(&device, 0, 64);
    device.set_threads(2).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (device, losses, grad) = (&device, &losses, &grad);
            scope.spawn(move || {
                for row in (0..64).skip(thread).step_by(4) {
                    let found = rows_of(device, row, row + 1);
                    assert_eq!(found, (losses[row..row + 1].to_vec(), grad[row * vocab..(row + 1) * vocab].to_vec()));
                }
            });
        }
    });
    assert!(["avx512", "avx2", "neon", "portable"].contains(&device.target().as_str()), "{}", device.target());
    let (mut loss, options) = (0.0, CrossEntropy { softcap: 30.0, ..options });
    let refused = device.cross_entropy(Logits::Only(&logits), &labels, vocab, Loss::Sum(&mut loss), &options);
    assert_eq!(refused.unwrap_err().kind(), Kind::NotSupported);
}

/// Two steps over two tensors.  What is rounded stochastically may be either neighbour: off by less than one unit.
fn expect_adamw<P: Float, G: Float, M: Moment>(device: &Device, has_master: bool, param_unit: f64, moment_unit: f64) {
    let (lr, beta1, beta2, eps, weight_decay): (f64, f64, f64, f64, f64) = (0.05, 0.8, 0.9, 1e-3, 0.25);
    let options = AdamW { lr, beta1, beta2, eps, weight_decay, grad_scale: 2.0, seed: 3, maximize: true };
    let mut lists = [5, 1000].map(|count| {
        let v = numbers::<f32>(count, 2, 0.5).iter().map(|x| M::from_f32(x.abs())).collect::<Vec<_>>();
        let state = [numbers(count, 1, 0.5), v];
        (numbers::<P>(count, 3, 3.0), numbers::<G>(count, 4, 2.0), state, numbers::<f32>(count, 5, 3.0))
    });
    for step in 1..3 {
        let mut expected = Vec::new();
        for (param, grad, [m, v], master) in &lists {
            let first = if has_master { wide(master) } else { wide(param) };
            expected.push((0..param.len()).map(|i| {
                let (g, m, v) = (-f64::from(grad[i].to_f32()) / 2.0, f64::from(m[i].to_f32()), f64::from(v[i].to_f32()));
                let (m, v) = (beta1 * m + (1.0 - beta1) * g, beta2 * v + (1.0 - beta2) * g * g);
                let (m_hat, v_hat) = (m / (1.0 - beta1.powi(step)), v / (1.0 - beta2.powi(step)));
                [first[i] - lr * (m_hat / (v_hat.sqrt() + eps) + weight_decay * first[i]), m, v]
            }).collect::<Vec<_>>());
        }
        let mut tensors: Vec<_> = lists.iter_mut().map(|(param, grad, [m, v], master)| {
            AdamTensor { param, grad, m, v, master: has_master.then_some(master.as_mut_slice()) }
        }).collect();
        device.adamw(&mut tensors, step.into(), &options).unwrap();
        for ((param, _, [m, v], master), expected) in lists.iter().zip(&expected) {
            let [p_new, m_new, v_new] = [0, 1, 2].map(|k| expected.iter().map(|row| row[k]).collect::<Vec<_>>());
            expect_near(&wide(param), &p_new, param_unit, 1e-6);
            expect_near(&wide(m), &m_new, moment_unit, 1e-6);
            expect_near(&wide(v), &v_new, moment_unit, 1e-6);
            if has_master {
                expect_near(&wide(master), &p_new, 0.0, 1e-6);
            }
        }
    }
}

#[test]
fn adamw_is_the_formula() {
    let device = Device::open(ALL).unwrap();
    expect_adamw::<f32, f32, f32>(&device, false, 0.0, 0.0);
    expect_adamw::<Bf16, Bf16, Bf16>(&device, false, 1.0 / 128.0, 1.0 / 128.0);
    expect_adamw::<Bf16, f32, f32>(&device, true, 1.0 / 256.0, 0.0);
    expect_adamw::<F16, F16, f32>(&device, true, 1.0 / 2048.0, 0.0);

    let rounded = |seed| {
        let ([mut param, mut m, mut v], grad) = ([0; 3].map(|_| numbers::<Bf16>(1000, 1, 1.0)), numbers::<f32>(1000, 2, 1.0));
        let tensor = AdamTensor { param: &mut param, grad: &grad, m: &mut m, v: &mut v, master: None };
        device.adamw(&mut [tensor], 1, &AdamW { seed, ..AdamW::default() }).unwrap();
        param
    };
    assert!(rounded(1) == rounded(1) && rounded(1) != rounded(2));
}

#[test]
fn quantize_takes_the_nearest_code() {
    let device = Device::open(ALL).unwrap();
    let value_of = |code: u8| {
        let (exponent, fraction) = (i32::from(code >> 3 & 15), f64::from(code & 7) / 8.0);
        let magnitude = if exponent == 0 { fraction / 64.0 } else { (1.0 + fraction) * 2f64.powi(exponent - 7) };
        if code < 128 { magnitude } else { -magnitude }
    };
    let (input, mut codes): (Vec<f32>, _) = (numbers(500, 1, 3.0), [0u8; 500]);
    let scale_inv = f64::from(device.quantize(&input, &mut codes).unwrap());
    expect_near(&[scale_inv * 448.0], &[wide(&input).iter().fold(0.0, |most, x| x.abs().max(most))], 1e-6, 0.0);
    for (x, code) in wide(&input).iter().zip(codes) {
        let distance = |code: u8| (value_of(code) * scale_inv - x).abs();
        let nearest = (0..=255).filter(|code| code & 127 != 127).map(distance).fold(f64::MAX, f64::min);
        assert!(distance(code) <= nearest + 1e-6 * x.abs(), "{x} as {code:#x}");
    }
}

#[test]
fn cross_entropy_refuses_what_does_not_fit_and_writes_nothing() {
    let (device, plain, x, mut loss) = (Device::open(ALL).unwrap(), CrossEntropy::default(), [1f32; 12], 7f32);
    let mut expect = |(rows, vocab): (usize, usize), (logits, grad), options: CrossEntropy, name, word| {
        let (labels, mut grad) = (&[0, 1, 2, 3][..rows], vec![7f32; grad]);
        let given = Logits::Apart(&x[..logits], &mut grad);
        expect_refused(device.cross_entropy(given, labels, vocab, Loss::Mean(&mut loss), &options), name, word);
        assert!(loss == 7.0 && grad.iter().all(|value| *value == 7.0));
    };
    let (shape, invalid) = ("QUERN_INVALID_SHAPE", "QUERN_INVALID_ARGUMENT");
    expect((2, 3), (5, 6), plain, shape, "the logits has 5 elements: expected 6");
    expect((2, 3), (7, 6), plain, shape, "the logits has 7 elements: expected 6");
    expect((2, 3), (6, 5), plain, shape, "the gradient has 5 elements: expected 6");
    expect((2, 3), (6, 6), CrossEntropy { width: 4, ..plain }, shape, "expected 8");
    expect((3, 3), (6, 6), CrossEntropy { width: 2, ..plain }, shape, "width is 2");
    expect((0, 3), (0, 0), CrossEntropy { width: usize::MAX, ..plain }, shape, "width is");
    expect((4, 1 << 62), (0, 0), plain, shape, "the gradient has 0 elements");   // their product is 2^64
    expect((2, 0), (0, 0), plain, shape, "vocab");
    expect((2, 3), (6, 6), CrossEntropy { class_weights: Some(&[1.0; 2]), ..plain }, shape, "class_weights has 2 elements");
    expect((2, 3), (6, 6), CrossEntropy { grad_loss: Some(&[1.0; 3]), ..plain }, shape, "grad_loss has 3 elements");
    expect((2, 3), (6, 6), CrossEntropy { temperature: -2.0, ..plain }, invalid, "temperature is -2: ");
    expect((2, 3), (6, 6), CrossEntropy { temperature: f32::INFINITY, ..plain }, invalid, "temperature is inf: ");
    expect((4, 3), (12, 12), plain, invalid, "3");   // the last label, by default

    let (mut in_place, mut losses) = (x, [7f32; 4]);
    for (count, rows, expected) in [(11, 4, "the logits has 11"), (12, 3, "the losses has 3")] {
        for given in [Logits::Only(&x[..count]), Logits::InPlace(&mut in_place[..count])] {
            let result = device.cross_entropy(given, &[0i64, 1, 2, 0], 3, Loss::Rows(&mut losses[..rows]), &plain);
            expect_refused(result, shape, expected);
        }
    }
    assert_eq!((in_place, losses), (x, [7.0; 4]));
    let skipping = CrossEntropy { strict_labels: false, ..plain };
    let report = device.cross_entropy(Logits::Only(&x), &[0, 1, 2, 3], 3, Loss::Rows(&mut losses), &skipping).unwrap();
    assert_eq!((report.counted_rows, report.bad_labels, report.first_bad_row, losses[3]), (3, 1, 3, 0.0));
    device.cross_entropy(Logits::<f32>::InPlace(&mut []), &[0i32; 0], 3, Loss::Mean(&mut loss), &plain).unwrap();
    assert_eq!(loss, 0.0);
}

#[test]
fn lists_refuse_what_does_not_fit_and_write_nothing() {
    let (device, options, shape) = (Device::open(ALL).unwrap(), AdamW::default(), "QUERN_INVALID_SHAPE");
    let step = |[p, g, m, v, w]: [usize; 5], second: bool, step| {
        let (grad, [mut a, mut b]) = ([1f32; 8], [[[Bf16(7); 8]; 2]; 2]);
        let ([mut m_values, mut v_values, mut c, mut d], mut masters) = ([[7f32; 8]; 4], [[7f32; 8]; 2]);
        let [first_master, second_master] = &mut masters;
        let mut tensors = [
            AdamTensor { param: &mut a[0], grad: &grad, m: &mut m_values, v: &mut v_values, master: Some(first_master) },
            AdamTensor {
                param: &mut b[0][..p], grad: &grad[..g], m: &mut c[..m], v: &mut d[..v],
                master: second.then_some(&mut second_master[..w]),
            },
        ];
        let result = device.adamw(&mut tensors, step, &options);
        assert!(result.is_ok() || (a[0] == [Bf16(7); 8] && masters == [[7.0; 8]; 2] && m_values == [7.0; 8]));
        result
    };
    for (place, name) in ["grad", "m", "v", "master"].iter().enumerate() {
        let mut lengths = [8; 5];
        lengths[place + 1] = 7;
        expect_refused(step(lengths, true, 1), shape, &format!("{name} of tensor 1 has 7 elements: expected 8"));
    }
    expect_refused(step([8; 5], false, 1), "QUERN_INVALID_ARGUMENT", "expected a master for all tensors, or none");
    expect_refused(step([8; 5], true, 0), "QUERN_INVALID_ARGUMENT", "step");
    step([8; 5], true, 1).unwrap();
    step([0; 5], true, 1).unwrap();
    device.adamw::<f32, f32, f32>(&mut [], 1, &options).unwrap();

    let mut codes = [7; 5];
    expect_refused(device.quantize(&[1f32; 6], &mut codes), shape, "the codes has 5 elements: expected 6");
    assert_eq!(codes, [7; 5]);
    device.quantize::<f32>(&[], &mut []).unwrap();
}

#[test]
fn errors_have_a_kind_and_a_reason() {
    let mut device = Device::open(&[]).unwrap();
    let unprepared = device.quantize(&[1f32], &mut [0]).unwrap_err();
    assert_eq!((unprepared.kind(), unprepared.name), (Kind::InvalidArgument, "QUERN_NOT_PREPARED"));
    assert!(unprepared.to_string().starts_with("QUERN_NOT_PREPARED: ") && unprepared.to_string().contains("quern_prepare"));
    device.prepare(ALL).unwrap();
    device.quantize(&[1f32], &mut [0]).unwrap();
    expect_refused(device.set_threads(usize::MAX), "QUERN_INVALID_ARGUMENT", "expected 0 to 1024");
    for (status, kind) in [
        (sys::QUERN_INVALID_PACK, Kind::InvalidArgument), (sys::QUERN_NO_KERNEL, Kind::NotSupported),
        (sys::QUERN_OUT_OF_MEMORY, Kind::OutOfMemory), (sys::QUERN_SYSTEM_ERROR, Kind::System), (sys::QUERN_PEER_LOST, Kind::Peer),
    ] {
        assert_eq!(Error { status, name: "", detail: String::new() }.kind(), kind);
    }
}

/// Between each two neighbours the value in the middle goes to the even one, and others to the nearer one.
fn expect_nearest<T: Float + std::fmt::Debug + PartialEq>(of: fn(u16) -> T, infinity: u16) {
    for bits in 0..infinity {
        let (low, high) = (of(bits).to_f32(), of(bits + 1).to_f32());
        let high = if bits + 1 == infinity { 2.0 * f64::from(low) - f64::from(of(bits - 1).to_f32()) } else { high.into() };
        let middle = ((f64::from(low) + high) / 2.0) as f32;
        let moved = |units: i32| f32::from_bits(middle.to_bits().wrapping_add_signed(units));
        for (sign, negative) in [(1.0, 0), (-1.0, 0x8000)] {
            let even = bits + (bits & 1);
            for (x, expected) in [(low, bits), (middle, even), (moved(-1), bits), (moved(1), bits + 1)] {
                assert_eq!(T::from_f32(sign * x), of(expected | negative), "{x}");
            }
        }
    }
    assert!(of(infinity).to_f32() == f32::INFINITY && of(infinity + 1).to_f32().is_nan());
    assert!([0x7F80_0001, 0xFFFF_FFFF].iter().all(|nan| T::from_f32(f32::from_bits(*nan)).to_f32().is_nan()));
    assert_eq!(T::from_f32(f32::INFINITY), of(infinity));
}

#[test]
fn halves_are_rounded_to_the_nearest() {
    expect_nearest(Bf16, 0x7F80);
    expect_nearest(F16, 0x7C00);
    let least = 2f32.powi(-24);
    for (bits, value) in [(0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (0x0001, least), (0x03FF, 1023.0 * least)] {
        assert_eq!(F16(bits).to_f32(), value);
    }
    assert!(Bf16(0xBF80).to_f32() == -1.0 && Bf16(0x4049).to_f32() == 3.140625);
}
