import Foundation
import RepriseCore

/// The file that a download grows in.
actor TransferFile {
    private let url: URL
    private var file: FileHandle?
    private(set) var bytes: Int64 = 0

    init(_ url: URL) { self.url = url }

    /// The bytes from earlier attempts.
    static func size(_ url: URL) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Opens it to append, or truncates it.
    func open(keeping: Bool) throws {
        try close()
        if !keeping || !FileManager.default.fileExists(atPath: url.path) {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
                throw RepriseError(.notWritable, "The system cannot write its file.")
            }
        }
        let file = try FileHandle(forWritingTo: url)
        bytes = Int64(try file.seekToEnd())
        self.file = file
    }

    func write(_ content: [UInt8]) throws {
        try file?.write(contentsOf: content)
        bytes += Int64(content.count)
    }

    /// All bytes are on disk when this returns.
    func finish() throws {
        try file?.synchronize()
        try close()
    }

    func close() throws {
        try file?.close()
        file = nil
    }
}
