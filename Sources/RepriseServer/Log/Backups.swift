import Dispatch
import Foundation
package import RepriseCore

/// A running server's backups on request: one at a time, each in a folder named by the time.
package final class Backups: Sendable {
    private let data: String
    private let folder: URL
    private let copy: @Sendable (_ data: String, _ target: String) throws -> Void
    /// One at a time, in minutes if it is of gigabytes: on no thread of Swift's pool, which serves.
    private let queue = DispatchQueue(label: "reprise.backups")

    /// Backs up a data folder into a folder.
    ///
    /// - Parameters:
    ///   - data: the data folder.
    ///   - folder: where the backups' folders are made.
    ///   - copy: makes one; another one for tests.
    package init(
        of data: String, in folder: String,
        copy: @escaping @Sendable (_ data: String, _ target: String) throws -> Void = {
            _ = try Backup.make(of: $0, to: $1)
        }
    ) {
        self.data = data
        self.folder = URL(filePath: folder)
        self.copy = copy
    }

    /// Makes a backup; cancelling the caller does not stop it.
    ///
    /// - Returns: the name of its folder: `20261121T190501.123Z`.
    /// - Throws: the errors of `Backup.make`.
    package func make(at time: WallTime) async throws -> String {
        let format = Date.ISO8601FormatStyle(
            dateSeparator: .omitted, timeSeparator: .omitted, includingFractionalSeconds: true)
        let name = Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000).formatted(format)
        let target = folder.appending(path: name).path
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            queue.async { [data, copy] in
                done.resume(with: Result { try copy(data, target) })
            }
        }
        return name
    }
}
