import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseWire

/// A device with the case study's own client, frozen or repaired, on a real connection.
///
/// The client is the simulator's transcription, one for each channel. Where the case study leaves
/// something open, the device favours it: position and effect are one write to disk, it reconnects
/// every second, and never checks its queue too early by itself.
actor OriginalDevice {
    struct Setup: Sendable {
        let server: String
        let dialer: any SocketDialer
        let version: OriginalChannelClient.Version
        /// Whether its backend reports the end of a catch-up: in the original "optional but
        /// recommended".
        let hearsCompletion: Bool
        /// The speed-up of its clock.
        let speed: Double
        let say: @Sendable (DeviceWord) -> Void
    }

    private struct Line {
        var client: OriginalChannelClient
        var file: OriginalFile
    }

    private let setup: Setup
    private let start = ContinuousClock.now
    private var lines: [ChannelName: Line] = [:]
    private var hasClaimed = false

    init(_ setup: Setup, files: [ChannelName: OriginalFile]) {
        self.setup = setup
        lines = files.mapValues { file in
            Line(client: OriginalChannelClient(setup.version, highest: file.highest), file: file)
        }
    }

    /// Listens until the task is cancelled, or it freezes.
    func run() async throws {
        while true {
            try Task.checkCancellation()
            if let connection = try? await WireConnection.open(setup.server, dialer: setup.dialer) {
                do { try await listen(connection) } catch let failure as CommandFailure {
                    throw failure
                } catch {}
                await connection.close()
                guard failed() else { break }
            }
            try await Task.sleep(for: .seconds(1))
        }
        // "Freezes waiting for events that never come" (38).
        setup.say(.frozen)
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
                            channel: name, epoch: lines[name]?.file.epoch,
                            coverage: Coverage(through: highest)))
                case .check(let interval): looks[name] = interval
                case .apply, .reconnect: continue
                }
            }
        }
        hasClaimed = false
        setup.say(.catchingUp)
        try await connection.send([ClientFrame.subscribe(subscriptions).encoded()])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, interval) in looks {
                group.addTask { try await self.look(at: name, every: interval) }
            }
            group.addTask {
                try await connection.read { frames in try await self.received(frames) }
            }
            // Looks end with the catch-up; the connection ends by throwing, and takes them with it.
            while try await group.next() != nil {}
        }
    }

    private var now: Duration { (ContinuousClock.now - start) * setup.speed }

    private func look(at name: ChannelName, every interval: Duration) async throws {
        var next: Duration? = interval
        while let pause = next {
            try await Task.sleep(for: pause / setup.speed)
            next = nil
            // Events are processed at once, so its queue is empty at any check (23).
            for action in lines[name]?.client.checked(at: now, isQueueEmpty: true) ?? [] {
                if case .check(let pause) = action { next = pause }
            }
            claim()
        }
    }

    private func received(_ frames: [ServerFrame]) throws {
        for frame in frames {
            switch frame {
            case .subscribed(let subscribed): try lines[subscribed.channel]?.file.keep(subscribed)
            case .event(let event): try received(event)
            case .syncComplete(let complete) where setup.hearsCompletion:
                lines[complete.channel]?.client.textReceived(frame.encoded())
                claim()
            default: continue
            }
        }
    }

    private func received(_ event: ServerFrame.Event) throws {
        let actions = lines[event.channel]?.client.eventReceived(event.seq, at: now) ?? []
        for case .apply(_) in actions { try lines[event.channel]?.file.append(event) }
    }

    /// Reports once when no channel considers itself catching up any more.
    private func claim() {
        guard !hasClaimed, lines.values.allSatisfy({ !$0.client.isCatchingUp }) else { return }
        hasClaimed = true
        setup.say(.complete)
    }
}
