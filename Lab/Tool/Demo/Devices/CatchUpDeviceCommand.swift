import ArgumentParser
import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseSimulator
import RepriseWire
import Synchronization

/// The four devices of `reprise-lab demo catch-up`.
enum CatchUpDevice: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The original app of `case-catch-up`, before its repair.
    case first
    /// The same after its repair.
    case repaired
    /// The same, with a backend that says when a catch-up is over.
    case signalled
    case reprise
}

/// `reprise-lab catch-up-device`: a device of `reprise-lab demo catch-up`, to be killed.
///
/// Not for people.
struct CatchUpDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catch-up-device", abstract: "A device for the demo.", shouldDisplay: false)

    @Argument var channels: [String]
    @Option var server: String
    @Option var folder: String
    @Option var role: CatchUpDevice
    @Option var seed: UInt64
    @Option var speed = 1.0

    /// The file outside of any journal that a device writes for a channel.
    static func effects(of role: CatchUpDevice, in channel: String, at folder: URL) -> String {
        folder.appendingPathComponent("\(role.rawValue).\(channel).effects").path
    }

    func run() async throws {
        let names = try channels.map { try ChannelName($0) }
        let device = self
        let go = WakeUp()
        _ = try await Interruption.cancelling {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let reader = InputLineReader(descriptor: STDIN_FILENO)
                    while let line = try? await reader.next() {
                        _ = line
                        go.ring()
                    }
                }
                group.addTask { try await device.listen(names, after: go) }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    private var dialer: ParallelStreams { ParallelStreams(dialer: NIODialer(), seed: seed) }

    private func effects(_ name: ChannelName) -> String {
        Self.effects(of: role, in: name.text, at: URL(fileURLWithPath: folder))
    }

    @Sendable private static func say(_ word: DeviceWord) {
        try? StandardOutput.write(word.rawValue)
    }

    private func listen(_ names: [ChannelName], after go: WakeUp) async throws {
        guard role != .reprise else { return try await listenWithReprise(names, after: go) }
        var files: [ChannelName: OriginalFile] = [:]
        for name in names { files[name] = try OriginalFile(effects(name)) }
        let setup = OriginalDevice.Setup(
            server: server, dialer: dialer, version: role == .first ? .first : .repaired,
            hearsCompletion: role == .signalled, speed: speed, say: Self.say)
        let device = OriginalDevice(setup, files: files)
        Self.say(.ready)
        await go.wait()
        try await device.run()
    }

    /// The SDK, with an effect outside the journal that is exactly once: the file keeps the ids.
    private func listenWithReprise(_ names: [ChannelName], after go: WakeUp) async throws {
        let reprise = try await Reprise.open(
            at: URL(fileURLWithPath: folder).appendingPathComponent("journal"), server: server,
            dialer: dialer)
        for name in names {
            let path = effects(name)
            let file = try EffectFile(path)
            var log = EffectLog(path)
            try log.update()
            let applied = AppliedIDs(log.ids)
            try await reprise.channel(name.text).read(
                "file", isApplied: { id in applied.contains(id) },
                handler: { message in
                    try file.append(seq: message.seq, id: message.id, attempt: message.attempt)
                    applied.insert(message.id)
                })
        }
        Self.say(.ready)
        await go.wait()
        let announcing = Task { try await announce(names, of: reprise) }
        defer { announcing.cancel() }
        do { try await reprise.run() } catch {
            await reprise.close()
            throw error
        }
        await reprise.close()
    }

    /// Reports when the first channel is no longer live, and when the last one is again.
    private func announce(_ names: [ChannelName], of reprise: Reprise) async throws {
        let live = LiveChannels(count: names.count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names {
                let states = try reprise.channel(name.text).states
                group.addTask {
                    for await state in states {
                        if let word = live.changed(name, to: state) { Self.say(word) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Which ids are in a file.
private final class AppliedIDs: Sendable {
    private let ids: Mutex<Set<EntryID>>

    init(_ ids: Set<EntryID>) { self.ids = Mutex(ids) }

    func contains(_ id: EntryID) -> Bool { ids.withLock { $0.contains(id) } }
    func insert(_ id: EntryID) { ids.withLock { _ = $0.insert(id) } }
}

/// Which channels are live.
private final class LiveChannels: Sendable {
    private let count: Int
    private let state = Mutex((live: Set<ChannelName>(), said: DeviceWord?.none))

    init(count: Int) { self.count = count }

    /// - Returns: the new state of all channels, if it has changed.
    func changed(_ name: ChannelName, to new: ChannelState) -> DeviceWord? {
        state.withLock { state in
            if new == .live { state.live.insert(name) } else { state.live.remove(name) }
            let word: DeviceWord = state.live.count == count ? .complete : .catchingUp
            defer { state.said = word }
            return word == state.said ? nil : word
        }
    }
}
