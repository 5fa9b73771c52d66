import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

@Suite("Order of told positions", .timeLimit(.minutes(1)))
struct PositionOrderTests {
    let general = channel()

    /// What frames say of a user, in order.
    private static func reads(_ frames: [ServerFrame], of name: String) -> [Int64] {
        frames.compactMap { frame in
            switch frame {
            case .receipt(_, let position) where position.user.text == name: position.read
            case .positions(let told): told.positions.first { $0.user.text == name }?.read
            default: nil
            }
        }
    }

    @Test(
        "three connections of a user send receipts at once, and the disk's answers overtake each other"
    )
    func overtaken() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 20)
            var clients: [TestClient] = []
            for _ in 0..<3 {
                let client = try await server.client(as: "ada")
                try await client.subscribe(general)
                clients.append(client)
            }
            let ben = try await server.client(as: "ben")
            try await ben.subscribe(general)
            // The first is heard of last, when it is long forgotten what was told meanwhile.
            accounts.change { $0.answerDelays = [5: .milliseconds(900), 6: .milliseconds(20)] }
            for (index, read) in [5, 6, 7].enumerated() as EnumeratedSequence<[Int64]> {
                try await clients[index].send(.receipt(.init(channel: general, read: read)))
                try await eventually("position \(read) is asked for", every: .milliseconds(1)) {
                    accounts.state.withLock { $0.moves } > index
                }
            }
            var frames: [[ServerFrame]] = []
            for client in clients + [ben] {
                var these: [ServerFrame] = []
                while Self.reads(these, of: "ada").last != 7 {
                    these.append(try await client.nextFrame())
                }
                frames.append(these)
            }
            // Long enough for the answer that is late, and for the tick behind it.
            try await Task.sleep(for: .milliseconds(1_500))
            for (index, client) in (clients + [ben]).enumerated() {
                let told = Self.reads(
                    frames[index] + (try await client.everythingSoFar()), of: "ada")
                #expect(told == told.sorted(), "\(index) was told \(told)")
                #expect(told.last == 7, "\(index) was told \(told)")
            }
        }
    }

    @Test("positions that were read before a receipt and arrive after it do not lower it")
    func readBefore() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 20)
            let (phone, tablet) = (
                try await server.client(as: "ada"), try await server.client(as: "ada")
            )
            try await tablet.subscribe(general)
            let reads = accounts.state.withLock { $0.positionReads }
            accounts.change { $0.holdsPositions = true }
            try await phone.send(
                .subscribe([.init(channel: general, epoch: nil, coverage: Coverage())]))
            try await eventually("positions are read", every: .milliseconds(1)) {
                accounts.state.withLock { $0.positionReads } > reads
            }
            accounts.change { $0.holdsPositions = false }
            try await phone.send(.receipt(.init(channel: general, read: 9)))
            // Told to the other device: the receipt is before them.
            while try await Self.reads([tablet.nextFrame()], of: "ada") != [9] {}
            accounts.change { $0.releasesPositions = true }
            var frames: [ServerFrame] = []
            while !frames.contains(where: { if case .syncComplete = $0 { true } else { false } }) {
                frames.append(try await phone.nextFrame())
            }
            frames += try await phone.everythingSoFar()
            let told = Self.reads(frames, of: "ada")
            #expect(told.first == 9 && told == told.sorted(), "\(told)")
            #expect(told.count >= 2)
        }
    }

    @Test("a user's own position is never before the head at which he joined, also in a receipt")
    func joined() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 20)
            let grant = Grant(mayRead: true, mayPublish: true, isMember: true, unreadAfter: 12)
            accounts.set(grant, of: user("ada"), in: general)
            let (ada, ben) = (
                try await server.client(as: "ada"), try await server.client(as: "ben")
            )
            var own = Self.reads(try await ada.subscribe(general), of: "ada")
            try await ben.subscribe(general)
            try await ada.send(.receipt(.init(channel: general, delivered: 20)))
            own += Self.reads([try await ada.nextFrame()], of: "ada")
            #expect(own == [12, 12])
            #expect(Self.reads([try await ben.nextFrame()], of: "ada") == [0])
        }
    }
}
