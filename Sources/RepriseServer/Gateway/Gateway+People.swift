import Logging
import RepriseCore
import RepriseWire
import Synchronization

/// Connected users and devices, and their receipts.
extension Gateway {
    /// Whether connections are authenticated.
    var asksWho: Bool { authenticator != nil }

    var subscribeRate: TokenBucket.Rate {
        .init(
            perSecond: Double(limits.subscribesPerSecond),
            burst: Double(2 * limits.channelsPerConnection))
    }

    /// Counts one more connection of the user, within the limit.
    ///
    /// The newest is refused: a person who opens another window keeps the working ones.
    func admits(_ user: UserID) -> Bool {
        users.withLock { users in
            guard users[user, default: 0] < limits.connectionsPerUser else { return false }
            users[user, default: 0] += 1
            return true
        }
    }

    func left(_ user: UserID) {
        users.withLock { users in
            let count = users[user, default: 1] - 1
            users[user] = count > 0 ? count : nil
        }
    }

    // MARK: Devices

    typealias Roster = DeviceRoster<Place>

    /// The event loop and number of a connection.
    struct Place: Equatable, Sendable {
        let id: UInt64
        let shard: Shard

        static func == (left: Place, right: Place) -> Bool { left.id == right.id }
    }

    /// - Returns: the device's older connections.
    func arrived(_ place: Place, as key: Roster.Key) -> [Place] {
        roster.withLock { $0.arrived(place, as: key) }
    }

    func left(_ place: Place, as key: Roster.Key) {
        roster.withLock { $0.left(place, as: key) }
    }

    func sawDevice(_ device: EntryID, of user: UserID) {
        guard let accounts else { return }
        Task {
            do {
                try await accounts.sawDevice(device, of: user, at: clock.wall())
            } catch {
                logger.warning("a device could not be noted", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Makes a receipt durable, clamped to the head, and notifies subscribers; or notifies `shard`
    /// that it failed.
    func move(
        _ receipt: ClientFrame.Receipt, of user: UserID, on device: EntryID?, by id: UInt64,
        through shard: Shard
    ) {
        guard let accounts else { return shard.post(.moveFailed(id, receipt)) }
        Task {
            do {
                let head = try await log.state(of: receipt.channel).head
                let position = try await accounts.move(
                    PositionMove(
                        channel: receipt.channel, user: user, device: device,
                        read: receipt.read.map { min($0, head) },
                        delivered: receipt.delivered.map { min($0, head) }))
                let members = try await accounts.memberCount(of: receipt.channel)
                hub.moved(
                    by: id,
                    PositionUpdates.Telling(
                        channel: receipt.channel, position: position, except: id,
                        isPrivate: members > WireLimits.positions))
            } catch {
                logger.warning(
                    "a receipt could not be stored",
                    metadata: [
                        "connection": "\(id)", "channel": "\(receipt.channel)",
                        "error": "\(error)",
                    ])
                shard.post(.moveFailed(id, receipt))
            }
        }
    }

    // MARK: Metrics

    func subscriptionsChanged(by count: Int) {
        subscriptions.wrappingAdd(count, ordering: .relaxed)
    }

    func catchUpsChanged(by count: Int) { catchUps.wrappingAdd(count, ordering: .relaxed) }

    /// Registers metrics that are read on request.
    func watch() {
        metrics.gauge("reprise_connections") { [weak self] in self?.connectionCount ?? 0 }
        metrics.gauge("reprise_connected_users") { [weak self] in
            self?.users.withLock { $0.count } ?? 0
        }
        metrics.gauge("reprise_subscriptions") { [weak self] in
            self?.subscriptions.load(ordering: .relaxed) ?? 0
        }
        metrics.gauge("reprise_catch_ups_open") { [weak self] in
            self?.catchUps.load(ordering: .relaxed) ?? 0
        }
        metrics.gauge("reprise_reads_waiting") { [weak self] in self?.reader.waitingCount ?? 0 }
        metrics.gauge("reprise_publishes_waiting") { [weak self] in
            self?.committer.waitingCount ?? 0
        }
    }
}
