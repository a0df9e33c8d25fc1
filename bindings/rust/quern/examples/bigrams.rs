//! Trains a table of bigrams on a short text: a row of logits for each letter, cross-entropy and AdamW.

use quern::{AdamTensor, AdamW, CrossEntropy, Device, Error, Logits, Loss, Operation};

const TEXT: &[u8] = b"a device is opened once, prepared once, and shared by all threads; a call is complete on return";
const VOCAB: usize = 128;

fn main() -> Result<(), Error> {
    let device = Device::open(&[Operation::CrossEntropy, Operation::Adam])?;
    let [mut table, mut grad, mut m, mut v] = [0; 4].map(|_| vec![0f32; VOCAB * VOCAB]);
    let labels: Vec<i32> = TEXT[1..].iter().map(|&letter| letter.into()).collect();
    let letters = || TEXT[..labels.len()].iter().map(|&letter| usize::from(letter) * VOCAB);
    let mut loss = 0.0;
    for step in 1..=100 {
        let mut logits: Vec<f32> = letters().flat_map(|row| table[row..row + VOCAB].to_vec()).collect();
        let options = CrossEntropy { portable_bits: true, ..CrossEntropy::default() };
        device.cross_entropy(Logits::InPlace(&mut logits), &labels, VOCAB, Loss::Mean(&mut loss), &options)?;
        if step == 1 {
            print!("loss {loss:.3}");
        }
        grad.fill(0.0);
        for (row, slope) in letters().zip(logits.chunks(VOCAB)) {
            grad[row..].iter_mut().zip(slope).for_each(|(sum, slope)| *sum += slope);
        }
        let tensor = AdamTensor { param: &mut table, grad: &grad, m: &mut m, v: &mut v, master: None };
        device.adamw(&mut [tensor], step, &AdamW { lr: 0.1, ..AdamW::default() })?;
    }
    println!(", after 100 steps {loss:.3}, by {} threads of {}", device.threads(), device.target());
    Ok(())
}
