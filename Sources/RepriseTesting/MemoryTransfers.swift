import Foundation
public import RepriseCore
import Synchronization

/// The system's transfers in memory: they run until a test ends them, and outlive the app.
///
/// ```swift
/// let transfers = MemoryTransfers()
/// let workers = StandardWorkers(sandbox: sandbox, transfers: transfers)
/// …
/// try transfers.finish("photo-1", status: 200, body: bytes)
/// ```
///
/// Nothing goes over a network: redirects, retries, partial downloads and the order in which the
/// system runs them are tried on the stand-in phone.
public final class MemoryTransfers: TransferService {
    private struct Known {
        var transfer: Transfer
        /// Tells it from an earlier one of its id.
        let number: Int
        /// The app has cancelled it, which is not reported yet.
        var isCancelling = false
    }

    private struct State {
        var known: [Known] = []
        var requests: [TransferRequest] = []
        var refusal: RepriseError?

        func running(_ id: String) -> Int? {
            known.firstIndex {
                $0.transfer.id == id && $0.transfer.state == .running && !$0.isCancelling
            }
        }
    }

    /// The most transfers that are known.
    public static let limit = 256

    private let folder: TemporaryFolder
    private let answer: @Sendable (TransferRequest) -> HTTPAnswer?
    private let state = Mutex(State())
    private let streams = ValueStreams<Transfer>(newest: 4 * limit)

    /// Makes a system without transfers.
    ///
    /// - Parameter answer: the server's answer to a request at once; nil: the test ends it.
    /// - Throws: the file system's errors.
    public init(answer: @escaping @Sendable (TransferRequest) -> HTTPAnswer? = { _ in nil }) throws
    {
        folder = try TemporaryFolder()
        self.answer = answer
    }

    // MARK: The system

    /// Every transfer that was started, in order.
    public var requests: [TransferRequest] { state.withLock { $0.requests } }

    /// Refuses to start transfers from now on; nil: only by the rules.
    public func refuse(_ error: RepriseError?) { state.withLock { $0.refusal = error } }

    /// Reports progress of a running transfer.
    ///
    /// - Parameters:
    ///   - id: the transfer's.
    ///   - bytes: how many are transferred.
    ///   - total: how many there are; nil: unknown.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if none of this id runs.
    public func progress(_ id: String, bytes: Int64, total: Int64? = nil) throws {
        try change(id) { ($0.bytes, $0.total) = (bytes, total) }
    }

    /// Ends a transfer with the server's answer, which is a file for a download.
    ///
    /// - Parameters:
    ///   - id: the transfer's.
    ///   - status: as in RFC 9110 §15; every status ends it.
    ///   - headers: by their names in lower case.
    ///   - body: the content.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if none of this id runs; the file
    ///   system's errors.
    public func finish(
        _ id: String, status: Int = 200, headers: [String: String] = [:], body: [UInt8] = []
    ) throws {
        let isDownload = requests.last { $0.id == id }?.direction == .download
        var file: URL?
        if isDownload {
            let made = folder.appending(UUID().uuidString)
            try Data(body).write(to: made)
            file = made
        }
        let end = Transfer.State.finished(HTTPHead(status: status, headers: headers), file: file)
        do {
            try change(id) { transfer in
                if isDownload {
                    (transfer.bytes, transfer.total) = (Int64(body.count), Int64(body.count))
                }
                transfer.state = end
            }
        } catch {
            if let file { try? FileManager.default.removeItem(at: file) }
            throw error
        }
    }

    /// Ends a transfer without an answer.
    ///
    /// - Parameters:
    ///   - id: the transfer's.
    ///   - reason: for people.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if none of this id runs.
    public func fail(_ id: String, _ reason: String = "The connection was lost.") throws {
        try change(id) { $0.state = .failed(reason) }
    }

    /// Cancels all of them, as the system does when a person has force-quit the app.
    public func forceQuit() {
        let ended = state.withLock { state in
            let running = state.known.indices.filter { state.known[$0].transfer.state == .running }
            for index in running { state.known[index].transfer.state = .cancelled }
            return running.map { state.known[$0].transfer }
        }
        for transfer in ended { streams.send(transfer) }
    }

    private func change(_ id: String, _ body: (inout Transfer) -> Void) throws {
        let changed = try state.withLock { state in
            guard let index = state.running(id) else {
                throw RepriseError(
                    .noSuchEntry, "No transfer \(id) runs.",
                    remedy: "There: \(state.known.map(\.transfer.id).joined(separator: ", ")).")
            }
            body(&state.known[index].transfer)
            return state.known[index].transfer
        }
        streams.send(changed)
    }

    // MARK: The app

    /// Starts a transfer; does nothing while the same id is known.
    public func start(_ request: TransferRequest) async throws {
        let isNew = try state.withLock { state in
            if let refusal = state.refusal { throw refusal }
            if let fault = Self.fault(request) { throw RepriseError(.refused, fault) }
            guard !state.known.contains(where: { $0.transfer.id == request.id }) else {
                return false
            }
            guard state.known.count < Self.limit else {
                throw RepriseError(
                    .full, "\(Self.limit) transfers are known.",
                    remedy: "Forget those that are done.")
            }
            state.requests.append(request)
            state.known.append(
                Known(
                    transfer: Transfer(id: request.id, state: .running),
                    number: state.requests.count))
            return true
        }
        guard isNew, let answer = answer(request) else { return }
        try finish(
            request.id, status: answer.status, headers: answer.headers, body: answer.body)
    }

    private static func fault(_ request: TransferRequest) -> String? {
        guard (1...128).contains(request.id.utf8.count) else {
            return "A transfer's id has 1 to 128 bytes."
        }
        let url = URL(string: request.url)
        guard ["http", "https"].contains(url?.scheme?.lowercased()), url?.host != nil else {
            return "A transfer in the background is for http:// and https:// alone."
        }
        if case .upload(let file) = request.direction, !file.isFileURL {
            return "An upload in the background is of a file."
        }
        return nil
    }

    /// All transfers, finished ones included, until ``forget(_:)``.
    public func transfers() async throws -> [Transfer] {
        state.withLock { $0.known.map(\.transfer) }
    }

    /// Cancels a running transfer, whose end is reported later, as the system does.
    public func cancel(_ id: String) async throws {
        let number = state.withLock { state -> Int? in
            guard let index = state.running(id) else { return nil }
            state.known[index].isCancelling = true
            return state.known[index].number
        }
        guard let number else { return }
        Task { cancelled(number) }
    }

    private func cancelled(_ number: Int) {
        let ended = state.withLock { state -> Transfer? in
            let index = state.known.firstIndex {
                $0.number == number && $0.transfer.state == .running
            }
            guard let index else { return nil }
            state.known[index].transfer.state = .cancelled
            return state.known[index].transfer
        }
        if let ended { streams.send(ended) }
    }

    /// Forgets a transfer and its file; nothing more is told of one that runs.
    public func forget(_ id: String) async throws {
        let files = state.withLock { state in
            let files = state.known.filter { $0.transfer.id == id }.compactMap { known in
                if case .finished(_, let file) = known.transfer.state { file } else { nil }
            }
            state.known.removeAll { $0.transfer.id == id }
            return files
        }
        for file in files { try? FileManager.default.removeItem(at: file) }
    }

    /// Each transfer whose state or progress changes from now on.
    public var changes: AsyncStream<Transfer> { streams.open() }
}
