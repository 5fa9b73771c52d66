import Foundation
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

/// Runs the vectors of docs/protocol/vectors, which a client in any language can run.
@Suite("Conformance")
struct ConformanceTests {
    static let folder = Command.root.appending(path: "docs/protocol/vectors")

    static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".json") }.sorted()
    }

    @Test("the SDK does what a conformance vector says", arguments: try names())
    func vector(file: String) throws {
        let vector = try Vector(contentsOf: Self.folder.appending(path: file))
        #expect(file == vector.name + ".json")
        #expect(vector.steps.contains { $0["expect"] != nil }, "it expects nothing")
        var run = try VectorRun(vector)
        for (index, step) in vector.steps.enumerated() {
            for complaint in try run.perform(step) {
                Issue.record("\(vector.name), step \(index + 1): \(complaint)")
            }
        }
    }

    @Test("a vector whose expectation is wrong is not passed")
    func wrongExpectation() throws {
        let vector = try Vector(contentsOf: Self.folder.appending(path: "any-order.json"))
        let wrong: [[String: Any]] = [
            ["state": ["general": "stalled"]], ["coverage": ["general": [[0, 9]]]],
            ["epoch": ["general": "e9"]], ["events": ["general": ["x"]]],
            ["lost": ["general": 3]], ["connection": "stopped"], ["closed": true],
            ["sends": [["type": "hello"]]], ["unheard": 1],
        ]
        for expectation in wrong {
            var run = try VectorRun(vector)
            for step in vector.steps { _ = try run.perform(step) }
            #expect(try !run.perform(["expect": expectation]).isEmpty, "\(expectation)")
        }
    }
}

/// A vector as it stands in its file.
struct Vector {
    let name: String
    let channels: [[String: Any]]
    let steps: [[String: Any]]

    init(contentsOf file: URL) throws {
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let fields = try #require(object as? [String: Any])
        name = try #require(fields["name"] as? String)
        channels = try #require(fields["channels"] as? [[String: Any]])
        steps = try #require(fields["steps"] as? [[String: Any]])
    }
}

/// The shipping machine under a vector: a disk that always writes at once, and a clock that is
/// moved by hand.
struct VectorRun {
    private var machine = ChannelsMachine()
    private var now: Duration = .seconds(1_000)
    private var alarm: Duration?
    private var connection = "waiting"
    private var hasClosed = false
    private var sent: [[String: Any]] = []
    private var states: [String: String] = [:]
    private var coverage: [String: Coverage] = [:]
    private var epochs: [String: String] = [:]
    private var stored: [String: [String]] = [:]
    private var lost: [String: Int64] = [:]

    init(_ vector: Vector) throws {
        try perform(machine.started(as: EntryID("device"), at: now))
        for (index, channel) in vector.channels.enumerated() {
            let name = try ChannelName(#require(channel["channelId"] as? String))
            var before: ChannelStore.Stored?
            if let epoch = channel["epoch"] as? String {
                let known = try Self.coverage(channel["coverage"])
                coverage[name.text] = known
                epochs[name.text] = epoch
                before = .init(
                    position: Self.position(log: Int64(index + 1)), epoch: try Epoch(epoch),
                    coverage: known, head: known.top)
            }
            try perform(machine.subscribed(name, stored: before, at: now))
        }
    }

    /// - Returns: what did not hold.
    mutating func perform(_ step: [String: Any]) throws -> [String] {
        if let frames = step["receive"] as? [[String: Any]] { try receive(frames) }
        if let wait = step["pass"] as? Int { try pass(.milliseconds(wait)) }
        if let wait = step["dials"] as? Int {
            try pass(.milliseconds(wait), isLongEnough: { $0.connection == "connected" })
            if connection != "connected" { return ["it did not dial within \(wait) ms"] }
        }
        if let code = step["closed"] { try end(code as? Int) }
        guard let expected = step["expect"] as? [String: Any] else { return [] }
        return try expected.keys.sorted().compactMap { key in
            try complaint(key, expected[key] ?? NSNull())
        }
    }

    // MARK: Steps

    private mutating func receive(_ frames: [[String: Any]]) throws {
        let bytes = try frames.map { Array(try JSONSerialization.data(withJSONObject: $0)) }
        try perform(machine.framesReceived(bytes[...], at: now, jitter: 0.5))
    }

    private mutating func pass(
        _ time: Duration, isLongEnough: (Self) -> Bool = { _ in false }
    ) throws {
        let end = now + time
        while !isLongEnough(self), let due = alarm, due <= end {
            now = max(now, due)
            alarm = nil
            try perform(machine.woke(at: now, jitter: 0.5))
        }
        if !isLongEnough(self) { now = end }
    }

    private mutating func end(_ code: Int?) throws {
        connection = "waiting"
        let code = code.map { CloseCode(UInt16($0)) }
        try perform(machine.disconnected(closeCode: code, error: nil, at: now, jitter: 0.5))
    }

    // MARK: Effects

    private mutating func perform(_ actions: [ChannelsMachine.Action]) throws {
        for action in actions {
            switch action {
            case .dial:
                connection = "connected"
                try perform(machine.dialSucceeded(at: now))
            case .stop: connection = "stopped"
            case .send(let frames): try note(frames)
            case .close:
                hasClosed = true
                try end(nil)
            case .commit(let batch, let positions):
                write(batch)
                let moved = Dictionary(
                    uniqueKeysWithValues: batch.channels.map {
                        ($0, positions[$0] ?? Self.position(log: 9))
                    })
                try perform(machine.committed(moved, at: now, jitter: 0.5))
            case .wake(let moment): alarm = moment
            case .enter(let channel, let state): states[channel.text] = Self.name(of: state)
            default: break
            }
        }
    }

    private mutating func note(_ frames: [[UInt8]]) throws {
        for frame in frames {
            let object = try JSONSerialization.jsonObject(with: Data(frame)) as? [String: Any]
            let fields = try #require(object)
            if ["hello", "subscribe", "unsubscribe"].contains(fields["type"] as? String) {
                sent.append(fields)
            }
        }
    }

    private mutating func write(_ batch: StagedBatch) {
        for segment in batch.segments {
            let channel = segment.channel.text
            if let epoch = segment.epoch { epochs[channel] = epoch.text }
            coverage[channel] = segment.coverage
            stored[channel, default: []] += segment.events.map(\.id.text)
            for loss in segment.losses {
                lost[channel, default: 0] += loss.ranges.reduce(0) { $0 + $1.count }
            }
        }
    }

    // MARK: Expectations

    private mutating func complaint(_ key: String, _ expected: Any) throws -> String? {
        switch key {
        case "connection": return Self.differs(key, connection, expected as? String ?? "")
        case "closed": return Self.differs(key, hasClosed, expected as? Bool ?? !hasClosed)
        case "sends":
            defer { sent = [] }
            let frames = expected as? [[String: Any]] ?? []
            guard frames.count == sent.count, zip(frames, sent).allSatisfy(Self.holds) else {
                return "sends \(frames) was expected, and \(sent) came"
            }
            return nil
        case "state", "epoch", "coverage", "events", "lost":
            for (channel, value) in expected as? [String: Any] ?? [:] {
                if let complaint = try complaint(key, channel, value) { return complaint }
            }
            return nil
        default: return "nobody knows how to expect \(key)"
        }
    }

    private mutating func complaint(
        _ key: String, _ channel: String, _ value: Any
    ) throws -> String? {
        switch key {
        case "state": return Self.differs(key, states[channel] ?? "", value as? String ?? "")
        case "epoch": return Self.differs(key, epochs[channel] ?? "", value as? String ?? "")
        case "coverage":
            return Self.differs(key, coverage[channel] ?? Coverage(), try Self.coverage(value))
        case "events":
            defer { stored[channel] = [] }
            return Self.differs(
                key, stored[channel, default: []].sorted(), value as? [String] ?? ["?"])
        default:
            return Self.differs(key, lost[channel] ?? 0, (value as? NSNumber)?.int64Value ?? -1)
        }
    }

    private static func differs<Value: Equatable>(
        _ key: String, _ found: Value, _ expected: Value
    ) -> String? {
        found == expected ? nil : "\(key) is \(found), not \(expected)"
    }

    /// Whether every field that is expected is there; an absent coverage is an empty one.
    private static func holds(_ expected: [String: Any], _ found: [String: Any]) -> Bool {
        expected.allSatisfy { key, value in
            if key == "channels", let expected = value as? [[String: Any]],
                let found = found[key] as? [[String: Any]]
            {
                return expected.count == found.count && zip(expected, found).allSatisfy(holds)
            }
            let other = found[key] ?? (key == "coverage" ? [[Int]]() : NSNull())
            return (value as? NSObject) == (other as? NSObject)
        }
    }

    private static func coverage(_ value: Any?) throws -> Coverage {
        var coverage = Coverage()
        for pair in value as? [[NSNumber]] ?? [] {
            let range = SequenceRange(after: pair[0].int64Value, through: pair[1].int64Value)
            coverage.insert(try #require(range))
        }
        return coverage
    }

    private static func position(log: Int64) -> LogPosition {
        LogPosition(log: log, version: 0, accepted: 0, hasFormer: false)
    }

    private static func name(of state: ChannelState) -> String {
        switch state {
        case .closed: "closed"
        case .subscribing: "subscribing"
        case .catchingUp: "catchingUp"
        case .live: "live"
        case .repairing: "repairing"
        case .stalled: "stalled"
        case .beyondRetention: "beyondRetention"
        case .refused: "refused"
        }
    }
}
