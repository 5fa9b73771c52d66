public import RepriseCore

/// The phone's answer.
public enum PhoneAnswer: Hashable, Sendable, Codable {
    /// Done, and on disk.
    case done
    /// How everything is.
    case status(PhoneStatus)
    /// Events in order.
    case log([PhoneEvent])
    /// It was not done, and nothing has changed.
    case failed(PhoneFailure)
}

/// An answer with the number of its request.
public struct PhoneReply: Hashable, Sendable, Codable {
    /// The number of the request; nil if the line could not be read as one.
    public var id: Int?
    /// The answer.
    public var answer: PhoneAnswer
}

/// Why something was not done: an error as it crosses the socket.
public struct PhoneFailure: Hashable, Sendable, Codable, Error {
    /// The name of a ``RepriseCore/RepriseError/Code``.
    public var code: String
    /// The error, for people.
    public var message: String
    /// The remedy.
    public var remedy: String?

    /// Makes a failure.
    public init(_ code: RepriseError.Code, _ message: String, remedy: String? = nil) {
        self.code = code.name
        self.message = message
        self.remedy = remedy
    }

    /// The same as a `RepriseError`.
    public var error: RepriseError {
        RepriseError(RepriseError.Code(code), message, remedy: remedy)
    }
}
