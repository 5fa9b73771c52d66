public import Foundation

/// An error with a code for programs and a sentence for people.
///
/// ```swift
/// do {
///     journal = try await Journal.open(at: folder)
/// } catch let error as RepriseError where error.code == .journalOwned {
///     print(error.remedy ?? error.message)
/// }
/// ```
///
/// Match on ``code``: two errors are equal if their texts are, too. The set of codes is open: a new
/// one never breaks your `switch`.
public struct RepriseError: Error, Hashable, Sendable {
    /// Names one failure; compare with the static members.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The stable name in logs, on the wire and in `--json` output.
        public let name: String

        /// Makes a code of your own, for a handler that ends an entry with a reason.
        public init(_ name: String) { self.name = name }

        /// The stable name.
        public var description: String { name }
    }

    /// What happened, for programs.
    public let code: Code
    /// What happened, for people: one sentence, no secrets.
    public let message: String
    /// What to do about it, if anything can be done.
    public let remedy: String?
    /// The underlying error as text, so that this error stays `Sendable` and comparable.
    public let cause: String?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: what happened, for programs.
    ///   - message: what happened, for people.
    ///   - remedy: what to do about it.
    ///   - cause: the underlying error.
    public init(
        _ code: Code, _ message: String, remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause.map { "\($0)" }
    }
}

extension RepriseError.Code {
    // The journal and its folder.

    /// Another process owns this journal.
    public static let journalOwned = Self(Known.journalOwned)
    /// A newer incarnation has taken the ownership of this journal from this process; nothing was
    /// written.
    public static let ownershipLost = Self(Known.ownershipLost)
    /// The journal was written by a newer version of Reprise.
    public static let journalNewer = Self(Known.journalNewer)
    /// A journal folder was expected and something else is there, or the reverse.
    public static let notAJournal = Self(Known.notAJournal)
    /// The file system refuses to write here.
    public static let notWritable = Self(Known.notWritable)
    /// The disk is full; nothing was written and nothing is lost.
    public static let diskFull = Self(Known.diskFull)
    /// The disk failed to read or write; retry, the journal itself may be sound.
    public static let diskFailed = Self(Known.diskFailed)
    /// Another connection has locked the database for longer than the busy timeout.
    public static let busy = Self(Known.busy)
    /// The database is proved to be damaged.
    public static let corrupt = Self(Known.corrupt)
    /// The journal or the connection was closed before this could be done.
    public static let closed = Self(Known.closed)
    /// The kind of the entry was not declared when the journal was opened.
    public static let unknownKind = Self(Known.unknownKind)
    /// No entry has this id, or its state does not allow the call.
    public static let noSuchEntry = Self(Known.noSuchEntry)

    // Bounds (guarantee 6).

    /// A payload, a body or a frame is larger than its limit.
    public static let tooLarge = Self(Known.tooLarge)
    /// A queue is at its limit; retry after an item has left it.
    public static let full = Self(Known.full)

    // Input of a peer or a person.

    /// The input violates its format.
    public static let malformed = Self(Known.malformed)
    /// A channel's name violates the rule for names.
    public static let badChannelName = Self(Known.badChannelName)
    /// An id violates the rule for ids.
    public static let badID = Self(Known.badID)
    /// The configuration cannot be used.
    public static let badConfiguration = Self(Known.badConfiguration)
    /// A server's address cannot be dialled: it names no scheme, or no host.
    public static let badAddress = Self(Known.badAddress)
    /// A reader of this name already reads the channel.
    public static let duplicateReader = Self(Known.duplicateReader)
    /// Two definitions of chains have the same name.
    public static let duplicateChain = Self(Known.duplicateChain)

    // The network.

    /// Nothing answers at this address.
    public static let unreachable = Self(Known.unreachable)
    /// A server answers, but it is not a Reprise server.
    public static let notReprise = Self(Known.notReprise)
    /// The server refused; it will refuse the same request again.
    public static let refused = Self(Known.refused)
    /// The server does not prove its identity: its certificate is not trusted.
    public static let untrusted = Self(Known.untrusted)
    /// The token is missing, or the server does not accept it.
    public static let unauthorized = Self(Known.unauthorized)
    /// The token has expired; a fresh one is needed.
    public static let tokenExpired = Self(Known.tokenExpired)
    /// The caller is authenticated, but not allowed.
    public static let forbidden = Self(Known.forbidden)
    /// The token belongs to another user than the signed-in one.
    public static let wrongUser = Self(Known.wrongUser)
    /// No answer within the timeout; the effect may have taken place.
    public static let timedOut = Self(Known.timedOut)
    /// The port to listen on is taken.
    public static let portInUse = Self(Known.portInUse)
    /// The server is going away or overloaded; come back later.
    public static let unavailable = Self(Known.unavailable)

    /// A defect of Reprise itself: please report it.
    public static let `internal` = Self(Known.internal)
}

extension RepriseError: CustomStringConvertible {
    /// The message, then the remedy and the cause if present.
    public var description: String {
        messageAndRemedy + (cause.map { " (\($0))" } ?? "")
    }

    /// What a peer is told: the message, then the remedy if present.
    package var messageAndRemedy: String { message + (remedy.map { " " + $0 } ?? "") }
}

extension RepriseError: LocalizedError {
    /// The message.
    public var errorDescription: String? { message }

    /// The underlying error as text.
    public var failureReason: String? { cause }

    /// What to do about it.
    public var recoverySuggestion: String? { remedy }
}

extension Error {
    /// Whether it says that the journal can no longer be written: it is closed, or another process
    /// has taken it over.
    package var isEndOfJournal: Bool {
        [.ownershipLost, .closed].contains((self as? RepriseError)?.code)
    }
}
