import Foundation
import RepriseChains
import RepriseCore
import RepriseTesting
import Testing

@Suite("Workers for files", .timeLimit(.minutes(1)))
struct FileWorkerTests {
    private static let (from, to) = (SandboxPath("home", "from"), SandboxPath("home", "to"))

    @Test("copy a file whole, and say its checksum", arguments: [0, 1, 1_048_576, 9_000_001])
    func copy(_ size: Int) async throws {
        let bench = try WorkBench()
        let bytes = content(size)
        try bench.write("from", bytes)
        let output = try await bench.run(
            CopyFileWorker.self, .init(Self.from, to: Self.to), of: bench.standard())
        #expect(output.file == Self.to)
        #expect(output.bytes == Int64(size))
        #expect(output.sha256 == sha256(bytes))
        #expect(bench.read("to") == bytes)
        #expect(bench.names == ["from", "to"])
    }

    @Test("go on with a copy after a kill at each checkpoint", arguments: [true, false])
    func copyAfterKills(_ replaces: Bool) async throws {
        let bytes = content(9_000_000)
        for death in 1...3 {
            let bench = try WorkBench()
            try bench.write("from", bytes)
            let input = CopyFileWorker.Input(Self.from, to: Self.to, replaces: replaces)
            let error = await bench.failure(
                CopyFileWorker.self, input, of: bench.standard(), killedAfter: death)
            #expect(error is WorkBench.Killed)
            #expect(bench.hasParts())
            #expect(bench.read("to") == nil)
            for _ in 0..<2 {
                let output = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
                #expect(output.sha256 == sha256(bytes))
            }
            #expect(bench.read("to") == bytes)
            #expect(!bench.hasParts())
            // Two positions and the place: what was copied before the kill was not copied again.
            #expect(bench.seen.checkpoints == 3)
        }
    }

    @Test("begin a copy anew when the source has changed")
    func copyOfChanged() async throws {
        let bench = try WorkBench()
        try bench.write("from", content(9_000_000))
        let input = CopyFileWorker.Input(Self.from, to: Self.to)
        _ = await bench.failure(CopyFileWorker.self, input, of: bench.standard(), killedAfter: 1)
        let new = content(5_000_000).map { ~$0 }
        try bench.write("from", new)
        _ = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
        #expect(bench.read("to") == new)
    }

    @Test("copy again a file that another process has replaced meanwhile")
    func copyOverAnother() async throws {
        let bench = try WorkBench()
        try bench.write("from", [1, 2])
        let input = CopyFileWorker.Input(Self.from, to: Self.to)
        _ = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
        try FileManager.default.removeItem(at: bench.folder.appending("to"))
        try bench.write("to", [9])
        _ = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
        #expect(bench.read("to") == [1, 2])
    }

    @Test("move a file once, however often they are run")
    func move() async throws {
        for replaces in [true, false] {
            let bench = try WorkBench()
            try bench.write("from", [1, 2, 3])
            let input = MoveFileWorker.Input(
                Self.from, to: SandboxPath("home", "a/b"), replaces: replaces)
            let killed = await bench.failure(
                MoveFileWorker.self, input, of: bench.standard(), killedAfter: 1)
            #expect(killed is WorkBench.Killed)
            #expect(bench.read("from") == [1, 2, 3])
            for _ in 0..<2 {
                let output = try await bench.run(MoveFileWorker.self, input, of: bench.standard())
                #expect(output.file == SandboxPath("home", "a/b"))
                #expect(output.bytes == 3)
            }
            #expect(bench.names == ["a"])
            #expect(bench.read("a/b") == [1, 2, 3])
        }
    }

    @Test("recognise their files after a restart of the device, whose volume has another number")
    func restarted() async throws {
        let bytes = content(9_000_000)
        for death in 1...3 {
            let bench = try WorkBench()
            try bench.write("from", bytes)
            let input = CopyFileWorker.Input(Self.from, to: Self.to)
            _ = await bench.failure(
                CopyFileWorker.self, input, of: bench.standard(), killedAfter: death)
            for _ in 0..<2 {
                try bench.restartDevice()
                _ = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
            }
            #expect(bench.read("to") == bytes)
            #expect(bench.seen.checkpoints == 3, "nothing was copied again")
        }
        let moving = try WorkBench()
        try moving.write("from", [1, 2, 3])
        let move = MoveFileWorker.Input(Self.from, to: Self.to)
        _ = await moving.failure(
            MoveFileWorker.self, move, of: moving.standard(), killedAfter: 1)
        for _ in 0..<2 {
            try moving.restartDevice()
            _ = try await moving.run(MoveFileWorker.self, move, of: moving.standard())
            #expect(moving.names == ["to"])
        }
        let deleting = try WorkBench()
        try deleting.write("from", [1])
        let delete = DeleteFileWorker.Input(Self.from)
        _ = await deleting.failure(
            DeleteFileWorker.self, delete, of: deleting.standard(), killedAfter: 1)
        try deleting.restartDevice()
        #expect(
            try await deleting.run(DeleteFileWorker.self, delete, of: deleting.standard()).existed)
        #expect(deleting.names.isEmpty)
    }

    @Test("do not move a missing file, nor one that came in its place")
    func moveNothing() async throws {
        let bench = try WorkBench()
        let input = MoveFileWorker.Input(Self.from, to: Self.to, replaces: false)
        let missing = await bench.failure(MoveFileWorker.self, input, of: bench.standard())
        #expect(missing?.permanentCode == "noSuchFile")
        try bench.write("from", [1])
        try bench.write("to", [2])
        let taken = await bench.failure(MoveFileWorker.self, input, of: bench.standard())
        #expect(taken?.permanentCode == "fileExists")
        #expect(bench.read("from") == [1])
        #expect(bench.read("to") == [2])
        // The attempt before had its file in mind; this is another one.
        try bench.write("other", [3])
        #expect(
            rename(bench.folder.appending("other").path, bench.folder.appending("from").path) == 0)
        let other = await bench.failure(MoveFileWorker.self, input, of: bench.standard())
        #expect(other?.permanentCode == "noSuchFile")
        #expect(bench.read("from") == [3])
    }

    @Test("tell a file that they have deleted from one that was never there")
    func delete() async throws {
        let input = DeleteFileWorker.Input(Self.from)
        let bench = try WorkBench()
        try bench.write("from", [1])
        for _ in 0..<2 {
            let output = try await bench.run(DeleteFileWorker.self, input, of: bench.standard())
            #expect(output.existed)
        }
        #expect(bench.names.isEmpty)
        // A new file under the old name is not the one that was meant.
        try bench.write("keep", [2])
        #expect(
            rename(bench.folder.appending("keep").path, bench.folder.appending("from").path) == 0)
        let never = try WorkBench()
        let output = try await never.run(DeleteFileWorker.self, input, of: never.standard())
        #expect(!output.existed)
        let deep = DeleteFileWorker.Input(SandboxPath("home", "a/b/c"))
        #expect(try await !never.run(DeleteFileWorker.self, deep, of: never.standard()).existed)
        let must = await never.failure(
            DeleteFileWorker.self, .init(Self.from, mustExist: true), of: never.standard())
        #expect(must?.permanentCode == "noSuchFile")
    }

    @Test("delete no folder")
    func deleteNoFolder() async throws {
        let bench = try WorkBench()
        #expect(mkdir(bench.folder.appending("from").path, 0o700) == 0)
        let error = await bench.failure(
            DeleteFileWorker.self, .init(Self.from), of: bench.standard())
        #expect(error?.permanentCode == "noSuchFile")
    }

    @Test("hash a file, and end when they are cancelled")
    func hash() async throws {
        let bench = try WorkBench()
        let bytes = content(3_000_000)
        try bench.write("from", bytes)
        let output = try await bench.run(
            HashFileWorker.self, .init(Self.from), of: bench.standard())
        #expect(output.bytes == 3_000_000)
        #expect(output.sha256 == sha256(bytes))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await bench.run(
                HashFileWorker.self, .init(Self.from), of: bench.standard())
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
