//! How a peer breaks the protocol.

use std::fmt;

use crate::CloseCode;

/// How a peer broke the protocol. It is always the end of the connection (RFC 6455 section 7.1.7): a close
/// frame with [`code`](Self::code) is due, and nothing more is read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// A reserved bit is set, and no extension that was agreed to gives it a meaning (RFC 6455 section 5.2;
    /// for RSV1 also RFC 7692 section 6).
    ReservedBit,
    /// Opcode 3 to 7 or 11 to 15 (RFC 6455 section 5.2).
    UnknownOpcode,
    /// A control frame without FIN (RFC 6455 section 5.5).
    FragmentedControlFrame,
    /// A control frame with more than 125 bytes (RFC 6455 section 5.5).
    ControlFrameTooLong,
    /// A continuation of nothing (RFC 6455 section 5.4).
    UnexpectedContinuation,
    /// A new message within a fragmented one (RFC 6455 section 5.4).
    InterruptedMessage,
    /// A client's frame that isn't masked (RFC 6455 section 5.1).
    NotMasked,
    /// A server's frame that is masked (RFC 6455 section 5.1).
    Masked,
    /// A length in more bytes than it needs (RFC 6455 section 5.2).
    LengthNotMinimal,
    /// A length of 2^63 or more (RFC 6455 section 5.2).
    LengthTooLarge,
    /// A close frame with half a code (RFC 6455 section 5.5.1).
    HalfCloseCode,
    /// A close frame with a code that may not be sent (RFC 6455 section 7.4).
    InvalidCloseCode,
    /// A text or a close frame's reason that isn't UTF-8 (RFC 6455 section 8.1).
    InvalidUtf8,
    /// Compressed data that isn't DEFLATE, or breaks off (RFC 7692 section 7.2.2).
    CorruptDeflate,
    /// More than [`MAX_FINAL_BLOCKS`](crate::MAX_FINAL_BLOCKS) in a compressed message.
    TooManyFinalBlocks,
    /// More bytes than a message may have, as sent or as inflated.
    MessageTooBig,
}

impl Failure {
    /// The code of the close frame that the peer gets.
    pub fn code(self) -> CloseCode {
        match self {
            Self::ReservedBit
            | Self::UnknownOpcode
            | Self::FragmentedControlFrame
            | Self::ControlFrameTooLong
            | Self::UnexpectedContinuation
            | Self::InterruptedMessage
            | Self::NotMasked
            | Self::Masked
            | Self::LengthNotMinimal
            | Self::LengthTooLarge
            | Self::HalfCloseCode
            | Self::InvalidCloseCode => CloseCode::PROTOCOL_ERROR,
            Self::InvalidUtf8 | Self::CorruptDeflate => CloseCode::INVALID_PAYLOAD,
            Self::TooManyFinalBlocks => CloseCode::POLICY_VIOLATION,
            Self::MessageTooBig => CloseCode::MESSAGE_TOO_BIG,
        }
    }

    /// The reason of that close frame. It quotes nothing that the peer sent.
    pub fn reason(self) -> &'static str {
        match self {
            Self::ReservedBit => "a reserved bit is set",
            Self::UnknownOpcode => "the opcode is reserved",
            Self::FragmentedControlFrame => "a control frame is fragmented",
            Self::ControlFrameTooLong => "a control frame has more than 125 bytes",
            Self::UnexpectedContinuation => "a continuation of no message",
            Self::InterruptedMessage => "a new message within a fragmented one",
            Self::NotMasked => "a client's frame is not masked",
            Self::Masked => "a server's frame is masked",
            Self::LengthNotMinimal => "a length is not in its shortest form",
            Self::LengthTooLarge => "a length has its highest bit set",
            Self::HalfCloseCode => "a close frame has half a code",
            Self::InvalidCloseCode => "a close code may not be sent",
            Self::InvalidUtf8 => "a text is not UTF-8",
            Self::CorruptDeflate => "a message cannot be inflated",
            Self::TooManyFinalBlocks => "a compressed message ends too often",
            Self::MessageTooBig => "a message is too big",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for Failure {}
