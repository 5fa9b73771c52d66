public import Foundation
public import RepriseChannels
public import RepriseCore

/// The client: one journal, one server, and the doors between them.
///
/// ```swift
/// import Reprise
///
/// let reprise = try await Reprise.open(
///     at: folder, server: "https://chat.example.org", dialer: dialer)
/// let general = try reprise.channel("general")
/// try await general.read("inbox") { message in print(message.json) }
/// try await general.publish(#""hello""#)
/// try await reprise.run()
/// ```
public final class Reprise: Sendable {
    /// What can be set.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// The connection and the repair of holes.
        public var channels = Channels.Configuration()

        /// The defaults.
        public init() {}
    }

    /// The channels.
    public let channels: Channels

    private init(channels: Channels) { self.channels = channels }

    /// Opens the journal in `folder`, or makes a new one there.
    ///
    /// Nothing is sent before ``run()``.
    ///
    /// - Parameters:
    ///   - folder: a folder of this account alone; it is made if it is not there.
    ///   - server: `http://` or `https://` with host and port.
    ///   - dialer: opens connections; `NIODialer` of RepriseNIO where there is no better one.
    ///   - configuration: what can be set.
    /// - Returns: the client, which owns the journal until ``close()``.
    /// - Throws: ``RepriseError`` `.journalOwned`, `.journalNewer`, `.notAJournal`, `.notWritable`, `.diskFull`,
    ///   `.badConfiguration`.
    public static func open(
        at folder: URL, server: String, dialer: any SocketDialer,
        configuration: Configuration = Configuration()
    ) async throws -> Reprise {
        throw RepriseError(.internal, "Not built yet.")
    }

    /// A handle on a channel.
    ///
    /// - Parameter name: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`.
    /// - Returns: the handle.
    /// - Throws: ``RepriseError`` `.badChannelName`.
    public func channel(_ name: String) throws -> Channel { try channels.channel(name) }

    /// Says that a condition holds now: entries that waited for it are handed over.
    public func open(_ readiness: Readiness) async {}

    /// Says that a condition does not hold any more.
    public func close(_ readiness: Readiness) async {}

    /// The sum of promise 5, over everything in the journal.
    ///
    /// - Throws: what the journal throws.
    public func ledger() async throws -> LedgerSum { LedgerSum() }

    /// Connects, connects again whenever the connection ends, and hands over what comes, until the task is cancelled.
    ///
    /// - Throws: ``RepriseError`` `.ownershipLost`, `.closed`, or `.refused` when the server says that coming back is
    ///   of no use. Cancellation is no error.
    public func run() async throws { try await channels.run() }

    /// Closes the journal.
    ///
    /// What is in hand is finished or handed over again at the next opening.
    public func close() async {}
}
