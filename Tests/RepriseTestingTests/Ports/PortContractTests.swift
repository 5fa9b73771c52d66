import Foundation
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

/// What a port does, whoever implements it: the test kit's fake, or the stand-in phone.
@Suite("Ports: the fakes and the phone", .timeLimit(.minutes(1)))
struct PortContractTests {
    private func request(
        _ id: String, after seconds: Double?, repeats: Bool = false, badge: Int? = nil
    ) -> NotificationRequest {
        var content = NotificationContent(title: "Title of \(id)")
        content.badge = badge
        return NotificationRequest(
            id: id, content: content, trigger: seconds.map { .after(seconds: $0, repeats: repeats) }
        )
    }

    /// Waits until a call returns that may wait for ever, and ignore that its task is cancelled.
    private func returns(_ what: String, _ call: @escaping @Sendable () async -> Void) async throws
    {
        let returned = Seen<Void>()
        Task {
            await call()
            returned.add(())
        }
        try await waitUntil(what) { returned.count == 1 }
    }

    // MARK: Notifications

    @Test("Nothing can be added before the person allows it", arguments: PortSystem.Kind.allCases)
    func permission(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            let centre = system.notifications
            #expect(try await centre.settings().authorization == .notDetermined)
            await expectError(.refused) {
                try await centre.add(request("a", after: 60))
            }
            #expect(try await centre.requestAuthorization(provisional: false))
            #expect(try await centre.settings().authorization == .authorized)
            try await centre.add(request("a", after: 60))
            try await system.allow(false)
            #expect(try await centre.requestAuthorization(provisional: false) == false)
        }
    }

    @Test(
        "A request is pending until its time, replaces the one of its id, and can be removed",
        arguments: PortSystem.Kind.allCases)
    func pending(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            try await system.allow(true)
            let centre = system.notifications
            for id in ["a", "b", "c", "a"] { try await centre.add(request(id, after: 3_600)) }
            #expect(try await Set(centre.pending().map(\.id)) == ["a", "b", "c"])
            try await centre.removePending(["b", "unknown"])
            try await system.advance(.seconds(3_599))
            #expect(try await centre.delivered().isEmpty)
            try await system.advance(.seconds(2))
            try await waitUntil("they ring") { try await centre.delivered().count == 2 }
            #expect(try await centre.pending().isEmpty)
            #expect(try await centre.delivered().allSatisfy { !$0.isRemote })
            try await centre.removeDelivered(["a", "unknown"])
            #expect(try await centre.delivered().map(\.request.id) == ["c"])
        }
    }

    @Test(
        "A request that never rings, or repeats within a minute, is refused; a repeating one rings again",
        arguments: PortSystem.Kind.allCases)
    func triggers(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            try await system.allow(true)
            let centre = system.notifications
            var past = DateComponents()
            (past.year, past.month, past.day) = (2001, 1, 1)
            let never = NotificationRequest(
                id: "never", content: NotificationContent(title: "t"),
                trigger: .calendar(past, repeats: false))
            for bad in [never, request("often", after: 59, repeats: true)] {
                await expectError(.refused) { try await centre.add(bad) }
            }
            try await centre.add(request("again", after: 60, repeats: true))
            try await system.advance(.seconds(61))
            try await waitUntil("it rings") { try await centre.delivered().count == 1 }
            try await centre.removeDelivered(["again"])
            #expect(try await centre.pending().map(\.id) == ["again"])
            try await system.advance(.seconds(60))
            try await waitUntil("it rings again") { try await centre.delivered().count == 1 }
        }
    }

    @Test("Of 65 requests one is dropped, and nobody is told", arguments: PortSystem.Kind.allCases)
    func limit(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            try await system.allow(true)
            for number in 1...65 {
                try await system.notifications.add(
                    request("n\(number)", after: Double(600 + number)))
            }
            let kept = try await system.notifications.pending().map(\.id)
            #expect(kept.count == 64 && !kept.contains("n65"))
        }
    }

    // MARK: The scheduler

    @Test(
        "A request replaces the one of its id; one too many is refused, and an undeclared one",
        arguments: PortSystem.Kind.allCases)
    func requests(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            let scheduler = system.scheduler
            let work = BackgroundRequest.Kind.processing(needsNetwork: false, needsPower: false)
            for number in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0] {
                try await scheduler.submit(BackgroundRequest(id: "work-\(number)", kind: work))
            }
            try await scheduler.submit(BackgroundRequest(id: "refresh", kind: .refresh))
            #expect(try await scheduler.pending().count == 11)
            await expectError(.full) {
                try await scheduler.submit(BackgroundRequest(id: "work-10", kind: work))
            }
            await expectError(.refused) {
                try await scheduler.submit(BackgroundRequest(id: "unknown", kind: .refresh))
            }
            try await scheduler.cancel("work-0")
            try await scheduler.cancel("unknown")
            #expect(try await scheduler.pending().count == 10)
        }
    }

    @Test(
        "Time is given once for a request, not before its earliest time, and is taken back",
        arguments: PortSystem.Kind.allCases)
    func slots(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            await expectError(.noSuchEntry) {
                _ = try await system.grant("refresh")
            }
            let late = WallTime(milliseconds: 4_000_000_000_000)
            try await system.scheduler.submit(
                BackgroundRequest(id: "refresh", kind: .refresh, earliest: late))
            await expectError(.unavailable) {
                _ = try await system.grant("refresh")
            }
            try await system.scheduler.submit(BackgroundRequest(id: "refresh", kind: .refresh))
            let slot = try await system.grant("refresh")
            #expect(slot.id == "refresh")
            #expect(try await system.scheduler.pending().isEmpty)
            try await system.expire(slot)
            try await returns("the time is taken back") { await slot.expired() }
            await slot.complete(success: false)
            await slot.complete(success: true)
        }
    }

    // MARK: Transfers

    @Test(
        "A download ends with a file, which stays until it is forgotten; the app is told",
        arguments: PortSystem.Kind.allCases)
    func download(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            let changes = system.transfers.changes
            let request = TransferRequest(
                id: "d", direction: .download, url: system.server + "/file")
            try await system.transfers.start(request)
            try await system.transfers.start(request)
            for await change in changes where change.state != .running {
                #expect(change.id == "d")
                break
            }
            let known = try await system.transfers.transfers()
            guard case .finished(let head, let file?)? = known.first?.state else {
                Issue.record("\(known)")
                return
            }
            #expect(known.count == 1 && head.status == 200)
            #expect(try Array(Data(contentsOf: file)) == PortSystem.content)
            try await system.transfers.forget("d")
            #expect(try await system.transfers.transfers().isEmpty)
            try await waitUntil("the file is gone") {
                !FileManager.default.fileExists(atPath: file.path)
            }
        }
    }

    @Test(
        "A running transfer is cancelled once, and reported later; what is no transfer is refused",
        arguments: PortSystem.Kind.allCases)
    func cancelled(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            let transfers = system.transfers
            for (id, direction, url) in [
                ("", TransferRequest.Direction.download, system.server + "/file"),
                ("f", .download, "file:///etc/passwd"),
                (
                    "u", .upload(file: URL(string: "http://a/b") ?? .temporaryDirectory),
                    system.server
                ),
            ] {
                await expectError(.refused) {
                    try await transfers.start(
                        TransferRequest(id: id, direction: direction, url: url))
                }
            }
            try await transfers.start(
                TransferRequest(
                    id: "s", direction: .download, url: system.server + PortSystem.silent))
            #expect(try await transfers.transfers().map(\.state) == [.running])
            try await transfers.cancel("s")
            try await transfers.cancel("s")
            try await transfers.cancel("unknown")
            try await waitUntil("it is reported") {
                try await transfers.transfers().map(\.state) == [.cancelled]
            }
        }
    }

    @Test(
        "A transfer that is forgotten while it runs ends, and nothing is told of it; another of its id begins",
        arguments: PortSystem.Kind.allCases, [false, true])
    func forgotten(_ kind: PortSystem.Kind, isCancelled: Bool) async throws {
        try await PortSystem.run(kind) { system in
            let transfers = system.transfers
            let told = Seen<Transfer>()
            let changes = transfers.changes
            let listening = Task { for await change in changes { told.add(change) } }
            let silent = TransferRequest(
                id: "s", direction: .download, url: system.server + PortSystem.silent)
            try await transfers.start(silent)
            if isCancelled { try await transfers.cancel("s") }
            try await transfers.forget("s")
            #expect(try await transfers.transfers().isEmpty)
            try await transfers.start(silent)
            // What is told later than this of one, is told later of the other.
            try await transfers.start(
                TransferRequest(id: "last", direction: .download, url: silent.url))
            try await transfers.cancel("last")
            try await waitUntil("a later cancellation is reported") {
                told.all.contains { $0.id == "last" && $0.state == .cancelled }
            }
            #expect(!told.all.contains { $0.id == "s" && $0.state != .running })
            let left = try await transfers.transfers().filter { $0.id == "s" }
            #expect(left.map(\.state) == [.running])
            listening.cancel()
        }
    }

    // MARK: Device and network

    @Test(
        "The first condition and path are the current ones, then each change comes",
        arguments: PortSystem.Kind.allCases)
    func device(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            try await system.unplug()
            for await now in system.status.conditions where !now.charging {
                #expect(now.network)
                break
            }
            var paths = system.network.paths.makeAsyncIterator()
            #expect(await paths.next()?.isUsable == true)
            try await system.setNetwork(false)
            #expect(await paths.next()?.isUsable == false)
            for await now in system.status.conditions where !now.network { break }
        }
    }

    @Test(
        "Without a network nothing is dialled, nothing is requested, and a connection ends",
        arguments: PortSystem.Kind.allCases)
    func offline(_ kind: PortSystem.Kind) async throws {
        try await PortSystem.run(kind) { system in
            func dial() async throws -> any Socket {
                try await system.dialer.dial(
                    url: "ws://memory", protocol: "reprise", maximumFrameBytes: 1_000)
            }
            let socket = try await dial()
            let call = HTTPCall(url: "http://memory/v1/forms")
            #expect(try await system.transport.fetch(call, limit: 1_000).status == 404)
            try await system.setNetwork(false)
            try await returns("the connection ends") {
                while (try? await socket.receive()) != nil {}
            }
            try await waitUntil("nothing is dialled") {
                do {
                    _ = try await dial()
                    return false
                } catch { return (error as? RepriseError)?.code == .unreachable }
            }
            await expectError(.unreachable) {
                _ = try await system.transport.fetch(call, limit: 1_000)
            }
            try await system.setNetwork(true)
            try await waitUntil("it is dialled again") { (try? await dial()) != nil }
        }
    }
}
