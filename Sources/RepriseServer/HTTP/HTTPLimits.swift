import RepriseWire

/// The bounds of the HTTP API; `docs/limits.md` lists them.
package struct HTTPLimits: Hashable, Sendable {
    /// The most bytes of a request's head, and of one field of it (431).
    package static let headBytes = 65_536
    /// The most fields of a request's head (431).
    package static let headFields = 256

    /// The most bytes of one message with its envelope: a JSON body (413), or a line of NDJSON (an
    /// error of that line).
    package var messageBytes = WireLimits.bodyBytes + 4_096
    /// The most bytes of any other JSON body (413).
    package var objectBytes = 16_384
    /// The most bytes of an NDJSON request; the lines before are stored and answered.
    package var streamBytes = 64 << 20
    /// The most lines of an NDJSON request; the lines before are stored and answered.
    package var streamLines = 100_000
    /// How many lines of an NDJSON request are stored by one commit.
    package var batchLines = 256
    /// How many bytes of an NDJSON request are stored by one commit.
    package var batchBytes = 1 << 20
    /// How long a JSON body may take to arrive (408).
    package var messageTime: Duration = .seconds(30)
    /// How long an NDJSON body may take to arrive (408).
    package var streamTime: Duration = .seconds(300)
    /// How many bytes of a refused body are read, so that the answer reaches a client that sends
    /// first and reads then.
    package var discardedBytes = 2 << 20
    /// How many bytes of answers the system takes of a connection before they are sent.
    static let systemBufferBytes = 131_072
    /// How long a stream waits for room in the committer's queue before its lines are refused as
    /// `overloaded`.
    package var queueTime: Duration = .seconds(5)
    /// How many messages a page of history has, and how many it may have.
    package var historyDefault = 100
    /// See ``historyDefault``.
    package var historyMost = 1_000

    /// How many channels a page has, and how many it may have: each is asked for what is unread.
    package var channelsDefault = 100
    /// See ``channelsDefault``.
    package var channelsMost = 200
    /// How many members a page has, and how many it may have.
    package var membersDefault = 100
    /// See ``membersDefault``.
    package var membersMost = 1_000

    package init() {}
}
