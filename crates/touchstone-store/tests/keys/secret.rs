//! A key that is nowhere in memory but where somebody else has put it.

/// What every byte is held with.
const MASK: u8 = 0x95;
/// Long enough to be nothing else, and short enough to be found where the beginning was overwritten.
const PART: usize = 16;

/// 32 letters, masked: what is echoed as text is found as well as what is copied as bytes.
#[derive(Clone, Copy)]
pub struct Secret([u8; 32]);

/// As what a secret was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Bytes,
    Digits,
}

impl Secret {
    pub fn new(seed: u64) -> Secret {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Secret(std::array::from_fn(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (b'A' + (state % 26) as u8) ^ MASK
        }))
    }

    /// The bytes as they are.
    #[inline(never)]
    pub fn tell(&self) -> [u8; 32] {
        self.0.map(|byte| byte ^ MASK)
    }

    /// Where half of it is, or more, in either form.
    pub fn find(&self, bytes: &[u8]) -> Option<Form> {
        let halves = [0, PART];
        if halves.iter().any(|half| (0..bytes.len()).any(|at| self.is_at(bytes, at, *half))) {
            return Some(Form::Bytes);
        }
        halves
            .iter()
            .any(|half| (0..bytes.len()).any(|at| self.is_told_at(bytes, at, *half)))
            .then_some(Form::Digits)
    }

    fn is_at(&self, bytes: &[u8], at: usize, half: usize) -> bool {
        bytes[at] ^ MASK == self.0[half]
            && bytes.len() - at >= PART
            && (1..PART).all(|next| bytes[at + next] ^ MASK == self.0[half + next])
    }

    /// As hexadecimal digits of either case.
    fn is_told_at(&self, bytes: &[u8], at: usize, half: usize) -> bool {
        bytes[at].is_ascii_hexdigit()
            && bytes.len() - at >= 2 * PART
            && (0..PART).all(|next| {
                let value = |byte: u8| (byte as char).to_digit(16).map(|value| value as u8);
                let (first, second) = (value(bytes[at + 2 * next]), value(bytes[at + 2 * next + 1]));
                let byte = first.zip(second).map(|(first, second)| first << 4 | second);
                byte.is_some_and(|byte| byte ^ MASK == self.0[half + next])
            })
    }
}

/// The search finds what is there, or it would prove nothing.
#[test]
fn a_secret_is_found_in_every_form() {
    let (secret, other) = (Secret::new(1), Secret::new(2));
    let bytes = secret.tell();
    let digits = |upper: bool| -> Vec<u8> {
        let texts =
            bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
        texts.collect::<String>().into_bytes()
    };
    for (part, form) in [
        (bytes.to_vec(), Form::Bytes),
        (bytes[PART..].to_vec(), Form::Bytes),
        (digits(false), Form::Digits),
        (digits(true), Form::Digits),
        (digits(true)[..2 * PART].to_vec(), Form::Digits),
    ] {
        let text = [b"before ", &*part, b" after"].concat();
        assert_eq!(secret.find(&text), Some(form));
        assert_eq!(other.find(&text), None);
    }
}
