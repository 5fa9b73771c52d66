import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseNIO
import RepriseTesting
import RepriseWire
import Synchronization

/// A device of a person: the SDK as an app uses it, a journal on disk, tokens.
final class PersonsDevice: Sendable {
    let reprise: AccountClient
    let user: UserID
    private let folder: TemporaryFolder
    private let running = Mutex<Task<Void, Never>?>(nil)
    private let ending = Mutex<RepriseError?>(nil)

    static func open(
        _ server: PeopleServer, _ user: UserID, reportsPhases: Bool = false,
        tokens: (@Sendable (TokenRequest) async throws -> AccessToken)? = nil
    ) async throws -> PersonsDevice {
        let folder = try TemporaryFolder()
        let requests = RequestList()
        var configuration = AccountClient.Configuration()
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(50), longest: .milliseconds(500))
        configuration.channels.receiptInterval = .milliseconds(50)
        configuration.channels.reportsPhases = reportsPhases
        let identity = Identity(user: user) { request in
            requests.reasons.withLock { $0.append(request.reason) }
            return try await tokens?(request) ?? server.token(for: request.user)
        }
        let reprise = try await AccountClient.open(
            at: folder.appending("journal"), server: server.url,
            dialer: NIODialer(timeout: .seconds(2)), identity: identity,
            configuration: configuration)
        return PersonsDevice(reprise, user, folder, requests)
    }

    private let list: RequestList

    private init(
        _ reprise: AccountClient, _ user: UserID, _ folder: TemporaryFolder, _ list: RequestList
    ) {
        self.reprise = reprise
        self.user = user
        self.folder = folder
        self.list = list
    }

    /// Why the app was asked for a token, each time.
    var asked: [TokenRequest.Reason] { list.reasons.withLock(\.self) }

    func channel(_ name: String) throws -> Channel { try reprise.channel(name) }

    /// What `run()` has thrown, if it has.
    var givenUp: RepriseError? { ending.withLock(\.self) }

    func start(_ channels: String...) async throws {
        for name in channels { try await channel(name).subscribe() }
        let task = Task {
            do { try await reprise.run() } catch {
                ending.withLock { $0 = error as? RepriseError }
            }
        }
        running.withLock { $0 = task }
    }

    func stop() async {
        let task = running.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    func finish() async {
        await stop()
        await reprise.close()
    }

    var state: ConnectionState {
        get async {
            for await state in reprise.channels.connectionStates { return state }
            return .idle
        }
    }

    var isConnected: Bool { get async { await state == .connected } }

    func list(_ name: String) async throws -> [ChannelMessage] {
        try await channel(name).messages(limit: 500)
    }

    /// The list in short: author, body, marks.
    func shown(_ name: String) async throws -> [String] {
        try await list(name).map { message in
            "\(message.from?.text ?? "?") \(message.json)"
                + (message.isEdited ? " edited" : "") + (message.isDeleted ? " deleted" : "")
        }
    }

    func status(of id: EntryID, in name: String) async throws -> ChannelMessage.Status? {
        try await list(name).first { $0.id == id }?.status
    }

    func unread(_ name: String) async throws -> Int64? {
        for await unread in try channel(name).unread { return unread.count }
        return nil
    }

    func typists(_ name: String) async throws -> [UserID] {
        for await typists in try channel(name).typists { return typists }
        return []
    }
}

final class RequestList: Sendable {
    let reasons = Mutex<[TokenRequest.Reason]>([])
}
