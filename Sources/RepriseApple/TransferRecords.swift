package import Foundation
package import RepriseCore
import Synchronization

/// A task of a background session, as ``TransferRecords`` sees it: a `URLSessionTask`.
package protocol TransferTask: AnyObject {
    /// The transfer's id; nil: the app has forgotten the transfer.
    var taskDescription: String? { get set }
    /// Ends it; the session reports that later.
    func cancel()
}

/// The results of a background session's transfers: files in a folder, until they are forgotten.
///
/// The session reports an end whenever it likes, also after the app has cancelled and forgotten the
/// transfer. So ``forget(_:of:)`` takes its id from each task, and whatever reads the id of a task
/// and acts on it does both under one lock.
package final class TransferRecords: Sendable {
    private struct State {
        /// Why a downloaded file could not be kept, until its task ends.
        var unkept: [String: any Error] = [:]
        /// Results whose record could not be written.
        var unrecorded: [String: Transfer] = [:]
    }

    private enum Kind: String, CaseIterable {
        // In the order in which they are removed: a record whose file is gone would be a result
        // that nobody can take.
        case record = "json"
        case content
    }

    /// Each transfer whose state changes.
    package let changes = ValueStreams<Transfer>()
    private let folder: URL
    private let failed: @Sendable (any Error) -> Void
    private let state = Mutex(State())

    /// Makes them over what earlier launches have left.
    ///
    /// - Parameters:
    ///   - folder: the folder, which exists.
    ///   - failed: gets the error of a result that could not be written: it stays in memory, and is
    ///     written at the next chance.
    package init(in folder: URL, failed: @escaping @Sendable (any Error) -> Void = { _ in }) {
        self.folder = folder
        self.failed = failed
    }

    /// Every result that is not forgotten.
    package var all: [Transfer] {
        state.withLock { state in
            for transfer in state.unrecorded.values { record(transfer, &state) }
            let files = try? FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: nil)
            let recorded = (files ?? []).filter { $0.pathExtension == Kind.record.rawValue }
                .compactMap { look(at: $0) }
            let unrecorded = state.unrecorded
            return recorded.filter { unrecorded[$0.id] == nil } + unrecorded.values
        }
    }

    /// - Returns: nil if it cannot be read, or its file is missing: then it is removed.
    private func look(at file: URL) -> Transfer? {
        guard let data = try? Data(contentsOf: file),
            var transfer = try? JSONDecoder().decode(Transfer.self, from: data),
            file.lastPathComponent == place(transfer.id, .record).lastPathComponent
        else { return nil }
        guard case .finished(let head, file: .some) = transfer.state else { return transfer }
        // The app's container may have moved since.
        let content = place(transfer.id, .content)
        guard FileManager.default.fileExists(atPath: content.path) else {
            try? FileManager.default.removeItem(at: file)
            return nil
        }
        transfer.state = .finished(head, file: content)
        return transfer
    }

    private func record(_ transfer: Transfer, _ state: inout State) {
        do {
            try JSONEncoder().encode(transfer)
                .write(to: place(transfer.id, .record), options: .atomic)
            state.unrecorded[transfer.id] = nil
        } catch {
            state.unrecorded[transfer.id] = transfer
            failed(error)
        }
    }

    /// Base32: an app's name for it may hold any character, and some disks do not tell case apart.
    private func place(_ id: String, _ kind: Kind) -> URL {
        folder.appendingPathComponent(Base32.encode(id)).appendingPathExtension(kind.rawValue)
    }

    // MARK: From the session

    /// A download is in a file, which the system removes when its delegate returns.
    package func downloaded(_ task: any TransferTask, to file: URL) {
        state.withLock { state in
            guard let id = task.taskDescription else { return }
            let content = place(id, .content)
            do {
                try? FileManager.default.removeItem(at: content)
                try FileManager.default.moveItem(at: file, to: content)
            } catch {
                state.unkept[id] = error
            }
        }
    }

    /// A task has ended: keeps its result, and tells of it.
    ///
    /// - Parameters:
    ///   - task: the session's.
    ///   - result: describes it, without the file, by its id.
    package func ended(_ task: any TransferTask, _ result: (_ id: String) -> Transfer) {
        state.withLock { state in
            guard let id = task.taskDescription else { return }
            var transfer = result(id)
            let unkept = state.unkept.removeValue(forKey: id)
            if case .finished(let head, _) = transfer.state {
                let content = place(id, .content)
                let isThere = FileManager.default.fileExists(atPath: content.path)
                transfer.state =
                    if let unkept {
                        .failed("The file could not be kept: \(unkept)")
                    } else {
                        .finished(head, file: isThere ? content : nil)
                    }
            }
            record(transfer, &state)
            changes.send(transfer)
        }
    }

    // MARK: From the app

    /// Forgets a transfer: removes its result, and ends its tasks, of whose end nobody is told.
    ///
    /// - Parameters:
    ///   - id: the app's name for it.
    ///   - tasks: all of the session.
    /// - Throws: the file system's errors.
    package func forget(_ id: String, of tasks: [any TransferTask]) throws {
        try state.withLock { state in
            for task in tasks where task.taskDescription == id {
                task.taskDescription = nil
                task.cancel()
            }
            state.unkept[id] = nil
            state.unrecorded[id] = nil
            for kind in Kind.allCases {
                let file = place(id, kind)
                if FileManager.default.fileExists(atPath: file.path) {
                    try FileManager.default.removeItem(at: file)
                }
            }
        }
    }
}
