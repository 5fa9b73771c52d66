import RepriseWire

/// The limits of the HTTP API; `docs/limits/server.md` lists them.
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
    /// The most bytes of an NDJSON request; earlier lines are stored and answered.
    package var streamBytes = 64 << 20
    /// The most lines of an NDJSON request; earlier lines are stored and answered.
    package var streamLines = 100_000
    /// The most NDJSON requests in progress (503).
    package var streams = 64
    /// The most of them of one user who is no admin (429).
    package var streamsOfUser = 8
    /// The most lines of an NDJSON request in one commit.
    package var batchLines = 256
    /// The most bytes of an NDJSON request in one commit.
    package var batchBytes = 1 << 20
    /// The timeout of a JSON body (408).
    package var messageTime: Duration = .seconds(30)
    /// The timeout of an NDJSON body (408).
    package var streamTime: Duration = .seconds(300)
    /// The most bytes of a refused body that are read, so that the answer reaches a client that
    /// sends before it reads.
    package var discardedBytes = 2 << 20
    /// The most unsent answer bytes per connection in the system's buffer.
    static let systemBufferBytes = 131_072
    /// How long a stream waits for space in the committer's queue before its lines are refused as
    /// `overloaded`.
    package var queueTime: Duration = .seconds(5)
    /// The default number of messages in a page of history.
    package var historyDefault = 100
    /// The most messages in a page of history.
    package var historyMost = 1_000
    /// The most bytes of bodies in a page of history, but at least one message.
    package static let historyBytes = 4 << 20

    /// The default number of channels in a page; each costs an unread count.
    package var channelsDefault = 100
    /// The most channels in a page.
    package var channelsMost = 200
    /// The default number of members in a page.
    package var membersDefault = 100
    /// The most members in a page.
    package var membersMost = 1_000
    /// The most conversations of two of a user.
    package var directs = AccountLimits.directs

    package init() {}
}
