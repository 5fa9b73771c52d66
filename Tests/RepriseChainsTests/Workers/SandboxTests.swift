import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The sandbox", .timeLimit(.minutes(1)))
struct SandboxTests {
    private static let bad = [
        "", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./x", "a//x", "x/", "a\0b",
        "\0", String(repeating: "a", count: 300), String(repeating: "a/", count: 600) + "x",
        String(repeating: "a/", count: 70) + "x", ".reprise-0123.part",
    ]

    @Test("refuses a path that leaves it, for good", .limit("workers.path"), arguments: bad)
    func refusesPaths(_ path: String) async throws {
        let bench = try WorkBench()
        try bench.write("good", [1])
        let (here, there) = (SandboxPath("home", "good"), SandboxPath("home", path))
        let workers = bench.standard()
        let hash = await bench.failure(HashFileWorker.self, .init(there), of: workers)
        #expect(hash?.permanentCode == "outsideSandbox")
        let delete = await bench.failure(DeleteFileWorker.self, .init(there), of: workers)
        #expect(delete?.permanentCode == "outsideSandbox")
        let copy = await bench.failure(CopyFileWorker.self, .init(here, to: there), of: workers)
        #expect(copy?.permanentCode == "outsideSandbox")
        #expect(bench.names == ["good"])
    }

    @Test("knows only its own folders")
    func refusesRoots() async throws {
        let bench = try WorkBench()
        let error = await bench.failure(
            HashFileWorker.self, .init(SandboxPath("other", "x")), of: bench.standard())
        #expect(error?.permanentCode == "outsideSandbox")
    }

    @Test("follows no link: not at the end, not in the middle, not one that is put there later")
    func followsNoLink() async throws {
        let outside = try TemporaryFolder()
        try Data([7]).write(to: outside.appending("secret"))
        let bench = try WorkBench()
        try bench.write("good", [1])
        let files = FileManager.default
        try files.createSymbolicLink(
            at: bench.folder.appending("leaf"), withDestinationURL: outside.appending("secret"))
        try files.createSymbolicLink(
            at: bench.folder.appending("middle"), withDestinationURL: outside.url)
        try files.createSymbolicLink(
            at: bench.folder.appending("dangling"), withDestinationURL: outside.appending("new"))
        let workers = bench.standard()
        for path in ["leaf", "middle/secret", "dangling"] {
            let place = SandboxPath("home", path)
            let read = await bench.failure(HashFileWorker.self, .init(place), of: workers)
            #expect(read?.permanentCode == "outsideSandbox", "\(path)")
            let move = await bench.failure(
                MoveFileWorker.self, .init(place, to: SandboxPath("home", "got")), of: workers)
            #expect(move?.permanentCode == "outsideSandbox", "\(path)")
        }
        let written = await bench.failure(
            CopyFileWorker.self,
            .init(SandboxPath("home", "good"), to: SandboxPath("home", "middle/new")), of: workers)
        #expect(written?.permanentCode == "outsideSandbox")
        let deleted = await bench.failure(
            DeleteFileWorker.self, .init(SandboxPath("home", "middle/secret")), of: workers)
        #expect(deleted?.permanentCode == "outsideSandbox")
        #expect(try files.contentsOfDirectory(atPath: outside.url.path) == ["secret"])
    }

    @Test("replaces a link at a destination, and writes nothing to where it leads")
    func replacesLinks() async throws {
        let outside = try TemporaryFolder()
        try Data([7]).write(to: outside.appending("secret"))
        let bench = try WorkBench()
        try bench.write("good", [1])
        try FileManager.default.createSymbolicLink(
            at: bench.folder.appending("to"), withDestinationURL: outside.appending("secret"))
        _ = try await bench.run(
            CopyFileWorker.self, .init(SandboxPath("home", "good"), to: SandboxPath("home", "to")),
            of: bench.standard())
        #expect(try Array(Data(contentsOf: outside.appending("secret"))) == [7])
        #expect(bench.read("to") == [1])
    }

    @Test("may itself be reached by a link, as a container is")
    func isReachedByALink() async throws {
        let bench = try WorkBench()
        try bench.write("good", [1])
        let other = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            at: other.appending("root"), withDestinationURL: bench.folder.url)
        let workers = StandardWorkers(sandbox: Sandbox(["home": other.appending("root")]))
        let output = try await bench.run(
            HashFileWorker.self, .init(SandboxPath("home", "good")), of: workers)
        #expect(output.bytes == 1)
    }

    @Test("does not stand still at a pipe, and reads no folder")
    func readsFilesOnly() async throws {
        let bench = try WorkBench()
        #expect(mkfifo(bench.folder.appending("pipe").path, 0o600) == 0)
        #expect(mkdir(bench.folder.appending("folder").path, 0o700) == 0)
        for name in ["pipe", "folder", "missing", "pipe/x"] {
            let error = await bench.failure(
                HashFileWorker.self, .init(SandboxPath("home", name)), of: bench.standard())
            #expect(error?.permanentCode == "noSuchFile", "\(name): \(String(describing: error))")
        }
    }

    @Test("removes half-written files that are old, and nothing else", .limit("workers.leftover"))
    func sweeps() async throws {
        let bench = try WorkBench()
        #expect(mkdir(bench.folder.appending("a").path, 0o700) == 0)
        for name in [".reprise-1.part", "a/.reprise-2.part", "a/.reprise-3.part", "x.part"] {
            try bench.write(name, [1])
        }
        for name in [".reprise-1.part", "a/.reprise-2.part", "x.part"] {
            var times = [timeval(tv_sec: 1_000, tv_usec: 0), timeval(tv_sec: 1_000, tv_usec: 0)]
            #expect(utimes(bench.folder.appending(name).path, &times) == 0)
        }
        #expect(try await bench.sandbox.sweep() == 2)
        #expect(bench.names == ["a", "x.part"])
        #expect(bench.read("a/.reprise-3.part") == [1])
    }

    @Test(
        "looks at no more files and folders than it may, and takes up the rest the next time",
        .limit("workers.sweep"))
    func sweepsInPieces() async throws {
        let bench = try WorkBench()
        for folder in ["a", "b"] {
            #expect(mkdir(bench.folder.appending(folder).path, 0o700) == 0)
            for number in 0..<5 {
                let name = "\(folder)/.reprise-\(number).part"
                try bench.write(name, [1])
                let old = timeval(tv_sec: 1_000, tv_usec: 0)
                var times = [old, old]
                #expect(utimes(bench.folder.appending(name).path, &times) == 0)
            }
        }
        // Of the eight that it looks at two are the folders.
        #expect(try await bench.sandbox.sweep(olderThan: .seconds(60), atMost: 8) == 6)
        #expect(try await bench.sandbox.sweep(olderThan: .seconds(60), atMost: 6) == 4)
    }
}
