import RepriseCore

/// A channel's name: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`, beginning with a letter or a
/// digit.
///
/// It is used unchanged in URLs, JSON and metrics.
public struct ChannelName: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let text: String

    /// Takes a name.
    ///
    /// - Parameter text: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`, the first a letter or a
    ///   digit.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public init(_ text: String) throws {
        guard Self.isValid(text.utf8) else {
            throw RepriseError(
                .badChannelName,
                "A channel's name has 1 to 128 letters, digits or . _ : -, and begins with a letter "
                    + "or a digit.")
        }
        self.text = text
    }

    init(unchecked text: String) { self.text = text }

    static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, bytes.count <= WireLimits.channelNameBytes else {
            return false
        }
        return isAlphanumeric(first)
            && bytes.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "-")
            }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: false
        }
    }

    /// The text.
    public var description: String { text }
}

extension ChannelName: Comparable {
    /// By bytes.
    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

/// The identity of a channel's log: the rule for names, with at most 64 characters.
///
/// A new epoch makes old positions void.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let text: String

    /// Takes an epoch.
    ///
    /// - Parameter text: 1 to 64 characters, by the rule for channel names.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public init(_ text: String) throws {
        guard text.utf8.count <= WireLimits.epochBytes, ChannelName.isValid(text.utf8) else {
            throw RepriseError(.malformed, "An epoch has 1 to 64 letters, digits or . _ : -.")
        }
        self.text = text
    }

    /// A new random epoch of 128 bits.
    public static func random() -> Epoch { Epoch(unchecked: EntryID.random().text) }

    private init(unchecked text: String) { self.text = text }

    /// The text.
    public var description: String { text }
}
