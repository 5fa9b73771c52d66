import RepriseCore

/// The identity of a person or a program on the server: the `sub` of a token.
///
/// 1 to 128 printable ASCII characters without space, `"` and `\`, so that the ids of identity
/// providers fit (`auth0|5f7c8ec7`, `ada@example.org`).
public struct UserID: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let text: String

    /// Takes a user's name.
    ///
    /// - Parameter text: 1 to 128 printable ASCII characters without space, `"` and `\`.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public init(_ text: String) throws {
        var text = text
        guard text.withUTF8({ EntryID.isValid($0) }) else {
            throw RepriseError(
                .malformed,
                "A user has 1 to 128 printable ASCII characters without space, quote and backslash."
            )
        }
        self.text = text
    }

    package init(unchecked text: String) { self.text = text }

    /// The text.
    public var description: String { text }
}

extension UserID: Comparable {
    /// By bytes.
    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}
