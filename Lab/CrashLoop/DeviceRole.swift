import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNIO
import RepriseTesting
import RepriseWire
import Synchronization

/// `crash-loop device`: a process that reads, publishes and merges its spool until it is killed.
///
/// On its standard output it says how far it has come, so that the one who kills it knows in what.
struct DeviceRole: Sendable {
    static let channels = ["alpha", "beta"]

    private let place: DevicePlace
    private let server: String
    private let version: Int
    /// Whether it publishes nothing new.
    private let isCalm: Bool

    init(_ arguments: Arguments) throws {
        place = DevicePlace(folder: URL(fileURLWithPath: try arguments.needed("folder")))
        server = try arguments.needed("server")
        version = try arguments.number("version") ?? DeviceTables.versions
        isCalm = arguments.has("calm")
    }

    /// The configuration that a device and the one who inspects its journal share.
    static func configuration(
        version: Int = DeviceTables.versions, saying say: @escaping @Sendable (Phase) -> Void
    ) -> AccountClient.Configuration {
        var configuration = AccountClient.Configuration()
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(20), longest: .milliseconds(200))
        configuration.kinds = [DeviceTables.kind]
        configuration.schemas = [
            DeviceTables.schema(version: version) { say(.migrating) },
            // Its recovery is the last thing before the spool is merged.
            JournalSchema(name: "phase", migrations: [], recover: { _, _ in say(.merging) }),
        ]
        return configuration
    }

    func run() async throws {
        ChildStart.begin(log: place.log)
        let say: @Sendable (Phase) -> Void = { LineFile.output.append($0.rawValue) }
        let reprise = try await AccountClient.open(
            at: place.journal, server: server, dialer: NIODialer(),
            configuration: Self.configuration(version: version, saying: say))
        say(.working)
        await reprise.journal.handle(
            DeviceTables.kind.name, inTransaction: DeviceTables.spooled)
        for name in Self.channels { try await read(reprise.channel(name)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await reprise.run() }
            group.addTask { try await mergeSpool(reprise.journal) }
            if !isCalm { group.addTask { try await publish(reprise) } }
            try await group.next()
            throw ProcessFailure("A device stopped working although nobody asked it to.")
        }
    }

    // MARK: What it does

    private func read(_ channel: Channel) async throws {
        // A message may be in hand at every one of a thousand kills; that is not its own fault.
        let patient = ReaderOptions(
            attemptLimit: 10_000, backoff: Backoff(base: .milliseconds(10), longest: .seconds(1)))
        var never = patient
        never.onInterruption = .never
        never.window = 1
        try await channel.read(
            DeviceTables.reader, options: patient, inTransaction: DeviceTables.sink)
        try await channel.read("again", options: patient, handler: try effect(.again))
        try await channel.read("never", options: never, handler: try effect(.never))
        let store = try AppliedEffects(place.effects(.applied))
        try await channel.read("applied", options: patient, isApplied: { store.contains($0) }) {
            store.apply($0)
        }
    }

    private func effect(_ reader: KilledReader) throws -> @Sendable (Message) async throws -> Void {
        let file = try LineFile(place.effects(reader))
        guard LoopMutation.current == .acknowledgeBeforeEffect, reader == .again else {
            return { message in file.append("\(message.id) \(message.attempt)") }
        }
        return { message in
            Task {
                try await Task.sleep(for: .milliseconds(30))
                file.append("\(message.id) \(message.attempt)")
            }
        }
    }

    private func publish(_ reprise: AccountClient) async throws {
        let promises = try LineFile(place.promises)
        let channels = try Self.channels.map { try reprise.channel($0) }
        while true {
            for channel in channels {
                // Now and then so many at once that they are on their way together: their order
                // must hold.
                let count = Int.random(in: 0..<4) == 0 ? Int.random(in: 2...30) : 1
                for _ in 0..<count {
                    let id = try await channel.publish(#"{"from":"device"}"#)
                    promises.append("\(id) \(channel.name)")
                }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...80)))
        }
    }

    private func mergeSpool(_ journal: Journal) async throws {
        while true {
            try await journal.mergeSpool()
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...50)))
        }
    }
}

/// How far a device's process had come when it was killed.
enum Phase: String, CaseIterable, Sendable {
    case starting, migrating, merging, working
}

/// The app's own store: knows the ids of the effects that it has.
private final class AppliedEffects: Sendable {
    private let file: LineFile
    private let known: Mutex<Set<String>>

    init(_ path: String) throws {
        known = Mutex(Set(LineFile.read(path).compactMap { $0.first.map(String.init) }))
        file = try LineFile(path)
    }

    func contains(_ id: EntryID) -> Bool {
        if LoopMutation.current == .forgetEffects { return false }
        return known.withLock { $0.contains(id.text) }
    }

    func apply(_ message: Message) {
        known.withLock { known in
            file.append("\(message.id) \(message.attempt)")
            known.insert(message.id.text)
        }
    }
}
