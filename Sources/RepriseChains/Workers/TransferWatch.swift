import Crypto
import RepriseCore

/// Waits for the end of one of the system's transfers.
struct TransferWatch: Sendable {
    let id: String
    let transfers: any TransferService
    let clock: any Timekeeper

    /// The name that a task's transfer has: the system takes 128 bytes, and a key may have more.
    static func id(of key: String) -> String {
        "reprise-" + Hex.text(SHA256.hash(data: Array(key.utf8)).prefix(16))
    }

    /// The system's state of it; nil: unknown transfer.
    func current() async throws -> Transfer? {
        try await transfers.transfers().first { $0.id == id }
    }

    /// Waits until it is over.
    ///
    /// Calls `progress` with the transferred share, 0 to 1. Throws `.unreachable` if the system has
    /// lost the transfer.
    func end(_ progress: @escaping @Sendable (Double) async -> Void) async throws -> Transfer {
        try await withThrowingTaskGroup(of: Transfer?.self) { group in
            group.addTask { await hear(progress) }
            // A change may be lost on the way, to a buffer that was full or before we listened.
            group.addTask { try await ask() }
            defer { group.cancelAll() }
            while let found = try await group.next() {
                if let found { return found }
                try Task.checkCancellation()
            }
            throw CancellationError()
        }
    }

    private func hear(_ progress: @Sendable (Double) async -> Void) async -> Transfer? {
        for await change in transfers.changes where change.id == id {
            if change.isOver { return change }
            if let total = change.total, total > 0 {
                await progress(min(Double(change.bytes) / Double(total), 1))
            }
        }
        return nil
    }

    private func ask() async throws -> Transfer? {
        while true {
            guard let transfer = try await current() else {
                throw RepriseError(
                    .unreachable, "The system knows the transfer no more.",
                    remedy: "It is started again.")
            }
            if transfer.isOver { return transfer }
            try await clock.sleep(for: WorkerLimits.transferLook)
        }
    }
}

extension Transfer {
    var isOver: Bool { state != .running }
}
