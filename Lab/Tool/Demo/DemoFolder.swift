import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// A folder for a play with processes of this same program, gone when the play is over.
struct DemoFolder: Sendable {
    let url: URL
    /// This program.
    let program: URL

    /// Creates a folder, calls `body` with it, and removes it.
    ///
    /// - Throws: ``CommandFailure``; what `body` throws.
    static func with<T>(_ body: (DemoFolder) async throws -> T) async throws -> T {
        let folder = DemoFolder(url: try make(), program: try LabProgram.lab.url())
        defer { try? FileManager.default.removeItem(at: folder.url) }
        return try await body(folder)
    }

    /// Runs `body` beside a server that is ready, and ends it.
    ///
    /// The options are those of `reprise serve`, beside port and data.
    func withServer<T: Sendable>(
        _ options: [String] = [], _ body: (DemoServer) async throws -> T
    ) async throws -> T {
        let place = url.appendingPathComponent("server")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let server = DemoServer(in: place, options)
        return try await ending {
            try await server.start()
            return try await body(server)
        } _: {
            await server.end()
        }
    }

    /// Runs `body` with a phone, and ends it.
    ///
    /// - Throws: ``RepriseError``; what `body` throws.
    func withPhone<T: Sendable>(_ body: (DemoPhone) async throws -> T) async throws -> T {
        let phone = try await Phone.start(
            in: url.appendingPathComponent("phone"), supervisor: .tool(program))
        return try await ending {
            try await body(DemoPhone(phone: phone, program: program.path))
        } _: {
            await phone.end()
        }
    }

    /// Runs `body`, and `end` however it ends.
    func ending<T: Sendable>(
        _ body: () async throws -> T, _ end: () async -> Void
    ) async throws -> T {
        do {
            let result = try await body()
            await end()
            return result
        } catch {
            await end()
            throw error
        }
    }

    /// A new folder with a short path, because there may be a socket in it.
    ///
    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    static func make() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-demo-\(EntryID.random().text.prefix(8))")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The folder \(url.path) cannot be created. Set TMPDIR to another.")
        }
        return url
    }
}
