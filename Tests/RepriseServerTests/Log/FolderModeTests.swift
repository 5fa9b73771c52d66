import Foundation
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("File modes of a data folder")
struct FolderModeTests {
    private static func modes(in folder: TemporaryFolder) throws -> [String: Int] {
        var modes: [String: Int] = [:]
        for name in folder.names {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: folder.path + "/" + name)
            modes[name] = (attributes[.posixPermissions] as? NSNumber)?.intValue
        }
        return modes
    }

    @Test(
        "allow this user alone, also for files that an earlier version made",
        arguments: [false, true])
    func modes(isOld: Bool) async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        func open() throws -> (SQLiteMessageLog, Accounts) {
            (
                try SQLiteMessageLog.open(at: folder.path),
                try Accounts.open(at: folder.path, implicitChannels: true)
            )
        }
        if isOld {
            let (log, accounts) = try open()
            await log.close()
            await accounts.close()
            for name in folder.names {
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o644], ofItemAtPath: folder.path + "/" + name)
            }
        }
        let (log, accounts) = try open()
        try await log.probe()
        let modes = try Self.modes(in: folder).filter { !$0.key.hasSuffix(".lock") || !isOld }
        #expect(modes.keys.contains("messages.sqlite-wal") && modes.count >= 6)
        #expect(modes.allSatisfy { $0.value == 0o600 }, "\(modes)")
        await log.close()
        await accounts.close()
        folder.remove()
    }
}
