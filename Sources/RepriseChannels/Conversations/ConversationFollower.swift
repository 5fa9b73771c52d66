import GRDB
import Logging
package import RepriseCore
import RepriseJournal
package import RepriseWire
import Synchronization

/// Follows the user's conversations: reads the directory, and subscribes to the channels that it
/// names.
package final class ConversationFollower: Sendable {
    private struct Followed {
        /// The channel that the server named last.
        var directory: ChannelName?
        /// The directory that has a reader.
        var reading: ChannelName?
        /// Whether that was read to its end once.
        var isRead = false
        /// The channels that wait for that.
        var held: Set<ChannelName> = []
        /// The channels that were subscribed to for the directory's sake alone.
        var channels: Set<ChannelName> = []
        /// The channels that the app does not want in this run.
        var declined: Set<ChannelName> = []
    }

    /// Raised when conversations that this device does not follow may have to be counted anew.
    package let mayHaveUnfollowed = Signal()

    private let journal: Journal
    private let configuration: Channels.Configuration
    private let readers: Readers
    private let driver: ChannelsDriver
    private let states: ChannelStateBroadcasters
    private let followed = Mutex(Followed())
    /// Raised when the directory has another name, or other conversations.
    private let directoryChanged = Signal()

    init(
        journal: Journal, configuration: Channels.Configuration, readers: Readers,
        driver: ChannelsDriver, states: ChannelStateBroadcasters
    ) {
        (self.journal, self.configuration, self.readers) = (journal, configuration, readers)
        (self.driver, self.states) = (driver, states)
    }

    // MARK: The app

    /// The app wants the channel.
    func subscribed(_ name: ChannelName) {
        followed.withLock { followed in
            followed.channels.remove(name)
            followed.declined.remove(name)
        }
    }

    /// The app does not want the channel in this run.
    func unsubscribed(_ name: ChannelName) {
        followed.withLock { followed in
            followed.channels.remove(name)
            followed.declined.insert(name)
        }
    }

    /// A change of the app, or its answer, has changed the list of conversations.
    func listChanged() { directoryChanged.raise() }

    // MARK: The directory

    /// Follows the directory, and every channel that it names, until the task is cancelled; after a
    /// failure of the disk again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.ownershipLost`.
    func run() async throws {
        while !Task.isCancelled {
            do {
                try await followOnce()
                await directoryChanged.wait()
            } catch let error as RepriseError where ![.closed, .ownershipLost].contains(error.code)
            {
                configuration.logger.tell(
                    .error, "Conversations cannot be followed.", ["error": "\(error)"])
                try? await configuration.timekeeper.sleep(for: ConversationLimits.retry)
            }
        }
    }

    private func followOnce() async throws {
        let named = followed.withLock(\.directory)
        let known = try await journal.read { try ConversationRows.directory($0) }
        if let named, named != known {
            try await journal.write { try ConversationRows.set(directory: named, $0) }
        }
        if let directory = named ?? known { try await read(directory: directory) }
        try await followChannels()
    }

    /// The server has welcomed the user.
    func welcomed(directory: ChannelName?) {
        guard configuration.followsConversations, let directory, directory.isDirectory else {
            return
        }
        let isNew = followed.withLock { followed in
            defer { followed.directory = directory }
            return followed.directory != directory
        }
        (isNew ? directoryChanged : mayHaveUnfollowed).raise()
    }

    private func read(directory: ChannelName) async throws {
        if followed.withLock(\.reading) != directory { try await beginReading(directory) }
        // Not subscribed to yet, too, if the subscription has failed before.
        guard await !driver.isSubscribed(directory) else { return }
        try await driver.subscribe(directory, states: states[directory])
    }

    private func beginReading(_ directory: ChannelName) async throws {
        if let former = followed.withLock(\.reading) {
            try await readers.forget(.init(channel: former, name: Self.directoryReader))
        }
        try await readers.add(
            .init(channel: directory, name: Self.directoryReader),
            options: ReaderOptions(order: .ordered),
            effect: .inside {
                [directoryChanged, changeNotifier = readers.changeNotifier] db, messages in
                let told = try ConversationRows.apply(messages, db)
                db.afterNextTransaction { _ in
                    directoryChanged.raise()
                    // A banner may wait for its name.
                    for channel in told { changeNotifier.notify(channel) }
                }
            })
        followed.withLock { ($0.reading, $0.isRead) = (directory, false) }
    }

    /// The channels that the directory may be about to tell for the first time: until it is read to
    /// its end, when their observers hear of it.
    package func untold(of names: [ChannelName]) async throws -> Set<ChannelName> {
        guard let directory = followed.withLock({ $0.isRead ? nil : $0.directory }),
            try await !isRead(directory)
        else { return [] }
        let untold = try await journal.read { db in
            try Set(names.filter { try !ConversationRows.isKnown($0, db) })
        }
        if !untold.isEmpty { hold(untold) }
        return untold
    }

    private func isRead(_ directory: ChannelName) async throws -> Bool {
        guard let end = await driver.flows(of: [directory])[directory]?.liveAfter,
            let cursor = readers.lines(of: directory).first?.through.value
        else { return false }
        let store = readers.store(
            .init(channel: directory, name: Self.directoryReader), order: .ordered)
        let isRead = try await journal.read { db in
            try Self.isWhole(directory, through: end, db) && store.rows.newest(db) <= cursor
        }
        if isRead { followed.withLock { $0.isRead = $0.directory == directory } }
        return isRead
    }

    /// Looks for a while whether the directory is read: it may have nothing new to tell.
    private func hold(_ names: Set<ChannelName>) {
        let isFirst = followed.withLock { followed in
            defer { followed.held.formUnion(names) }
            return followed.held.isEmpty
        }
        guard isFirst else { return }
        Task { [weak self] in
            for _ in 0..<ConversationLimits.looks {
                try? await Task.sleep(for: ConversationLimits.look)
                guard let self, let directory = followed.withLock(\.directory) else { break }
                if (try? await isRead(directory)) == true { break }
            }
            guard let self else { return }
            let held = followed.withLock { followed in
                defer { followed.held = [] }
                return followed.held
            }
            for name in held {
                readers.changeNotifier.notify(name)
            }
        }
    }

    /// Whether the journal has all of a channel up to a sequence.
    private static func isWhole(
        _ channel: ChannelName, through end: Int64, _ db: Database
    ) throws -> Bool {
        guard end > 0 else { return true }
        guard let standing = try ChannelReading.standing(of: channel, db) else { return false }
        return standing.isComplete && standing.head >= end
    }

    /// The name of the reader that keeps the list of conversations.
    private static let directoryReader = "reprise.directory"

    // MARK: The channels

    private func followChannels() async throws {
        let (wanted, pending) = try await journal.read {
            (try ConversationRows.followed($0), try ConversationRows.pending($0))
        }
        driver.outbox.awaits(pending)
        let (new, ended) = followed.withLock { followed in
            let ended = followed.channels.subtracting(wanted)
            let new = wanted.filter {
                !followed.declined.contains($0)
                    && (!followed.channels.contains($0) || isRefused($0))
            }
            followed.channels.subtract(ended)
            return (new, ended)
        }
        // One that the app reads stays, as far as the server allows.
        for channel in ended.sorted() where readers.lines(of: channel).isEmpty {
            await driver.unsubscribe(channel)
            readers.changeNotifier.tell(.left(channel))
        }
        try await withThrowingDiscardingTaskGroup { group in
            for channel in new {
                group.addTask { try await self.follow(channel) }
            }
        }
        // Names, members and mutes may have changed.
        readers.changeNotifier.notifyObserversOfAll()
        mayHaveUnfollowed.raise()
    }

    /// The conversations of which this device gets no messages, and those whose unread messages the
    /// server has counted because of that.
    package func unfollowed() async throws -> Set<ChannelName> {
        let names = try await journal.read {
            Set(try ConversationRows.channels($0) + ReceiptRows.elsewhere($0))
        }
        return await driver.notSubscribed(of: names)
    }

    /// Takes the server's counts of what is unread in channels that this device does not follow.
    ///
    /// - Parameters:
    ///   - counts: of all channels with unread messages.
    ///   - epoch: of the server's log.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    package func counted(_ counts: [ChannelName: Unread], epoch: Epoch) async throws {
        let names = try await unfollowed()
        let taken = try await journal.write { [readers] db in
            let counted = names.intersection(
                Set(counts.keys).union(try ReceiptRows.elsewhere(db)))
            let changed = try counted.filter {
                try ReceiptRows.count(counts[$0], of: $0, epoch, db)
            }
            db.afterNextTransaction { _ in
                for channel in changed { readers.changeNotifier.notify(channel) }
            }
            return counted
        }
        // One that is followed meanwhile counts by itself.
        let followed = await taken.subtracting(driver.notSubscribed(of: taken))
        guard !followed.isEmpty else { return }
        try await journal.write { [readers] db in
            for channel in followed { try ReceiptRows.follow(channel, db) }
            db.afterNextTransaction { _ in
                for channel in followed { readers.changeNotifier.notify(channel) }
            }
        }
    }

    private func isRefused(_ channel: ChannelName) -> Bool {
        if case .refused = states[channel].value { true } else { false }
    }

    /// Subscribes to a channel; to one that was refused again, because the user is a member now.
    private func follow(_ channel: ChannelName) async throws {
        let isOwn = await driver.isSubscribed(channel)
        try await driver.subscribe(channel, states: states[channel])
        if !isOwn { _ = followed.withLock { $0.channels.insert(channel) } }
    }
}
