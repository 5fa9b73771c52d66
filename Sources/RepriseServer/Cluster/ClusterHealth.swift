package import RepriseCore
import Synchronization

/// What a gateway knows of its journal: how full it is, and whether somebody leads it.
///
/// It is asked every ``ClusterLimits/statusEvery``; what is applied in between is added.
package final class ClusterHealth: Sendable {
    private struct State {
        var status: JournalStatus?
        var bytesSince: Int64 = 0
        var heard: Duration
    }

    private let state: Mutex<State>
    private let clock: any Timekeeper

    package init(clock: any Timekeeper) {
        self.clock = clock
        state = Mutex(State(heard: clock.uptime()))
    }

    /// Asks until cancelled.
    package func watch(_ journal: any ClusterJournal) async {
        repeat {
            if let status = try? await journal.status() { heard(status) }
        } while (try? await clock.sleep(for: ClusterLimits.statusEvery)) != nil
    }

    /// A node answers also where no majority is there, and says then that nobody leads.
    package func heard(_ status: JournalStatus) {
        state.withLock { state in
            state = State(status: status, heard: status.isLed ? clock.uptime() : state.heard)
        }
    }

    /// An entry of so many bytes is applied: it counts if it is newer than the last answer.
    package func applied(_ sequence: Int64, bytes: Int) {
        state.withLock { state in
            guard let status = state.status, sequence > status.last else { return }
            state.bytesSince += Int64(bytes)
        }
    }

    /// The last answer; nil before the first.
    package var status: JournalStatus? { state.withLock { $0.status } }

    /// How much of the journal's bytes is used, in percent.
    package var fill: Int {
        state.withLock { state in
            guard let status = state.status, let most = status.maxBytes else { return 0 }
            return Int(Double(status.bytes + state.bytesSince) / Double(most) * 100)
        }
    }

    /// Whether nobody has led it, or answered, for ``ClusterLimits/leaderless``.
    package var isLeaderless: Bool {
        clock.uptime() - state.withLock { $0.heard } >= ClusterLimits.leaderless
    }

    /// Refuses what fills an almost full journal, and never what empties it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full`.
    package func admit(_ commands: [ClusterCommand]) throws {
        let fill = fill
        guard fill >= ClusterLimits.publishFill else { return }
        let isRefused = commands.contains { command in
            switch command {
            case .publish: true
            case .account: fill >= ClusterLimits.accountFill
            case .nop, .session, .hello, .trim, .lease, .beginPushing, .pushed, .mark, .hashed,
                .checked, .stuck, .forgetIDs, .rules:
                false
            }
        }
        guard isRefused else { return }
        throw RepriseError(
            .full, "The cluster's journal is full to \(fill) %.",
            remedy: "Give its stream more max_bytes.")
    }
}
