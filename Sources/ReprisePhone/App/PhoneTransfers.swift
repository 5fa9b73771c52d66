import Foundation
import RepriseCore
import Synchronization

/// The phone's transfers, for one app.
struct PhoneTransfers: TransferService {
    let link: PhoneLink

    func start(_ request: TransferRequest) async throws {
        _ = try await link.ask(.startTransfer(request))
    }

    func transfers() async throws -> [Transfer] {
        guard case .transfers(let transfers) = try await link.ask(.transfers) else {
            throw PhoneApp.nonsense
        }
        return transfers
    }

    func cancel(_ id: String) async throws { _ = try await link.ask(.cancelTransfer(id)) }

    func forget(_ id: String) async throws { _ = try await link.ask(.forgetTransfer(id)) }

    var changes: AsyncStream<Transfer> { link.transfers.changes }
}

/// Broadcasts changes to all readers.
final class PhoneTransferEvent: Sendable {
    private struct State {
        var readers: [Int: AsyncStream<Transfer>.Continuation] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// One end for each transfer; the rest is for progress, of which the newest suffices.
    private static let room = 4 * PhoneLimits.transfers

    func publish(_ transfer: Transfer) {
        let readers = state.withLock { Array($0.readers.values) }
        for reader in readers { reader.yield(transfer) }
    }

    var changes: AsyncStream<Transfer> {
        let (stream, reader) = AsyncStream<Transfer>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.room))
        let id = state.withLock { state in
            state.last += 1
            state.readers[state.last] = reader
            return state.last
        }
        reader.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.readers.removeValue(forKey: id) }
        }
        return stream
    }
}
