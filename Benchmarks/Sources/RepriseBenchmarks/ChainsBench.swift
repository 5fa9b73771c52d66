import Foundation
import GRDB
import Reprise
import RepriseNIO
import Synchronization

/// When something began, by a clock that cannot jump.
private final class Moments: Sendable {
    private let all = Mutex<[Int64]>([])

    func add() { all.withLock { $0.append(MonotonicTime.now) } }

    var sorted: [Int64] { all.withLock { $0.sorted() } }
}

/// Does nothing but say when.
private struct Trivial: Worker {
    static let identifier = "trivial"
    let moments: Moments

    func run(_ input: Int, _ work: WorkContext) async throws -> Int {
        moments.add()
        return input
    }
}

/// Chains of trivial tasks, beside bare commits of SQLite with the same settings.
struct ChainsBench {
    private struct Plan: Codable, Sendable {
        var steps: Int
        var width: Int
        var waits = false
    }

    private let chain = Chain<Plan>("bench") { plan in
        if plan.waits { WaitFor(for: Readiness("never")) }
        for step in 0..<plan.steps {
            Parallel {
                for place in 0..<plan.width {
                    Work("\(step)-\(place)", Trivial.self) { _ in place }
                }
            }
        }
    }
    private let moments = Moments()
    private let folder: URL

    private init(_ folder: URL) { self.folder = folder }

    private static func bench<T>(_ body: (ChainsBench) async throws -> T) async throws -> T {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(ChainsBench(folder))
    }

    private func with<T>(_ body: (Chains) async throws -> T) async throws -> T {
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [chain]
        configuration.chains?.workers = [Trivial(moments: moments)]
        let reprise = try await AccountClient.open(
            at: folder, server: "http://127.0.0.1:9", dialer: NIODialer(),
            configuration: configuration)
        guard let chains = reprise.chains else { throw BenchmarkError("there are no chains") }
        let result = try await body(chains)
        await reprise.close()
        return result
    }

    private func running<T>(_ chains: Chains, _ body: () async throws -> T) async throws -> T {
        let run = Task { try await chains.run() }
        let result = try await body()
        run.cancel()
        _ = await run.result
        return result
    }

    /// Starts so many, many at a time so that they share commits.
    private func start(_ count: Int, _ plan: Plan, _ chains: Chains) async throws {
        let chain = chain
        try await withThrowingTaskGroup(of: Void.self) { group in
            for partitionKey in 0..<64 {
                group.addTask {
                    for _ in stride(from: partitionKey, to: count, by: 64) {
                        try await chains.start(chain, input: plan)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// All have begun.
    private func settle(_ chains: Chains) async throws {
        while try await chains.list(limit: 1_000).contains(where: { $0.state == .queued }) {
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func finish(_ plan: Plan, _ chains: Chains) async throws {
        let id = try await chains.start(chain, input: plan)
        for await progress in chains.progress(of: id) where progress.state.isEnd {
            guard progress.state == .succeeded else { throw BenchmarkError("\(progress.state)") }
        }
    }

    /// From the beginning of a task to that of the next, p50 and p99 in milliseconds, beside so
    /// many chains that wait.
    static func step(beside count: Int) async throws -> (p50: Double, p99: Double) {
        try await bench { bench in
            try await bench.with { chains in
                try await bench.running(chains) {
                    try await bench.start(count, Plan(steps: 1, width: 1, waits: true), chains)
                    // What beginning them costs is not what waiting costs.
                    try await bench.settle(chains)
                    try await bench.finish(Plan(steps: 1_001, width: 1), chains)
                }
            }
            let times = bench.moments.sorted
            return percentiles(zip(times, times.dropFirst()).map { Double($1 - $0) / 1e6 })
        }
    }

    /// A commit of one row with the journal's settings, p50 and p99 in milliseconds.
    static func commit() async throws -> (p50: Double, p99: Double) {
        try await bench { bench in
            try FileManager.default.createDirectory(
                at: bench.folder, withIntermediateDirectories: true)
            var configuration = GRDB.Configuration()
            configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
            let pool = try DatabasePool(
                path: bench.folder.appendingPathComponent("bare.sqlite").path,
                configuration: configuration)
            try await pool.write { db in
                try db.execute(sql: "CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
            }
            var times: [Double] = []
            for _ in 0..<1_000 {
                let start = MonotonicTime.now
                try await pool.write { db in
                    try db.execute(
                        sql: "INSERT INTO row (body) VALUES (?)", arguments: [Data(count: 200)])
                }
                times.append(Double(MonotonicTime.now - start) / 1e6)
            }
            try pool.close()
            return percentiles(times)
        }
    }

    /// Trivial tasks a second, each durable, eight at a time.
    static func throughput() async throws -> Double {
        try await bench { bench in
            let plan = Plan(steps: 39, width: 256)
            let start = MonotonicTime.now
            try await bench.with { chains in
                try await bench.running(chains) { try await bench.finish(plan, chains) }
            }
            return Double(plan.steps * plan.width) / (Double(MonotonicTime.now - start) / 1e9)
        }
    }

    /// What a job costs when there are so many, in milliseconds: started one after the other while
    /// nothing runs, then all of them done.
    ///
    /// The same as `peers/swiftqueue` does; each start and each outcome is durable.
    static func job(of count: Int) async throws -> Double {
        try await bench { bench in
            try await bench.with { chains in
                let start = MonotonicTime.now
                for _ in 0..<count {
                    try await chains.start(bench.chain, input: Plan(steps: 1, width: 1))
                }
                try await bench.running(chains) {
                    while try await !chains.list(limit: 1_000).allSatisfy({ $0.state.isEnd }) {
                        try await Task.sleep(for: .milliseconds(2))
                    }
                }
                return Double(MonotonicTime.now - start) / 1e6 / Double(count)
            }
        }
    }

    /// From opening a journal with so many chains under way to the first task that runs, in
    /// milliseconds.
    static func resumed(_ count: Int) async throws -> Double {
        try await bench { bench in
            try await bench.with { chains in
                try await bench.start(count, Plan(steps: 3, width: 1), chains)
            }
            let start = MonotonicTime.now
            try await bench.with { chains in
                try await bench.running(chains) {
                    while bench.moments.sorted.isEmpty {
                        try await Task.sleep(for: .milliseconds(1))
                    }
                }
            }
            return Double((bench.moments.sorted.first ?? .max) - start) / 1e6
        }
    }

    /// What so many chains that wait take: milliseconds of processor time in ten seconds, and MiB
    /// more than none.
    static func waiting(_ count: Int) async throws -> (cpu: Double, memory: Double) {
        try await bench { bench in
            try await bench.with { chains in
                try await bench.running(chains) {
                    try await bench.start(count, Plan(steps: 1, width: 1, waits: true), chains)
                    try await bench.settle(chains)
                }
            }
            let before = residentMiB()
            return try await bench.with { chains in
                try await bench.running(chains) {
                    // What opening does is not waiting.
                    try await Task.sleep(for: .seconds(2))
                    let cpu = processorMilliseconds()
                    try await Task.sleep(for: .seconds(10))
                    return (processorMilliseconds() - cpu, residentMiB() - before)
                }
            }
        }
    }

    private static func percentiles(_ times: [Double]) -> (p50: Double, p99: Double) {
        let sorted = times.sorted()
        guard !sorted.isEmpty else { return (.nan, .nan) }
        return (sorted[sorted.count / 2], sorted[min(sorted.count * 99 / 100, sorted.count - 1)])
    }

    private static func processorMilliseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    private static func residentMiB() -> Double {
        let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = words.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? .nan
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576
    }
}
