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

    /// Runs `body` beside a server with a folder of its own, and ends it.
    ///
    /// - Throws: ``CommandFailure``; what `body` throws.
    func withServer<T: Sendable>(_ body: (_ url: String) async throws -> T) async throws -> T {
        let server = try DemoProcess(
            .reprise,
            [
                "serve", "--port", "0", "--data", url.appendingPathComponent("server").path,
                "--json", "--until-input-ends",
            ], log: url.appendingPathComponent("server.log"))
        return try await ending(body: { try await body(try await server.url()) }) {
            await server.terminate()
        }
    }

    /// Runs `body` with a phone, and ends it.
    ///
    /// - Throws: ``RepriseError``; what `body` throws.
    func withPhone<T: Sendable>(_ body: (Phone) async throws -> T) async throws -> T {
        let phone = try await Phone.start(
            in: url.appendingPathComponent("phone"), supervisor: .tool(program))
        return try await ending(body: { try await body(phone) }) { await phone.end() }
    }

    private func ending<T: Sendable>(
        body: () async throws -> T, _ end: () async -> Void
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
