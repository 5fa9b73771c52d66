package import RepriseWire

/// Changes some of a channel's settings (RFC 7396): the others stay as they are in the transaction
/// that writes these, or get their default in a channel that nobody made.
package struct ChangeChannel: AccountCommand {
    /// What becomes of a setting that a channel may have.
    package enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
        case kept, dropped
        case set(Value)

        func applied(to former: Value?) -> Value? {
            switch self {
            case .kept: former
            case .dropped: nil
            case .set(let value): value
            }
        }
    }

    package struct Changes: Hashable, Sendable {
        /// Nil: it is kept.
        package var visibility: ChannelSettings.Visibility?
        /// Nil: it is kept.
        package var history: ChannelSettings.History?
        package var title = Change<String>.kept
        /// Of its retention.
        package var count = Change<Int64>.kept
        package var age = Change<Duration>.kept
        package var bytes = Change<Int64>.kept

        package init() {}

        func applied(to former: ChannelSettings) -> ChannelSettings {
            ChannelSettings(
                visibility: visibility ?? former.visibility, history: history ?? former.history,
                retention: RetentionPolicy(
                    count: count.applied(to: former.retention.count),
                    age: age.applied(to: former.retention.age),
                    bytes: bytes.applied(to: former.retention.bytes)),
                title: title.applied(to: former.title))
        }
    }

    package var name: ChannelName
    package var changes: Changes
    package var who: Principal

    package init(_ name: ChannelName, _ changes: Changes, by who: Principal) {
        (self.name, self.changes, self.who) = (name, changes, who)
    }

    package func validate() throws { try changes.applied(to: ChannelSettings()).validate() }

    /// - Throws: as ``SetChannel/apply(in:)``.
    package func apply(in view: AccountsView) throws -> SetChannel.Outcome {
        let former = try ChannelRecord.fetch(name, view.db)?.settings
        return try setting(changes.applied(to: former ?? ChannelSettings())).apply(in: view)
    }

    package func effects(of outcome: SetChannel.Outcome) -> AccountEffects {
        setting(outcome.record.settings).effects(of: outcome)
    }

    private func setting(_ settings: ChannelSettings) -> SetChannel {
        SetChannel(name, settings, by: who)
    }
}
