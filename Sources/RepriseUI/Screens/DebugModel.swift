public import Foundation
public import Observation
public import Reprise

/// The debug screen: client, connection, coverage, outbox and ledger of the current account.
///
/// ```swift
/// let debug = DebugModel(client)
/// await debug.refresh()
/// for section in debug.sections { print(section.id, section.rows.map(\.value)) }
/// ```
///
/// `DebugView` lays it out. It never shows a body or a token, and lists at most 100 channels and
/// 100 dead letters.
@MainActor @Observable
public final class DebugModel {
    /// The sections, in the order of the screen.
    public private(set) var sections: [DebugSection] = []
    /// Why what a person asked for last cannot be done, or why the figures cannot be read; nil:
    /// nothing.
    public var fault: RepriseError? { refusal ?? unread }

    @ObservationIgnored private let client: RepriseClient
    @ObservationIgnored private let model: ClientModel
    @ObservationIgnored private let zone: TimeZone
    /// Stays over reads until the next action: else nobody would have the time to read it.
    private var refusal: RepriseError?
    private var unread: RepriseError?

    /// Makes the model; it reads nothing yet.
    ///
    /// - Parameters:
    ///   - client: the client.
    ///   - zone: of the times that are shown.
    public init(_ client: RepriseClient, timeZone zone: TimeZone = .current) {
        self.client = client
        self.zone = zone
        model = client.model
    }

    /// Reads the figures; a journal that is not open stays so.
    public func refresh() async {
        var figures: ClientDiagnostics?
        var fault: RepriseError?
        if case .open = client.state {
            do { figures = try await client.diagnostics() } catch {
                fault = RepriseError(showing: error)
            }
        }
        unread = fault
        let now = WallTime(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
        sections = DebugText(zone: zone, now: now)
            .sections(client.state, figures?.connection.state ?? model.connection, figures)
    }

    /// Reads them again and again, until the task is cancelled: for a view's `task`.
    ///
    /// - Parameter interval: between two reads.
    public func follow(every interval: Duration = .seconds(1)) async {
        while !Task.isCancelled {
            await refresh()
            try? await Task.sleep(for: interval)
        }
    }

    /// Dials at once, whatever the client waits for.
    public func reconnect() async { await perform { await $0.reconnect() } }

    /// Sends a dead letter again.
    ///
    /// - Parameter letter: of a row.
    public func resend(_ letter: EntryID) async {
        await perform { try await $0.outbox.retry(letter) }
    }

    /// Withdraws a dead letter.
    ///
    /// - Parameter letter: of a row.
    public func withdraw(_ letter: EntryID) async {
        await perform { try await $0.outbox.withdraw(letter) }
    }

    private func perform(_ action: (RepriseClient) async throws -> Void) async {
        refusal = nil
        do {
            try await action(client)
            await refresh()
        } catch {
            refusal = RepriseError(showing: error)
        }
    }
}
