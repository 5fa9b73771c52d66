import Foundation
import RepriseCore

/// A running server's backups on request: one at a time, each in a folder named by the time.
actor Backups {
    private let data: String
    private let folder: URL

    init(of data: String, in folder: String) {
        self.data = data
        self.folder = URL(filePath: folder)
    }

    /// Makes a backup.
    ///
    /// Copies on this actor, off the threads that serve.
    ///
    /// - Returns: the name of its folder: `20261121T190501.123Z`.
    /// - Throws: the errors of `Backup.make`.
    func make(at time: WallTime) throws -> String {
        let format = Date.ISO8601FormatStyle(
            dateSeparator: .omitted, timeSeparator: .omitted, includingFractionalSeconds: true)
        let name = Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000).formatted(format)
        try Backup.make(of: data, to: folder.appending(path: name).path)
        return name
    }
}
