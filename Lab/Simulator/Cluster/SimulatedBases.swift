import RepriseServer

/// Where the bases of a simulated cluster are kept: a JetStream stream beside its journal.
///
/// What is asked of it is done never, once or several times, whatever is heard of that, and also
/// when the gateway that asked has died meanwhile; what one gateway asks comes in order.
final class SimulatedBases {
    /// The newest base that counts, as far as it is known.
    enum Newest {
        case unknown
        case none
        case base(BaseManifest)
    }

    /// The bytes of a piece: fewer than in a real one, so that a view has several.
    static let piece = 64 << 10
    /// How long a gateway waits for an answer.
    private static let timeout: Duration = .seconds(2)
    /// How often it asks before that fails, and the time between.
    private static let attempts = 6
    private static let pause: Duration = .seconds(1)

    let simulation: Simulation
    let checker: BasesChecker
    private let journal: SimulatedStream
    private var random: SeededRandom
    private var pieces: [BasePiece: [UInt8]] = [:]
    /// When the last request of each gateway arrives.
    private var arrivals: [Int: Duration] = [:]
    /// Called now and then before a request: the gateway may be killed or frozen right there.
    var struck: (SimulatedGateway) -> Void = { _ in }
    /// Whether nothing goes wrong any more.
    var isHealed = false
    /// Whether nobody makes bases any more, so that the journal comes to rest.
    var isOver = false

    init(_ simulation: Simulation, _ journal: SimulatedStream, _ checker: BasesChecker) {
        self.simulation = simulation
        self.journal = journal
        self.checker = checker
        random = simulation.random("bases' requests")
        simulation.whenEnded { [self] in struck = { _ in } }
    }

    /// From 0 up to 1, for one gateway.
    func jitter() -> Double { random.fraction() }

    /// How long a gateway takes to read its whole view.
    func hashing() -> Duration { random.spread(.milliseconds(1), .seconds(2)) }

    // MARK: What it holds

    func has(_ name: BasePiece) -> Bool { pieces[name] != nil }

    /// The marks of which a manifest, or else a first piece, is kept.
    func marks(complete: Bool) -> [Int64] {
        pieces.keys.compactMap { name -> Int64? in
            switch name {
            case .manifest(let mark): complete ? mark : nil
            case .piece(let mark, let number): !complete && number == 0 ? mark : nil
            }
        }.sorted()
    }

    /// The manifest of the newest base that counts.
    var newest: BaseManifest? {
        marks(complete: true).last.flatMap { manifest(of: $0) }
    }

    private func manifest(of mark: Int64) -> BaseManifest? {
        pieces[.manifest(mark: mark)].flatMap { try? BaseManifest($0) }
    }

    // MARK: What is asked of it

    func put(
        _ bytes: [UInt8], as name: BasePiece, by gateway: SimulatedGateway,
        then: @escaping (_ isDone: Bool) -> Void
    ) {
        ask("keeps \(name)", by: gateway) { [self] () -> Bool? in
            pieces[name] = bytes
            if case .manifest(let mark) = name { checker.counts(mark, of: self) }
            return true
        } then: {
            then($0 == true)
        }
    }

    func get(
        _ name: BasePiece, by gateway: SimulatedGateway, then: @escaping ([UInt8]?) -> Void
    ) {
        ask("reads \(name)", by: gateway, { [self] in pieces[name] }, then: then)
    }

    func findMarks(by gateway: SimulatedGateway, then: @escaping ([Int64]?) -> Void) {
        ask("looks for pieces", by: gateway, { [self] in marks(complete: false) }, then: then)
    }

    func findNewest(by gateway: SimulatedGateway, then: @escaping (Newest) -> Void) {
        ask("looks for bases", by: gateway) { [self] () -> [Int64]? in
            marks(complete: true)
        } then: { [self] marks in
            guard let marks else { return then(.unknown) }
            guard let mark = marks.last else { return then(.none) }
            get(.manifest(mark: mark), by: gateway) { bytes in
                let manifest = bytes.flatMap { try? BaseManifest($0) }
                then(manifest.map { Newest.base($0) } ?? .unknown)
            }
        }
    }

    func removePieces(
        at mark: Int64, by gateway: SimulatedGateway, then: @escaping (_ isDone: Bool) -> Void
    ) {
        ask("removes the base at \(mark)", by: gateway) { [self] () -> Bool? in
            pieces = pieces.filter { $0.key.mark != mark }
            checker.removed(mark, of: self, first: journal.first)
            return true
        } then: {
            then($0 == true)
        }
    }

    func removeEntries(
        through mark: Int64, by gateway: SimulatedGateway, then: @escaping (_ isDone: Bool) -> Void
    ) {
        ask("purges up to \(mark)", by: gateway) { [self] () -> Bool? in
            checker.purges(through: mark, with: self)
            journal.purge(through: mark)
            return true
        } then: {
            then($0 == true)
        }
    }

    /// Where the journal begins; nil if nobody says.
    func findBeginning(for gateway: SimulatedGateway, then: @escaping (Int64?) -> Void) {
        ask("asks where the journal begins", by: gateway, { [self] in journal.first }, then: then)
    }

    /// `body` says nil where there is nothing; then it is asked again, since whoever answers may be
    /// behind.
    private func ask<Answer>(
        _ what: String, by gateway: SimulatedGateway, attempt: Int = 1,
        _ body: @escaping () -> Answer?, then: @escaping (Answer?) -> Void
    ) {
        let (process, life) = (gateway.process, gateway.process.life)
        if !isHealed, random.chance(0.02) { struck(gateway) }
        guard process.life == life, process.survives(what) else { return }
        simulation.trace(process.name, what)
        var isAnswered = false
        if !gateway.isCutOff, !loses() {
            let arrival = max(simulation.now + way(), arrivals[gateway.number] ?? .zero)
            arrivals[gateway.number] = arrival
            simulation.after(arrival - simulation.now) { [self] in
                guard !journal.isLeaderless else { return }
                let answer = body()
                guard !loses(), process.life == life else { return }
                simulation.after(way(), on: process) {
                    guard !isAnswered, let answer else { return }
                    isAnswered = true
                    then(answer)
                }
            }
        }
        simulation.after(Self.timeout, on: process) { [self] in
            guard !isAnswered else { return }
            isAnswered = true
            guard attempt < Self.attempts else { return then(nil) }
            simulation.after(Self.pause, on: process) { [self] in
                ask(what, by: gateway, attempt: attempt + 1, body, then: then)
            }
        }
    }

    private func loses() -> Bool { !isHealed && random.chance(0.04) }

    private func way() -> Duration {
        !isHealed && random.chance(0.04)
            ? random.spread(.seconds(1), .seconds(8))
            : random.latency(.microseconds(300), .milliseconds(20))
    }
}

extension BasePiece {
    fileprivate var mark: Int64 {
        switch self {
        case .manifest(let mark): mark
        case .piece(let mark, _): mark
        }
    }
}
