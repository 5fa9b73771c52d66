import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseTesting
import RepriseWire

/// A device with the case study's own client, before or after its repair, on a real connection.
///
/// The client is the simulator's transcription, one for each channel. Where the case study leaves
/// something open, the device favours it: position and effect are one write to disk, it reconnects
/// every second, and never checks its queue too early by itself. Only the naive one has its
/// position in memory, as apps often do, and checks its queue whenever that is empty.
actor OriginalDevice {
    /// One channel: its client, and its effects in a file outside of any journal.
    ///
    /// The highest sequence in the file is the position, so effect and position are one write:
    /// safer than any store of the original.
    private struct Line {
        var client: OriginalChannelClient
        private let effects: LineFile
        private let epochFile: URL
        /// The log epoch of the position.
        private(set) var epoch: Epoch?

        init(_ role: DemoDeviceRole, _ path: String) throws {
            effects = try LineFile(effects: path)
            epochFile = URL(fileURLWithPath: path + ".epoch")
            epoch = try? Epoch(String(contentsOf: epochFile, encoding: .utf8))
            var log = EffectLog(path)
            try log.update()
            client = OriginalChannelClient(
                role == .naive || role == .first ? .first : .repaired,
                highest: role == .naive ? 0 : log.highest)
        }

        mutating func keep(_ new: Epoch) throws {
            guard epoch != new else { return }
            epoch = new
            try Data(new.text.utf8).write(to: epochFile, options: .atomic)
        }

        func append(_ event: ServerFrame.Event) {
            effects.append(seq: event.seq, id: event.id, attempt: 1)
        }
    }

    private let role: DemoDeviceRole
    private let server: String
    private let dialer: any SocketDialer
    /// The speed-up of its clock.
    private let speed: Double
    private let start = ContinuousClock.now
    private var lines: [ChannelName: Line]
    private var hasAnswer = false
    private var hasClaimed = false

    /// The folder is for the files of its effects.
    init(
        _ role: DemoDeviceRole, _ channels: [ChannelName], in folder: URL, server: String,
        dialer: any SocketDialer, speed: Double
    ) throws {
        (self.role, self.server, self.dialer, self.speed) = (role, server, dialer, speed)
        let lines = try channels.map { ($0, try Line(role, role.effects(of: $0.text, in: folder))) }
        self.lines = Dictionary(uniqueKeysWithValues: lines)
    }

    /// Listens until the task is cancelled, or it freezes.
    func run() async throws {
        while true {
            try Task.checkCancellation()
            if let connection = try? await WireConnection.open(server, dialer: dialer) {
                try? await listen(connection)
                await connection.close()
                guard failed() else { break }
            }
            try await Task.sleep(for: .seconds(1))
        }
        // "Freezes waiting for events that never come".
        DeviceWord.frozen.say()
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    /// - Returns: whether any channel needs a new connection.
    private func failed() -> Bool {
        var dials = false
        for name in lines.keys {
            if lines[name]?.client.connectionFailed().contains(.reconnect) == true { dials = true }
        }
        return dials
    }

    private func listen(_ connection: WireConnection) async throws {
        var subscriptions: [ClientFrame.Subscription] = []
        var looks: [ChannelName: Duration] = [:]
        for name in lines.keys.sorted() {
            for action in lines[name]?.client.connected(at: now) ?? [] {
                switch action {
                case .subscribe(let highest):
                    subscriptions.append(
                        .init(
                            channel: name, epoch: lines[name]?.epoch,
                            coverage: Coverage(through: highest)))
                case .check(let interval): looks[name] = interval
                case .apply, .reconnect: continue
                }
            }
        }
        (hasAnswer, hasClaimed) = (false, false)
        DeviceWord.waiting.say()
        try await connection.send([ClientFrame.subscribe(subscriptions).encoded()])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, interval) in looks where role != .naive {
                group.addTask { try await self.look(at: name, every: interval) }
            }
            group.addTask {
                try await connection.read { frames in try await self.received(frames) }
            }
            // Looks end with the catch-up; the connection ends by throwing, and takes them with it.
            while try await group.next() != nil {}
        }
    }

    private var now: Duration { (ContinuousClock.now - start) * speed }

    private func look(at name: ChannelName, every interval: Duration) async throws {
        var next: Duration? = interval
        while let pause = next {
            try await Task.sleep(for: pause / speed)
            next = look(at: name)
            claim()
        }
    }

    /// Events are processed at once, so its queue is empty at any check.
    ///
    /// - Returns: when to look again, if at all.
    private func look(at name: ChannelName) -> Duration? {
        for case .check(let pause) in lines[name]?.client.checked(at: now, isQueueEmpty: true) ?? []
        { return pause }
        return nil
    }

    private func received(_ frames: [ServerFrame]) throws {
        for frame in frames {
            switch frame {
            case .subscribed(let subscribed):
                try lines[subscribed.channel]?.keep(subscribed.epoch)
                if !hasAnswer { DeviceWord.catchingUp.say() }
                hasAnswer = true
            case .event(let event): received(event)
            case .syncComplete(let complete) where role == .signalled:
                // "Optional but recommended", so it favours the repaired one.
                lines[complete.channel]?.client.textReceived(frame.encoded())
                claim()
            default: continue
            }
        }
        guard role == .naive, hasAnswer else { return }
        for name in lines.keys { _ = look(at: name) }
        claim()
    }

    private func received(_ event: ServerFrame.Event) {
        let actions = lines[event.channel]?.client.eventReceived(event.seq, at: now) ?? []
        for case .apply(_) in actions { lines[event.channel]?.append(event) }
    }

    /// Reports once when no channel considers itself catching up any more.
    private func claim() {
        guard !hasClaimed, lines.values.allSatisfy({ !$0.client.isCatchingUp }) else { return }
        hasClaimed = true
        DeviceWord.complete.say()
    }
}
