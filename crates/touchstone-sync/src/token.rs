//! Bearer tokens. A token is 32 random bytes, and the service keeps their SHA-256 alone: whoever reads its file cannot ask in
//! anybody's name. Nothing is guessed of 32 random bytes, so a hash that is quick to compute is as good as a slow one.

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::fmt;

/// What every token begins with, so that a leaked one is found by those who look for secrets.
pub const PREFIX: &str = "tsync_";

/// Random bytes of a token.
const SECRET_BYTES: usize = 32;

/// Bytes of a hash that name its token in lists.
const NAME_BYTES: usize = 6;

/// A token's secret words. It is shown once, and does not tell itself to a log.
pub struct Token(String);

/// What is kept of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl Token {
    /// Makes one.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn make() -> anyhow::Result<Token> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).context("the system gives no random bytes")?;
        Ok(Token(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(secret))))
    }

    /// The words, to be shown to whoever is to have them.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl TokenHash {
    /// Of a token's words, as a client sent them.
    pub fn of(words: &str) -> TokenHash {
        TokenHash(hmac_sha256::Hash::hash(words.as_bytes()))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The name of a token in lists, of its hash's bytes: 12 hexadecimal digits.
    pub fn name_of(hash: &[u8]) -> String {
        hash.iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Its token's name in lists.
    pub fn name(&self) -> String {
        TokenHash::name_of(&self.0)
    }
}

/// A new history's name: 16 hexadecimal digits.
///
/// # Errors
/// When the system gives no random bytes.
pub(crate) fn history() -> anyhow::Result<String> {
    let number = getrandom::u64().context("the system gives no random bytes")?;
    Ok(format!("{number:016x}"))
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TokenHash({}…)", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From NIST's examples of SHA-256.
    #[test]
    fn what_is_kept_is_the_sha_256_of_the_words() {
        let hex: String = TokenHash::of("abc").bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(TokenHash::of("abc").name(), "ba7816bf8f01");
    }

    #[test]
    fn no_two_tokens_are_the_same_and_none_tells_itself() {
        let [one, other] = [Token::make().unwrap(), Token::make().unwrap()];
        assert_ne!(one.reveal(), other.reveal());
        assert!(one.reveal().starts_with(PREFIX) && one.reveal().len() == PREFIX.len() + 43);
        assert!(!format!("{one:?} {:?}", one.hash()).contains(&one.reveal()[PREFIX.len()..]));
    }
}
