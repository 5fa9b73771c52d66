package import Foundation
package import RepriseTesting

extension TemporaryFolder {
    package func path(_ name: String) -> String { appending(name).path }

    package func file(_ name: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path(name), contents: nil)
        return try FileHandle(forWritingTo: appending(name))
    }

    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: appending(name))
        return path(name)
    }

    package func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path(name)) ?? Data(), as: UTF8.self)
    }
}
